"""The archive: rotation, checksums, a record that a kill cut off, gaps and erasures."""

import contextlib
import resource
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from helix_shared.errors import CorruptArtifactError, PermanentError
from helix_shared.event_log.archive import Archive
from helix_shared.event_log.archive_files import entries_of, read_segments, verify
from helix_shared.event_log.read import records_of
from helix_shared.event_log.record import EventRecord
from helix_shared.event_log.segment import MAGIC, Gap, encoded

LOG = "2026-11-24T06:00:00+00:00"
START = datetime(2026, 11, 24, 6, tzinfo=UTC)


def record(sequence: int, body: bytes = b"") -> EventRecord:
    """An event with this sequence; its body names it."""
    return EventRecord(
        sequence,
        "helix.v1.events.acme.-.memory",
        START + timedelta(seconds=sequence, microseconds=7),
        body or f'{{"text":"event {sequence}"}}'.encode(),
        f"acme:mem-{sequence}",
        {"traceparent": "00-1"} if sequence % 2 else {},
    )


def records(*sequences: int) -> list[EventRecord]:
    """Events with these sequences."""
    return [record(sequence) for sequence in sequences]


def written(folder: Path, events: Sequence[EventRecord], *, segment_bytes: int = 600) -> None:
    """An archive of these events, one append each."""
    with Archive(folder, log=LOG, segment_bytes=segment_bytes) as archive:
        for event in events:
            archive.append([event])


def test_archive_gives_back_what_was_written(tmp_path: Path) -> None:
    """Sequence, subject, time, id, headers and bytes are the same after a rotation and a restart."""
    bytes_of_all_kinds = record(21, bytes(range(256)) * 3)
    written(tmp_path, records(*range(1, 11)))
    written(tmp_path, [*records(*range(11, 21)), bytes_of_all_kinds])
    assert list(records_of(tmp_path)) == [*records(*range(1, 21)), bytes_of_all_kinds]
    report = verify(tmp_path)
    assert (report.records, report.gaps, report.last_sequence) == (21, 0, 21)
    assert report.segments > 2


