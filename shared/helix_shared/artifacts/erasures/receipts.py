"""The receipt of an erasure: what was removed from each place, and the generation from which that holds.

A generation has the receipts of all erasures as lines of JSON in a few segments. A receipt holds codes and
counts: no name, no id and no text. It is found with the id of the erase event, the user it acted for and that
user's principals, so nobody else learns of it.
"""

from __future__ import annotations

import json
import mmap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_shared.artifacts.files.segment_files import SegmentFiles, oldest_first
from helix_shared.errors import CorruptArtifactError
from helix_shared.value_codes import value_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from helix_shared.artifacts.files.segment_files import Merge

RECEIPTS: Final = "erasures"
"""Folder in a generation."""
PLACES: Final = (
    "memories",
    "derived_statements",
    "vectors",
    "lexicon",
    "graph",
    "expansions",
    "contexts",
    "context_vectors",
    "generations",
    "events",
    "archive",
    "dead_letters",
    "answers",
    "pairs",
    "derived_messages",
    "backups",
)
_SUFFIX: Final = ".jsonl"
_UNREADABLE: Final = "a receipt of an erasure cannot be read"


@dataclass(frozen=True, slots=True)
class Place:
    """What became of a place."""

    count: int
    generation: int
    """From this generation on it holds nothing of what was erased; 0: it is still to be done."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """`event`, `user` and `principals` are value codes; `sequence` is that of the erase event."""

    event: int
    user: int
    principals: tuple[int, ...]
    sequence: int
    places: dict[str, Place]

    @property
    def is_complete(self) -> bool:
        """Whether no place is still to be done."""
        return all(place.generation for place in self.places.values())

    def is_for(self, tenant_id: str, user_id: str, principals: Iterable[str]) -> bool:
        """Whether a caller is who erased: the same user, with at least the principals of the event."""
        codes = {value_code(tenant_id, "principal", name) for name in principals}
        return self.user == value_code(tenant_id, "user", user_id) and codes.issuperset(self.principals)


def append_receipts(folder: Path, receipts: Sequence[Receipt]) -> list[Path]:
    """Write receipts into the live folder; the last one of an event counts. Returns all files.

    Without receipts, as in nearly every publication, no file is read.
    """
    if not receipts:
        return _segments_in(folder)
    segments = SegmentFiles(folder, _SUFFIX, lambda path: len(path.read_bytes().splitlines()))
    added = {receipt.event: _encoded(receipt) for receipt in receipts}

    def write(merge: Merge) -> int:
        lines = {
            _event_of(line): line for path in merge.segments for line in path.read_bytes().splitlines()
        } | added
        merge.target.write_bytes(b"".join(line + b"\n" for line in lines.values()))
        return len(lines)

    segments.append(len(added), write)
    return segments.files


def all_receipts(generation: Path) -> list[Receipt]:
    """The last receipt of each erase event in the folder of a generation.

    Raises:
        CorruptArtifactError: one cannot be read.
    """
    paths = _segments_in(generation / RECEIPTS)
    lines = {_event_of(line): line for path in paths for line in path.read_bytes().splitlines()}
    return [_decoded(line) for line in lines.values()]


@dataclass(frozen=True, slots=True)
class Receipts:
    """The receipts of one generation, mapped: they stay readable when its folder is removed."""

    segments: tuple[mmap.mmap, ...]
    """The newest first."""

    @classmethod
    def open(cls, generation: Path) -> Receipts:
        """Open those in the folder of a generation, which may have none.

        Raises:
            CorruptArtifactError: a file cannot be read.
        """
        folder = generation / RECEIPTS
        try:
            return cls(tuple(map(_mapped, _segments_in(folder)[::-1])))
        except (OSError, ValueError) as error:
            raise CorruptArtifactError(f"receipts of erasures cannot be read: {folder}") from error

    def find(self, tenant_id: str, event_id: str) -> Receipt | None:
        """The receipt of an erase event; None where there is none.

        Raises:
            CorruptArtifactError: it cannot be read.
        """
        start = _start(value_code(tenant_id, "event", event_id))
        for segment in self.segments:
            at = segment.find(start)
            if at >= 0:
                return _decoded(segment[at : segment.find(b"\n", at)])
        return None


def _segments_in(folder: Path) -> list[Path]:
    """The segments of a folder, which may be missing, oldest first."""
    return oldest_first(folder.iterdir()) if folder.is_dir() else []


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _start(event: int) -> bytes:
    return f'{{"event":{event},'.encode()


def _event_of(line: bytes) -> int:
    try:
        return int(line[len(b'{"event":') : line.index(b",")])
    except ValueError as error:
        raise CorruptArtifactError(_UNREADABLE) from error


def _encoded(receipt: Receipt) -> bytes:
    value = {
        "event": receipt.event,
        "user": receipt.user,
        "principals": receipt.principals,
        "sequence": receipt.sequence,
        "places": {name: [place.count, place.generation] for name, place in receipt.places.items()},
    }
    return json.dumps(value, separators=(",", ":")).encode()


def _decoded(line: bytes) -> Receipt:
    try:
        value = json.loads(line)
        places = {name: Place(*found) for name, found in value["places"].items()}
        return Receipt(value["event"], value["user"], tuple(value["principals"]), value["sequence"], places)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptArtifactError(_UNREADABLE) from error
