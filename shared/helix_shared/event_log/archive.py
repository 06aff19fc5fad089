"""The archive: every event of the log, written before it is applied (ops/decisions/0070).

    <folder>/archive.json         which log it is of
    <folder>/segments.jsonl       a line for each sealed segment, with its SHA-256
    <folder>/000000000001.log     segments by their first sequence; the last one is open

One process writes, under the writer's lease. A segment is sealed at a size, and changes no more, except that
an erasure replaces it by one without the erased events. A new segment gets another name, so the replacement
of `segments.jsonl` is the one step. Sequences have no hole: what the log no longer has is a gap with its
reason.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from helix_shared.artifacts.files.durability import sha256_of, sync, write_synced
from helix_shared.errors import CorruptArtifactError, PermanentError
from helix_shared.event_log.archive_card import claim
from helix_shared.event_log.archive_files import (
    ERASED,
    SEGMENTS,
    SealedSegment,
    checksum_of,
    entries_in,
    read_segments,
    segment_name,
)
from helix_shared.event_log.segment import MAGIC, Entry, Gap, encoded, first_of, last_of, read_entries

if TYPE_CHECKING:
    from helix_shared.event_log.record import EventRecord

SEGMENT_BYTES: Final = 64 * 1024 * 1024
NOT_IN_LOG: Final = "not in the log"


class Archive:
    """The writer of a folder, which may be new; a context manager that closes the open segment."""

    def __init__(self, folder: Path, *, log: str, segment_bytes: int = SEGMENT_BYTES) -> None:
        """Open the archive of the log that was created at `log`; truncates a record that was cut off.

        Raises:
            CorruptArtifactError: a sealed segment is missing, or the open one is damaged.
            PermanentError: the folder is the archive of another log, or of a later format.
        """
        self._folder = folder
        self._segment_bytes = segment_bytes
        folder.mkdir(parents=True, exist_ok=True)
        claim(folder, log)
        self._sealed = read_segments(folder)
        _remove_leftovers(folder, self._sealed)
        self.last_sequence = self._sealed[-1].last if self._sealed else 0
        self._open = self._open_segment()

    def last_record(self) -> EventRecord | None:
        """The newest event of the last two segments; None where they have gaps only.

        Raises:
            CorruptArtifactError: a segment is damaged.
        """
        for path in (Path(self._open.name), *(self._folder / one.file for one in self._sealed[-1:])):
            last = None
            for entry in entries_in(path):
                last = last if isinstance(entry, Gap) else entry
            if last is not None:
                return last
        return None

    def append(self, records: Sequence[EventRecord], *, until: int = 0) -> None:
        """Write records, which follow the last sequence, and wait until they are on the disk.

        `until`: the log has nothing else up to this sequence.

        Raises:
            PermanentError: a record does not follow.
            OSError: the disk is full, or fails; nothing of them is left, and they may be written again.
        """
        entries: list[Entry] = []
        last = self.last_sequence
        for record in records:
            if record.sequence <= last:
                raise PermanentError(f"event {record.sequence} does not follow {last} of the archive")
            if record.sequence > last + 1:
                entries.append(Gap(last + 1, record.sequence - 1, NOT_IN_LOG))
            entries.append(record)
            last = record.sequence
        if until > last:
            entries.append(Gap(last + 1, until, NOT_IN_LOG))
            last = until
        if not entries:
            return
        self._write(b"".join(map(encoded, entries)))
        self.last_sequence = last
        if self._open.tell() >= self._segment_bytes:
            self.seal()

    def _write(self, data: bytes) -> None:
        """Write all of it, or nothing: half a record would be in front of the next attempt."""
        if self._open.closed:  # sealed when the disk had no room for another
            self._open = self._open_segment()
        end, left = self._open.tell(), memoryview(data)
        try:
            while left:
                left = left[self._open.write(left) :]
            os.fsync(self._open.fileno())
        except OSError:
            self._open.truncate(end)
            self._open.seek(end)
            raise

    def seal(self) -> None:
        """Seal the open segment, if it holds anything, and begin another.

        Raises:
            OSError: the disk is full, or fails; it may be called again.
        """
        path = Path(self._open.name)
        if not self._open.closed:
            size = self._open.tell()
            if size <= len(MAGIC):
                return
            first = self._sealed[-1].last + 1 if self._sealed else 1
            sealed = SealedSegment(path.name, first, self.last_sequence, size, sha256_of(path))
            _write_segments(self._folder, [*self._sealed, sealed])
            self._sealed.append(sealed)
            self._open.close()
        self._open = self._open_segment()

    def erase(self, sequences: Collection[int]) -> frozenset[int]:
        """Replace these events by gaps that say so; returns which of them were there.

        The bytes of the old segments are removed. Afterwards no segment holds them.
        """
        wanted = frozenset(sequences)

        def without(entry: Entry) -> Iterable[Entry]:
            is_wanted = not isinstance(entry, Gap) and entry.sequence in wanted
            return (Gap(first_of(entry), last_of(entry), ERASED),) if is_wanted else (entry,)

        return self._change(without, wanted)

    def remove(self, is_foreign: Callable[[EventRecord], bool]) -> frozenset[int]:
        """Replace events by gaps, as those of another shard are; returns which were there.

        The bytes of the old segments are removed.
        """

        def without(entry: Entry) -> Iterable[Entry]:
            is_wanted = not isinstance(entry, Gap) and is_foreign(entry)
            return (Gap(first_of(entry), last_of(entry), NOT_IN_LOG),) if is_wanted else (entry,)

        return self._change(without, None)

    def insert(self, records: Sequence[EventRecord]) -> frozenset[int]:
        """Put events up to `last_sequence` into gaps; returns which were not there. They are in order."""
        sequences = [record.sequence for record in records]

        def filled(entry: Entry) -> Iterable[Entry]:
            if not isinstance(entry, Gap):
                return (entry,)
            first = bisect_left(sequences, entry.first)
            return _filled(entry, records[first : bisect_right(sequences, entry.last)])

        return self._change(filled, frozenset(sequences))

    def _change(
        self, changed: Callable[[Entry], Iterable[Entry]], wanted: frozenset[int] | None
    ) -> frozenset[int]:
        """Replace entries in the segments that may have one of `wanted`; returns the changed sequences.

        None: every segment may have one. After an error nothing is changed, or an old file is left: the next
        call begins with its removal.
        """
        _remove_leftovers(self._folder, self._sealed)
        if wanted is None or any(one > (self._sealed[-1].last if self._sealed else 0) for one in wanted):
            self.seal()
        found: set[int] = set()
        sealed = list(self._sealed)
        for place, segment in enumerate(self._sealed):
            if wanted is not None and not any(segment.first <= one <= segment.last for one in wanted):
                continue
            sealed[place], here = self._rewritten(segment, changed)
            found |= here
        if found:
            _write_segments(self._folder, sealed)
            self._sealed = sealed
            _remove_leftovers(self._folder, self._sealed)
            sync(self._folder)
        return frozenset(found)

    def close(self) -> None:
        """Close the open segment."""
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rewritten(
        self, segment: SealedSegment, changed: Callable[[Entry], Iterable[Entry]]
    ) -> tuple[SealedSegment, set[int]]:
        """A new file of a segment with other entries, and the sequences of events that went or came."""
        stem, _, number = segment.file.removesuffix(".log").partition(".")
        target = self._folder / f"{stem}.{int(number or 0) + 1}.log"
        found: set[int] = set()
        with target.open("wb") as file:
            file.write(MAGIC)
            for entry in entries_in(self._folder / segment.file):
                others = tuple(changed(entry))
                file.write(b"".join(map(encoded, others)))
                found |= _events((entry,)) ^ _events(others)
            file.flush()
            os.fsync(file.fileno())
        if not found:
            target.unlink()
            return segment, found
        sync(self._folder)
        digest = sha256_of(target)
        return replace(segment, file=target.name, size=target.stat().st_size, sha256=digest), found

    def _open_segment(self) -> FileIO:
        """The open segment, whole to its last record."""
        path = self._folder / segment_name(self.last_sequence + 1)
        if not path.exists():
            write_synced(path, MAGIC)
            sync(self._folder)
        end = len(MAGIC)
        with path.open("rb") as source:
            for entry, offset in read_entries(source, str(path)):
                if first_of(entry) != self.last_sequence + 1:
                    raise CorruptArtifactError(f"{path} has {first_of(entry)} after {self.last_sequence}")
                self.last_sequence, end = last_of(entry), offset
        # unbuffered: after an error nothing may be left that a later write sends
        handle = path.open("r+b", buffering=0)
        if path.stat().st_size != end:
            handle.truncate(end)
        handle.seek(0)
        handle.write(MAGIC)
        handle.seek(end)
        os.fsync(handle.fileno())
        return handle


def _events(entries: Iterable[Entry]) -> set[int]:
    return {entry.sequence for entry in entries if not isinstance(entry, Gap)}


def _filled(gap: Gap, records: Sequence[EventRecord]) -> Iterator[Entry]:
    """The records of sequences of a gap, and what is left of it."""
    first = gap.first
    for record in records:
        if record.sequence > first:
            yield replace(gap, first=first, last=record.sequence - 1)
        yield record
        first = record.sequence + 1
    if first <= gap.last:
        yield replace(gap, first=first)


def _write_segments(folder: Path, segments: Sequence[SealedSegment]) -> None:
    lines = (json.dumps({**asdict(segment), "crc": checksum_of(segment)}) + "\n" for segment in segments)
    fresh = folder / f"{SEGMENTS}.new"
    write_synced(fresh, "".join(lines).encode())
    fresh.replace(folder / SEGMENTS)
    sync(folder)


def _remove_leftovers(folder: Path, sealed: Sequence[SealedSegment]) -> None:
    """Remove what an erasure replaced, or was ended in: files that nothing names."""
    named = {segment.file for segment in sealed} | {segment_name(sealed[-1].last + 1 if sealed else 1)}
    for path in folder.glob("*.log"):
        if path.name not in named:
            path.unlink()