@contextlib.contextmanager
def full_at(size: int) -> Iterator[None]:
    """Inside, no file of this process becomes longer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_records_that_a_full_disk_refused_are_written_again_once(tmp_path: Path) -> None:
    """Wherever the disk becomes full, nothing of the refused records is in front of the next attempt."""
    whole = len(b"".join(map(encoded, records(2, 3))))
    for number, room in enumerate((0, 1, whole // 2, whole - 1)):
        with Archive(tmp_path / str(number), log=LOG) as archive:
            archive.append(records(1))
            size = (tmp_path / str(number) / "000000000001.log").stat().st_size
            for _ in range(2):
                with full_at(size + room), pytest.raises(OSError, match="too large"):
                    archive.append(records(2, 3))
            archive.append(records(2, 3))
        written(tmp_path / str(number), records(4))
        assert list(records_of(tmp_path / str(number))) == records(1, 2, 3, 4)


@pytest.mark.parametrize("room", [0, 20])
def test_an_archive_that_a_full_disk_refused_is_begun_with_room(tmp_path: Path, room: int) -> None:
    """No part of its card stays: the writer took that for a damaged archive, and never started again."""
    with full_at(room), pytest.raises(OSError, match="too large"):
        written(tmp_path, records(1))
    written(tmp_path, records(1))
    assert list(records_of(tmp_path)) == records(1)


@pytest.mark.parametrize("erased", [{1, 4}, {1, 30}])
@pytest.mark.parametrize("room", [0, 900])
def test_an_erasure_that_a_full_disk_ended_is_carried_out_when_repeated(
    tmp_path: Path, room: int, erased: set[int]
) -> None:
    """Afterwards no file of the folder holds the events, and the archive goes on."""
    with Archive(tmp_path, log=LOG, segment_bytes=600) as archive:
        for event in records(*range(1, 31)):
            archive.append([event])
        with full_at(room), pytest.raises(OSError, match="too large"):
            archive.erase(erased)
        assert archive.erase(erased) == erased
        archive.append(records(31))
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not [n for n in erased if f'"event {n}"'.encode() in held]
    assert [one.sequence for one in records_of(tmp_path)] == [n for n in range(1, 32) if n not in erased]


def test_torn_record_is_truncated_and_written_again(tmp_path: Path) -> None:
    """A record that a kill cut off anywhere is dropped at the start; the archive continues before it."""
    written(tmp_path, records(1, 2, 3), segment_bytes=10_000)
    path = tmp_path / "000000000001.log"
    whole = path.read_bytes()
    written(tmp_path, records(4), segment_bytes=10_000)
    longer = path.read_bytes()
    for end in range(len(whole), len(longer)):
        path.write_bytes(longer[:end])
        with Archive(tmp_path, log=LOG) as archive:
            assert archive.last_sequence == 3
            archive.append(records(4))
        assert path.read_bytes() == longer


@pytest.mark.parametrize("place", range(len(MAGIC)))
def test_a_damaged_header_of_an_empty_open_segment_is_refused(tmp_path: Path, place: int) -> None:
    """By the writer and by `verify`; a header that a kill cut off is written again."""
    written(tmp_path, [])
    path = tmp_path / "000000000001.log"
    damaged = bytearray(MAGIC)
    damaged[place] ^= 0x20
    path.write_bytes(damaged)
    with pytest.raises(CorruptArtifactError, match="no segment"):
        Archive(tmp_path, log=LOG)
    with pytest.raises(CorruptArtifactError, match="no segment"):
        verify(tmp_path)
    path.write_bytes(MAGIC[:place])
    written(tmp_path, records(1))
    assert list(records_of(tmp_path)) == records(1)


def test_zeros_of_a_power_cut_are_truncated(tmp_path: Path) -> None:
    """A tail of zeros is no record."""
    written(tmp_path, records(1), segment_bytes=10_000)
    path = tmp_path / "000000000001.log"
    path.write_bytes(path.read_bytes() + b"\0" * 5_000)
    with Archive(tmp_path, log=LOG) as archive:
        assert archive.last_sequence == 1
        archive.append(records(2))
    assert list(records_of(tmp_path)) == records(1, 2)


def test_sequences_that_the_log_lacks_are_gaps_with_a_reason(tmp_path: Path) -> None:
    """No sequence is missing without a record that says why."""
    with Archive(tmp_path, log=LOG) as archive:
        archive.append(records(3, 4, 7), until=9)
    gaps = [entry for entry in entries_of(tmp_path) if isinstance(entry, Gap)]
    assert gaps == [Gap(1, 2, "not in the log"), Gap(5, 6, "not in the log"), Gap(8, 9, "not in the log")]


def test_record_that_does_not_follow_is_refused(tmp_path: Path) -> None:
    """An archive never goes back."""
    with Archive(tmp_path, log=LOG) as archive:
        archive.append(records(1, 2))
        with pytest.raises(PermanentError, match="does not follow"):
            archive.append(records(2))


def test_every_changed_byte_of_a_sealed_segment_is_found(tmp_path: Path) -> None:
    """The checksum of a segment covers all of it."""
    written(tmp_path, records(*range(1, 8)))
    path = tmp_path / read_segments(tmp_path)[0].file
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(CorruptArtifactError):
            verify(tmp_path)
    path.write_bytes(whole)
    verify(tmp_path)


def test_missing_segment_is_found(tmp_path: Path) -> None:
    """A removed segment is no silent gap, neither for `verify` nor for a reader."""
    written(tmp_path, records(*range(1, 12)))
    (tmp_path / read_segments(tmp_path)[1].file).unlink()
    with pytest.raises(CorruptArtifactError):
        verify(tmp_path)
    with pytest.raises(CorruptArtifactError):
        list(records_of(tmp_path))


def test_erased_event_leaves_no_byte_and_a_gap(tmp_path: Path) -> None:
    """An erasure reaches sealed segments and the open one; the others keep every event."""
    written(tmp_path, records(*range(1, 12)))
    with Archive(tmp_path, log=LOG, segment_bytes=600) as archive:
        assert archive.erase({2, 11, 99}) == {2, 11}
        archive.append(records(12))
    assert [entry.sequence for entry in records_of(tmp_path)] == [1, *range(3, 11), 12]
    assert verify(tmp_path).erased == 2
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"event 2" not in files
    assert b"event 11" not in files
    assert b"event 10" in files


def test_killed_erasure_changes_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    """The list of segments is the one step: a new segment that it does not name is removed."""
    written(tmp_path, records(*range(1, 8)))
    first = read_segments(tmp_path)[0].file
    (tmp_path / first.replace(".log", ".1.log")).write_bytes(b"half")
    with Archive(tmp_path, log=LOG, segment_bytes=600):
        pass
    assert list(records_of(tmp_path)) == records(*range(1, 8))
    assert not (tmp_path / first.replace(".log", ".1.log")).exists()


def test_archive_of_another_log_is_refused(tmp_path: Path) -> None:
    """Events of two logs never mix: the sequences of a new log begin again."""
    written(tmp_path, records(1))
    with pytest.raises(PermanentError, match="of a log that was created at"):
        Archive(tmp_path, log="2026-11-25T06:00:00+00:00")


def test_events_of_a_tenant_leave_an_archive_and_come_back(tmp_path: Path) -> None:
    """Their places are gaps meanwhile, and their bytes are in no file; afterwards all is as it was."""
    all_of_them = records(*range(1, 21))
    written(tmp_path, all_of_them)
    gone = {3, 4, 9, 20}
    with Archive(tmp_path, log=LOG, segment_bytes=600) as archive:
        assert archive.remove(lambda one: one.sequence in gone) == gone
        assert archive.remove(lambda one: one.sequence in gone) == frozenset()
    assert [one.sequence for one in records_of(tmp_path)] == [n for n in range(1, 21) if n not in gone]
    assert verify(tmp_path).last_sequence == 20
    assert not any(b"event 9" in path.read_bytes() for path in tmp_path.iterdir())
    with Archive(tmp_path, log=LOG, segment_bytes=600) as archive:
        back = records(*sorted(gone))
        assert archive.insert(back) == gone
        # one that is there is not put in again
        assert archive.insert(back) == frozenset()
        archive.append(records(22))
    assert list(records_of(tmp_path)) == [*all_of_them, record(22)]
    assert verify(tmp_path).records == 21


def test_a_gap_takes_events_at_its_ends_and_inside(tmp_path: Path) -> None:
    """A shard's archive has one gap for many events of others."""
    written(tmp_path, records(1, 20))
    for some in ([2], [19], [7, 8, 11], [3, 18]):
        with Archive(tmp_path, log=LOG) as archive:
            assert archive.insert(records(*some)) == set(some)
        assert verify(tmp_path).last_sequence == 20
    assert [one.sequence for one in records_of(tmp_path)] == [1, 2, 3, 7, 8, 11, 18, 19, 20]
