"""The lines of an export: bytes are kept, and every damage is found with its line."""

import contextlib
import gzip
import io
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest

from helix_shared.errors import CorruptArtifactError, TemporaryError
from helix_shared.event_log.export_file import (
    ANSWER,
    EVENT,
    LINE_BYTES,
    ExportHeader,
    ExportReader,
    ExportWriter,
    opened_export,
)
from helix_shared.event_log.record import EventRecord

AT = datetime(2026, 11, 24, 6, 38, 12, 750_468, tzinfo=UTC)
BODIES = (
    '{"text":"Grüße 🚢 \u2028 line"}'.encode(),
    b'{"text": "kept  as it is",\n "b":1}',
    b"\xff\x00not text",
    b"",
)


def record(sequence: int, body: bytes) -> EventRecord:
    """An event with this body."""
    return EventRecord(sequence, "helix.v1.events.acme.-.memory", AT, body, f"acme:{sequence}", {"a": "b"})


RECORDS = [record(3 * n + 1, body) for n, body in enumerate(BODIES)]


def exported() -> bytes:
    """An export of one answer and an event for each of `BODIES`."""
    target = io.BytesIO()
    header = ExportHeader("0.1.0", "m", "r", ["acme"], events=len(RECORDS), answers=1, last_sequence=99)
    writer = ExportWriter(target, header)
    writer.add(ANSWER, record(1, b"{}"))
    for one in RECORDS:
        writer.add(EVENT, one)
    writer.finish()
    assert writer.size_bytes == len(target.getvalue())
    return target.getvalue()


def read(data: bytes) -> list[EventRecord]:
    """The events of an export; reads it to its end."""
    reader = ExportReader(io.BytesIO(data), "file")
    return [line.record for line in reader.lines() if line.kind == EVENT]


def test_export_gives_back_the_same_bytes() -> None:
    """Text, bytes that are no text, ids, headers and times survive exactly."""
    assert read(exported()) == RECORDS


def test_an_export_without_an_event_that_was_erased_meanwhile_is_not_ended() -> None:
    """No reader would take it: its header counts the event."""
    writer = ExportWriter(io.BytesIO(), ExportHeader("0.1.0", "m", "r", ["acme"], events=2))
    writer.add(EVENT, RECORDS[0])
    with pytest.raises(TemporaryError, match="1 events and 0 answers, of 2 and 0: some were erased"):
        writer.finish()


def test_headers_of_a_file_give_no_instructions_to_the_server() -> None:
    """Whoever made the file could remove events with them, or make an event another one."""
    hostile = {"Nats-Rollup": "all", "x\r\nNats-Msg-Id": "1", "y": "1\r\nNats-Msg-Id: 2", "ü": "1", "": "1"}
    fields = record(1, b"{}").fields | {"headers": {**hostile, "traceparent": "00-1"}}
    assert EventRecord.of_fields(fields).headers == {"traceparent": "00-1"}


def test_every_changed_byte_is_found_with_its_line() -> None:
    """A change names the line that it is in; at a line break, that line or the next."""
    data = exported()
    for place in range(len(data)):
        line = data[:place].count(b"\n") + 1
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        with pytest.raises(CorruptArtifactError, match=f"line ({line}|{line + 1}) "):
            read(changed)


def test_every_cut_is_found() -> None:
    """A file that ends anywhere before its end is refused."""
    data = exported()
    for end in range(len(data)):
        with pytest.raises(CorruptArtifactError, match="line"):
            read(data[:end])


def test_removed_moved_and_added_lines_are_found() -> None:
    """Each line may be good and the file still not be the one that was written."""
    lines = exported().splitlines(keepends=True)
    for number in range(1, len(lines)):
        with pytest.raises(CorruptArtifactError):
            read(b"".join(lines[:number] + lines[number + 1 :]))
    with pytest.raises(CorruptArtifactError, match="line 4 has a sequence that does not follow"):
        read(b"".join([*lines[:2], lines[3], lines[2], *lines[4:]]))
    with pytest.raises(CorruptArtifactError, match="is not the last one"):
        read(b"".join([*lines, lines[-1]]))


def test_later_format_is_refused() -> None:
    """A reader says that it is too old and takes nothing."""
    later = exported().replace(b'"version":1', b'"version":2', 1)
    with pytest.raises(CorruptArtifactError, match="line 1"):
        read(later)


def read_file(path: Path) -> list[EventRecord]:
    """The events of an export in a file."""
    with opened_export(path) as source:
        return [line.record for line in ExportReader(source, "file").lines() if line.kind == EVENT]


def test_a_compressed_export_is_read_as_a_plain_one(tmp_path: Path) -> None:
    """Also where its parts were compressed one by one."""
    file, data = tmp_path / "acme.jsonl.gz", exported()
    for content in (data, gzip.compress(data), gzip.compress(data[:99]) + gzip.compress(data[99:])):
        file.write_bytes(content)
        assert read_file(file) == RECORDS


def test_damage_of_a_compressed_export_takes_nothing_wrong(tmp_path: Path) -> None:
    """A changed byte is found, or one that says nothing of the content; so are a missing end and a rest."""
    file, data = tmp_path / "acme.jsonl.gz", gzip.compress(exported(), mtime=0)
    for place in range(2, len(data)):
        file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with contextlib.suppress(CorruptArtifactError):
            assert read_file(file) == RECORDS
    for content in (data[:-1], data[: len(data) // 2], data + gzip.compress(b"x"), data + b"x"):
        file.write_bytes(content)
        with pytest.raises(CorruptArtifactError):
            read_file(file)


def test_a_compressed_line_without_an_end_is_not_read_into_memory(tmp_path: Path) -> None:
    """The limit of a line holds for what comes out of it."""
    file = tmp_path / "bomb.jsonl.gz"
    line = exported().splitlines(keepends=True)[0]
    with gzip.open(file, "wb") as target:
        target.write(line)
        for _ in range(4):
            target.write(bytes(LINE_BYTES))
    assert file.stat().st_size < LINE_BYTES // 100
    tracemalloc.start()
    with pytest.raises(CorruptArtifactError, match=f"line 2 is longer than {LINE_BYTES} bytes"):
        read_file(file)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * LINE_BYTES
