"""One memory: its text, source, history, relations, who may see it, what quotes it; and what changes it."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from helix_gateway.explorer.asked import memory_id
from helix_gateway.explorer.rendering import url
from helix_gateway.explorer.shown import NAMED, one_line
from helix_memory.client.results import Memory, StoredMemory
from helix_memory.identity import digest
from helix_shared.errors import NotFoundError, TemporaryError
from helix_shared.rpc.access.credential import WRITE

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from helix_gateway.explorer.asked import Asked
    from helix_memory.client.results import Written
    from helix_memory.recall.v1 import recall_pb2

T = TypeVar("T")

EVENT: Final = "explorer-"
"""Prefix of the ids of corrections."""
AROUND: Final = 7
QUOTED_CHARACTERS: Final = 60
"""As many first characters of a text in the context of another memory are a quotation of it."""
LIKELY: Final = 0.2
"""Least probability of a relation that is shown at once."""
RELATION_WORDS: Final = {
    "UPDATES": ("updates", "updated by"),
    "EXTENDS": ("extends", "extended by"),
    "CONTRADICTS": ("contradicts", "contradicted by"),
    "CORRECTS": ("corrects", "corrected by"),
    "RELATES": ("relates to", "related to"),
    "DERIVES": ("derived from", "basis of"),
    "DUPLICATE": ("repeats", "repeated by"),
}
"""A relation as the newer memory has it, and as the older one has it."""
SAID: Final = {
    "corrected": "Corrected. This is the new version.",
    "restored": "Shown in answers again.",
    "undone": "The relation was taken back. Nothing decides it again.",
    "forgotten": "Hidden from answers.",
    "versions-forgotten": "Hidden from answers, with its other versions.",
    "stored": "The change is stored, and not yet in the served generation. Load the page again in a while.",
}
"""What was done, by the word in the address."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A step of the history, as the page shows it."""

    kind: str
    newer: bool
    """Whether the other memory is the newer one."""
    other: Memory | None
    other_id: str
    probability: float
    evidence: Sequence[tuple[str, float]]
    closed: bool
    counts: bool


async def build(asked: Asked) -> dict[str, Any]:
    """The memory and what is around it.

    One that was replaced is not served any more, but its history has it, and links of other pages lead to it:
    it is shown without what only a memory that is served has.

    Raises:
        NotFoundError: there is none, the caller may not see it, or it was forgotten.
    """
    wanted = asked.memory_id
    served, history, around = await asyncio.gather(
        _or_none(asked.helix.get(wanted)), _or_none(asked.helix.history(wanted)), _around(asked, wanted)
    )
    found = served or _replaced(wanted, history)
    versions = {one.memory_id: Memory.of(one) for one in history.memories} if history else {}
    return {
        "title": one_line(found.title or found.text, NAMED),
        "memory": found,
        "is_served": served is not None,
        "may_write": asked.caller.may(WRITE),
        "whole": asked.text("whole") == "1",
        "LIKELY": LIKELY,
        "relation_words": RELATION_WORDS,
        "versions": list(versions.values()),
        "relations": _relations(found.id, history, versions),
        "others": _other_relations(found.id, history),
        "truncated": bool(history and history.truncated),
        "around": [one for one in around if one.session_id == found.session_id or not found.session_id],
        "quoting": _quoting(found, around),
        "said": SAID.get(asked.text("done"), ""),
        "seen_by": _seen_by(found),
        "attempt": _attempt(),
    }


async def correct(asked: Asked, fields: dict[str, str]) -> str:
    """Publish the next version, and show it; a form that is sent twice with the same text makes one."""
    text = fields.get("text", "")
    attempt = fields.get("attempt") or _attempt()
    event_id = EVENT + digest(asked.memory_id, attempt, text)
    written = await asked.helix.correct(asked.memory_id, text, event_id=event_id)
    if await _processed(asked, written):
        return url(f"/memories/{written.memory_id}", done="corrected")
    return url(f"/memories/{asked.memory_id}", done="stored")


