"""The lines of an export: bytes are kept, and every damage is found with its line."""

import io
from datetime import UTC, datetime

import pytest

from helix_shared.errors import CorruptArtifactError, TemporaryError
from helix_shared.event_log.export_file import ANSWER, EVENT, ExportReader, ExportWriter, Header
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
    header = Header("0.1.0", "m", "r", ["acme"], events=len(RECORDS), answers=1, last_sequence=99)
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
    writer = ExportWriter(io.BytesIO(), Header("0.1.0", "m", "r", ["acme"], events=2))
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
