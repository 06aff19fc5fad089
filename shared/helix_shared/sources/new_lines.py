"""Reads what was added to a transcript since the last time.

A line that is still being written is left for the next time. A call whose result is not there yet is
read again then, with all that follows it; ids of events repeat, so nothing is stored twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from helix_shared.sources.items import Item
from helix_shared.sources.json_records import LINE_BYTES, Record, json_record
from helix_shared.sources.source_event import Refusal

BATCH_BYTES: Final = 4 * 1024 * 1024
"""After so many bytes a batch is full; a call whose result is not in it is kept without."""


class TranscriptReader(Protocol):
    """A reader of one session."""

    @property
    def waiting(self) -> str:
        """Place of the first call without a result; empty: there is none."""

    def items(self, where: str, record: Record, number: int) -> Iterator[Item]:
        """The items of a line, `number` of the file."""

    def unanswered(self) -> Iterator[Item]:
        """Events of the calls without a result."""


@dataclass(frozen=True, slots=True)
class ReadPosition:
    """How far a transcript was read, in whole lines."""

    offset: int = 0
    """Bytes."""
    lines: int = 0


@dataclass(frozen=True, slots=True)
class NewLines:
    """One batch."""

    items: list[Item]
    position: ReadPosition
    """Where the next batch begins."""
    is_full: bool
    """There may be more."""


def read_new(path: Path, reader: TranscriptReader, position: ReadPosition) -> NewLines:
    """The items after `position`; a file that became shorter was written anew, and is read from its start.

    Raises:
        OSError: the file cannot be read.
    """
    items: list[Item] = []
    with path.open("rb") as stream:
        if stream.seek(0, 2) < position.offset:
            position = ReadPosition()
        if position.offset:  # the first line tells the session and its folder
            stream.seek(0)
            _read_line(reader, f"{path}:1", stream.readline(LINE_BYTES), 1)
        starts: dict[str, ReadPosition] = {}
        at = position
        for line in _whole_lines(stream, position):
            where = f"{path}:{at.lines + 1}"
            starts[where] = at
            at = ReadPosition(at.offset + len(line), at.lines + 1)
            items.extend(_read_line(reader, where, line, at.lines))
    is_full = at.offset - position.offset >= BATCH_BYTES
    waits_from = starts.get(reader.waiting, at)
    if is_full and waits_from == position:
        items.extend(reader.unanswered())
        waits_from = at
    return NewLines(items, waits_from, is_full)


def _whole_lines(stream: BinaryIO, position: ReadPosition) -> Iterator[bytes]:
    """Lines from `position` on that end with a line feed, until the batch is full."""
    stream.seek(position.offset)
    read = 0
    while read < BATCH_BYTES and (line := stream.readline()).endswith(b"\n"):
        read += len(line)
        yield line


def _read_line(reader: TranscriptReader, where: str, line: bytes, number: int) -> list[Item]:
    """The items of a line; none of one that is longer than a line may be."""
    stripped = line.strip() if len(line) <= LINE_BYTES else b""
    if not stripped:
        return []
    record = json_record(where, stripped)
    return [record] if isinstance(record, Refusal) else list(reader.items(where, record, number))