async def forget(asked: Asked, _: dict[str, str]) -> str:
    """Hide the memory; the list offers to show it again."""
    history = await _or_none(asked.helix.history(asked.memory_id))
    word = "versions-forgotten" if _has_versions(asked.memory_id, history) else "forgotten"
    done = await _processed(asked, await asked.helix.forget(asked.memory_id))
    return url("/memories", done=word if done else "stored", changed=asked.memory_id)


async def restore(asked: Asked, _: dict[str, str]) -> str:
    """Show the memory again."""
    done = await _processed(asked, await asked.helix.restore(asked.memory_id))
    return url(f"/memories/{asked.memory_id}" if done else "/memories", done="restored" if done else "stored")


async def undo(asked: Asked, fields: dict[str, str]) -> str:
    """Take back a relation of the memory, or all of them.

    A correction is not shown any more when it was taken back: then the page is that of what it had corrected.
    """
    other = memory_id("other", fields["other"]) if fields.get("other") else None
    done = await _processed(asked, await asked.helix.undo(asked.memory_id, other=other))
    shown = asked.memory_id if other is None or await _is_there(asked) else other
    return url(f"/memories/{shown}", done="undone" if done else "stored")


def _attempt() -> str:
    """What tells the corrections of one form from those of another."""
    return secrets.token_hex(8)


async def _processed(asked: Asked, written: Written) -> bool:
    """Whether a write can be seen; after a while the page says that it is stored.

    Raises:
        InvalidInputError: it was refused.
    """
    try:
        await asked.helix.wait(written)
    except TemporaryError:
        return False
    return True


async def _is_there(asked: Asked) -> bool:
    """Whether the memory can be shown."""
    try:
        await asked.helix.get(asked.memory_id)
    except NotFoundError:
        return False
    return True


async def _or_none(call: Coroutine[Any, Any, T]) -> T | None:
    try:
        return await call
    except NotFoundError:
        return None


def _replaced(wanted: str, history: recall_pb2.GetHistoryResponse | None) -> StoredMemory:
    """A memory that is no longer served, from its history.

    Raises:
        NotFoundError: the history does not have it.
    """
    for one in history.memories if history else ():
        if one.memory_id == wanted:
            return StoredMemory.of_id(one)
    raise NotFoundError(f"no memory {wanted} is visible to this scope")


async def _around(asked: Asked, wanted: str) -> tuple[Memory, ...]:
    try:
        return (await asked.helix.timeline(around=wanted, page_size=AROUND)).memories
    except NotFoundError:
        return ()


def _relations(
    own: str, history: recall_pb2.GetHistoryResponse | None, versions: dict[str, Memory]
) -> list[Relation]:
    """Relations of the memory itself."""
    relations = []
    for one in history.relations if history else ():
        if own in (one.newer_id, one.older_id):
            newer = one.older_id == own
            other = one.newer_id if newer else one.older_id
            evidence = [(each.name, each.value) for each in one.evidence]
            relations.append(
                Relation(
                    one.relation,
                    newer,
                    versions.get(other),
                    other,
                    one.probability,
                    evidence,
                    one.closed,
                    one.counts,
                )
            )
    return sorted(relations, key=lambda one: -one.probability)


def _has_versions(own: str, history: recall_pb2.GetHistoryResponse | None) -> bool:
    """Whether the memory corrects another one, or is corrected."""
    return any(
        one.relation == "CORRECTS" and own in (one.newer_id, one.older_id)
        for one in (history.relations if history else ())
    )


def _other_relations(
    own: str, history: recall_pb2.GetHistoryResponse | None
) -> Sequence[recall_pb2.HistoryRelation]:
    """Relations between other memories of the chain."""
    return [one for one in (history.relations if history else ()) if own not in (one.newer_id, one.older_id)]


def _quoting(found: StoredMemory, around: Sequence[Memory]) -> list[Memory]:
    """Memories around it whose context has its text."""
    start = " ".join(found.text.split())[:QUOTED_CHARACTERS]
    return [one for one in around if one.id != found.id and start and start in " ".join(one.context.split())]


def _seen_by(found: StoredMemory) -> str:
    """Who may recall it, as a sentence."""
    who = f"the user {found.owner}" if found.owner else "every user of the tenant"
    groups = [one for one in found.audience if one != "*"]
    return who + (f", with one of these principals: {', '.join(groups)}" if groups else "")
