"""Which events of the log say what was erased: they do not leave the instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from helix_consolidation.ledger.event_reach import value_code
from helix_consolidation.ledger.lifecycle.tombstone_log import TombstoneLog
from helix_consolidation.ledger.lifecycle.tombstones import Tombstones
from helix_memory import limits, subjects
from helix_memory.events import LIFECYCLE_KINDS
from helix_memory.identity import memory_id
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.errors import PermanentError, TemporaryError
from helix_shared.identity import MEMORY_ID_PATTERN
from helix_shared.json_object import json_object

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path

    from helix_shared.event_log.record import EventRecord

NAMING_FIELDS: Final = ("memory_id", "memory_ids", "other", "helpful", "unhelpful")
"""Fields of events that hold ids of memories."""
TOMBSTONES: Final = "consolidation/tombstones"
_PIECE_BYTES: Final = 16
"""Pieces of a text without headings are longer on average: two that follow each other do not fit into one."""
_PACKED_CHARACTERS: Final = 256
"""A piece of a page or table is longer, unless the page ends."""
_SPARE_PIECES: Final = 8


@dataclass(frozen=True, slots=True)
class Erased:
    """The erased memories of a generation."""

    tombstones: Tombstones

    def __bool__(self) -> bool:
        return bool(self.tombstones.erased_memories)

    def holds(self, record: EventRecord) -> bool:
        """Whether a memory of this event was erased, or it acts on nothing but erased memories."""
        address = subjects.parse_event_subject(record.subject)
        if address is None or not self:
            return False
        tenant, event_id = address.tenant_id, event_id_of(record)
        if address.kind in LIFECYCLE_KINDS:
            named = named_ids(record.body)
            gone = self.tombstones.erased_memories
            return bool(named) and all(value_code(tenant, "memory", one) in gone for one in named)
        return any(
            self.tombstones.is_erased(value_code(tenant, "memory", found), record.sequence)
            for found in memory_ids(tenant, event_id, record.body)
        )


NOTHING_ERASED: Final = Erased(Tombstones())


def erased_memories(last_erasures: Mapping[Path, int], created_at: datetime | None) -> Erased:
    """What data folders know to be erased, of the stream that was created at `created_at`.

    `last_erasures` has the sequence of the last erase event of each folder's own tenants.

    Raises:
        PermanentError: a folder has no generation of this stream, so nothing is known.
        TemporaryError: an erase event is not applied yet.
    """
    tombstones = Tombstones()
    for data, last_erasure in last_erasures.items():
        _restore(tombstones, data, created_at, last_erasure)
    return Erased(tombstones)


def _restore(tombstones: Tombstones, data: Path, created_at: datetime | None, last_erasure: int) -> None:
    number = current_number(data)
    if number is None:
        raise PermanentError(_UNKNOWN.format(what=f"{data} has no generation"))
    folder = folder_of(data, number)
    manifest = Manifest.read(folder)
    if manifest.stream.created_at is not None and manifest.stream.created_at != created_at:
        raise PermanentError(_UNKNOWN.format(what=f"{data} belongs to another stream"))
    if manifest.applied_sequence < last_erasure:
        raise TemporaryError(
            f"erase event {last_erasure} is not applied yet: generation {number} has events up to "
            f"{manifest.applied_sequence}; try again"
        )
    for record in TombstoneLog(folder / TOMBSTONES).records():
        tombstones.restore(record)


_UNKNOWN: Final = (
    "the log has erase events, and {what}: what they erased is not known here and must not be exported; "
    "run the command where the data folder is, with --home"
)


def event_id_of(record: EventRecord) -> str:
    """The id in the body of an event; where there is none, that of its message id."""
    event_id = json_object(record.body).get("event_id")
    if isinstance(event_id, str):
        return event_id
    return record.message_id.partition(":")[2]


def named_ids(body: bytes) -> set[str]:
    """The ids of memories that an event names."""
    fields = json_object(body)
    values: list[Any] = []
    for name in NAMING_FIELDS:
        value = fields.get(name)
        values += value if isinstance(value, list) else [value]
    return {value for value in values if isinstance(value, str) and MEMORY_ID_PATTERN.match(value)}


def memory_ids(tenant_id: str, event_id: str, body: bytes) -> list[str]:
    """Ids that memories of an event have: more than there are, never fewer."""
    return [memory_id(tenant_id, event_id, piece) for piece in range(_most_pieces(body))]


def _most_pieces(body: bytes) -> int:
    """Pieces that a text may have at most.

    A heading, which needs a line or a tag, may begin a short one, and so does each part of a document.
    """
    # a line break inside JSON needs a backslash, unless it is one of Unicode
    breaks = sum(map(body.count, (b"\\", b"\xe2\x80", b"\xc2\x85", b"<", b'"text"')))
    # what these files hold may be longer than they are
    is_packed = b"html" in body or b"_base64" in body
    packed = limits.PDF_PAGES + limits.EXTRACTED_CHARACTERS // _PACKED_CHARACTERS if is_packed else 0
    return _SPARE_PIECES + len(body) // _PIECE_BYTES + breaks + packed
