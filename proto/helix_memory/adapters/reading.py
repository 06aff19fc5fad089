"""Groups pieces of memories to records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from helix_memory.adapters import records

if TYPE_CHECKING:
    from datetime import datetime

    from helix_memory.client.results import Memory, RecalledMemory


@dataclass(slots=True)
class Found:
    """A record as it is read; complete where `body` is not None."""

    note: dict[str, Any]
    pieces: list[Memory] = field(default_factory=list)
    best: RecalledMemory | None = None
    """The piece that answers a query; None where the record was listed."""

    @property
    def document_id(self) -> str:
        """The document that holds it."""
        return self.pieces[0].document_id

    @property
    def name(self) -> str:
        """Its name in its space."""
        return str(self.note["name"])

    @property
    def stored_at(self) -> datetime | None:
        """When this version was written."""
        return self.pieces[0].created_at

    @property
    def body(self) -> str | None:
        """The whole text; None where pieces are missing."""
        return records.body_of(self.note, self.pieces)


def grouped(kind: str, memories: Iterable[Memory], *, user: str) -> Iterator[Found]:
    """The records of memories, each once, in the order of their first pieces.

    Of a document that `user` and nobody in particular have, that of `user` counts. Of two versions, which
    pages of two generations can hold, the later one counts.
    """
    found: dict[str, Found] = {}
    for memory in memories:
        note = records.note_of(kind, memory)
        if note is None:
            continue
        held = found.get(memory.document_id)
        if held is None:
            found[memory.document_id] = Found(note, [memory])
        elif memory.event_id == (first := held.pieces[0]).event_id:
            held.pieces.append(memory)
        elif _rank(memory, user) > _rank(first, user):
            held.note, held.pieces = note, [memory]
    yield from found.values()


def _rank(memory: Memory, user: str) -> tuple[bool, float]:
    return memory.user_id == user, memory.created_at.timestamp() if memory.created_at else 0.0
