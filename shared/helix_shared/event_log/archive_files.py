"""The files of an archive: their names, and how they are read and verified. `archive` writes them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from helix_shared.artifacts.files.durability import sha256_of
from helix_shared.errors import CorruptArtifactError, PermanentError
from helix_shared.event_log.segment import Entry, Gap, first_of, last_of, read_entries

FORMAT: Final = "helix-archive"
VERSION: Final = 1
CARD: Final = "archive.json"
SEGMENTS: Final = "segments.jsonl"
ERASED: Final = "erased"
"""Reason of a gap that an erasure left."""


@dataclass(frozen=True, slots=True)
class SealedSegment:
    """A sealed segment, as its line in `segments.jsonl` says."""

    file: str
    first: int
    last: int
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class VerifiedArchive:
    """What `verify` read."""

    segments: int
    records: int
    gaps: int
    erased: int
    last_sequence: int
    size_bytes: int


def read_segments(folder: Path) -> list[SealedSegment]:
    """The sealed segments, oldest first.

    Raises:
        CorruptArtifactError: a line is damaged, or a sequence is missing between two segments.
    """
    path = folder / SEGMENTS
    found: list[SealedSegment] = []
    last = 0
    for number, line in enumerate(path.read_bytes().splitlines() if path.exists() else (), 1):
        try:
            fields = json.loads(line)
            checksum = fields.pop("crc")
            segment = SealedSegment(**fields)
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptArtifactError(f"{path}: line {number} is damaged") from error
        if checksum != checksum_of(segment) or segment.first != last + 1 or segment.last < segment.first:
            raise CorruptArtifactError(f"{path}: line {number} is damaged or does not follow the one before")
        last = segment.last
        found.append(segment)
    return found


def entries_of(folder: Path) -> Iterator[Entry]:
    """Records and gaps in the order of the log; another process may write meanwhile.

    Raises:
        CorruptArtifactError: a segment is damaged or missing.
    """
    last = 0
    ends = {folder / segment.file: segment.last for segment in read_segments(folder)}
    for path in _paths(folder):
        for entry in entries_in(path):
            if first_of(entry) != last + 1:
                raise CorruptArtifactError(f"{path} has sequence {first_of(entry)} after {last}")
            last = last_of(entry)
            yield entry
        if last != ends.get(path, last):
            raise CorruptArtifactError(f"{path} ends at sequence {last}, not {ends[path]}")


def verify(folder: Path) -> VerifiedArchive:
    """Read the whole archive and compare every checksum.

    Raises:
        CorruptArtifactError: something is damaged or missing; names the file.
    """
    read_card(folder)
    sealed = read_segments(folder)
    for segment in sealed:
        path = folder / segment.file
        if not path.is_file() or path.stat().st_size != segment.size or sha256_of(path) != segment.sha256:
            raise CorruptArtifactError(
                f"{path} is missing or damaged: it differs from its line in {SEGMENTS}"
            )
    records = gaps = erased = last = size = 0
    for entry in entries_of(folder):
        last = last_of(entry)
        is_gap = isinstance(entry, Gap)
        records += not is_gap
        gaps += is_gap
        erased += isinstance(entry, Gap) and entry.reason == ERASED
    for path in _paths(folder):
        size += path.stat().st_size
    return VerifiedArchive(len(sealed), records, gaps, erased, last, size)


def _paths(folder: Path) -> list[Path]:
    """The sealed segments and the open one."""
    sealed = read_segments(folder)
    open_segment = folder / segment_name(sealed[-1].last + 1 if sealed else 1)
    named = [folder / segment.file for segment in sealed]
    return [*named, open_segment] if open_segment.exists() else named


def entries_in(path: Path) -> Iterator[Entry]:
    """The entries of one segment.

    Raises:
        CorruptArtifactError: it is damaged or missing.
    """
    try:
        with path.open("rb") as source:
            for entry, _ in read_entries(source, str(path)):
                yield entry
    except FileNotFoundError as error:
        raise CorruptArtifactError(f"segment is missing: {path}") from error


def segment_name(first: int) -> str:
    """Name of the segment that begins with a sequence."""
    return f"{first:012d}.log"


def checksum_of(segment: SealedSegment) -> str:
    """Checksum of a line of `segments.jsonl`."""
    return f"{zlib.crc32(json.dumps(asdict(segment)).encode()):08x}"


def read_card(folder: Path) -> dict[str, object]:
    """What `archive.json` says.

    Raises:
        CorruptArtifactError: it cannot be read.
        PermanentError: the archive is of a later format.
    """
    try:
        fields = json.loads((folder / CARD).read_bytes())
    except (OSError, ValueError) as error:
        raise CorruptArtifactError(f"no archive: {folder / CARD} cannot be read") from error
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise CorruptArtifactError(f"no archive: {folder / CARD}")
    version = fields.get("version")
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise PermanentError(f"archive {folder} is of format {version}, this release reads up to {VERSION}")
    return fields
