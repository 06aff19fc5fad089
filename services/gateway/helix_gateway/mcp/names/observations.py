"""Memories as observations of entities, which the reference server `memory` has instead.

The names of entities are compared without regard to case. A memory that was written as an observation belongs
to the entity of its title alone; one that another door wrote belongs to every entity that it mentions, and in
a list to the first of them, or to `NAMELESS`.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, Field

from helix_gateway.mcp.keeping import HIDDEN
from helix_memory import limits
from helix_memory.client import Memory
from helix_memory.events.private_passages import without_private
from helix_memory.identity import digest, memory_id
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import NotFoundError
from helix_shared.rpc.access.credential import RECALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from helix_gateway.callers import Caller

TAG: Final = "server-memory"
"""Of memories that were written as observations."""
NAMELESS: Final = "memories"
EVENT: Final = "graph-"
FOUND: Final = 50
"""Memories of a search at most."""
LISTED_BYTES: Final = 180_000
"""Texts of one list, for which a request has room beside its scope."""
_BETWEEN: Final = ": "
Fact = tuple[str, str]
"""The name of an entity, and an observation of it."""


class Entity(BaseModel):
    """An entity with what is known of it."""

    name: str
    entityType: str = ""  # noqa: N815  the name of the reference server
    observations: list[str] = Field(default_factory=list)


class Graph(BaseModel):
    """Entities with their observations. Relations are observations of their first entity."""

    entities: list[Entity]
    relations: list[dict[str, str]] = Field(default_factory=list)


def text_of(name: str, observation: str) -> str:
    """The text of a memory that is an observation; the empty one is the entity alone."""
    return f"{name}{_BETWEEN}{observation}" if observation else name


def event_of(caller: Caller, name: str, observation: str) -> str:
    """The id of the event of an observation, without `EVENT`."""
    return digest(caller.user, name, without_private(observation))


def graph_of(memories: Sequence[Memory]) -> Graph:
    """Memories by the entity that they are of; titles say how an entity is spelled."""
    spelled = {one.title.casefold(): one.title for one in reversed(memories) if one.title}
    entities: dict[str, Entity] = {}
    for one in memories:
        name = _entity_of(one)
        entity = entities.setdefault(name.casefold(), Entity(name=spelled.get(name.casefold(), name)))
        _add(entity, _observation(name, one.text))
    return Graph(entities=list(entities.values()))


async def opened(caller: Caller, name: str) -> Entity | None:
    """An entity with what is shown of it; None where nothing is known of it."""
    memories = await _around(caller, name)
    own = [one.title for one in memories if _same(one.title, name)]
    entity = Entity(name=own[0] if own else name)
    for one in memories:
        _add(entity, _observation(name, one.text))
    return entity if memories else None


async def ids_of(caller: Caller, facts: Sequence[Fact]) -> list[list[str]]:
    """The memories that are shown as each of these observations.

    Where there is none, or the caller may not recall, the one that was written as it, which may not be
    processed yet; none if that was replaced by a later version. An entity is read once, and what is not near
    it is listed by its text: a search finds it only among what resembles it more or less.
    """
    if not caller.may(RECALL):
        return [[_own_id(caller, fact)] for fact in facts]
    names = {name.casefold(): name for name, _ in facts}
    read = await asyncio.gather(*(_around(caller, name) for name in names.values()))
    around = dict(zip(names, read, strict=True))
    shown = {fact: _shown_as(fact, around[fact[0].casefold()]) for fact in facts}
    shown |= await _listed(caller, [fact for fact, ids in shown.items() if not ids])
    own = {fact: _own_id(caller, fact) for fact, ids in shown.items() if not ids}
    states = (await caller.helix.states(list(own.values()))).by_id
    for fact, name in own.items():
        state = states[name]
        is_it = state is None or state.loss in (recall_pb2.LOSS_NONE, *HIDDEN)
        shown[fact] = [name] if is_it else []
    return [shown[fact] for fact in facts]


def _own_id(caller: Caller, fact: Fact) -> str:
    return memory_id(caller.tenant, EVENT + event_of(caller, *fact), 0)


async def _around(caller: Caller, name: str) -> list[Memory]:
    try:
        found = await caller.helix.neighbours(entity=name, hops=1)
    except NotFoundError:
        return []
    memories = [Memory.of(one.memory) for one in found.nodes if one.HasField("memory")]
    return [one for one in memories if TAG not in one.categories or _same(one.title, name)]


async def _listed(caller: Caller, facts: Sequence[Fact]) -> dict[Fact, list[str]]:
    """Memories of lists and searches, whose title need not be an entity, by the observation they show."""
    texts = {fact: {text_of(*fact), fact[1]} for fact in facts}
    parts = _parts(dict.fromkeys(chain.from_iterable(texts.values())))
    by_text = defaultdict[str, list[Memory]](list)
    for one in chain.from_iterable(await asyncio.gather(*(_with_texts(caller, part) for part in parts))):
        by_text[one.text.casefold()].append(one)
    found = {}
    for fact, own in texts.items():
        memories = chain.from_iterable(by_text[text.casefold()] for text in own)
        found[fact] = _shown_as(fact, [one for one in memories if _same(_entity_of(one), fact[0])])
    return found


def _parts(texts: Iterable[str]) -> list[list[str]]:
    """Texts that a memory may have, in parts for which a list has room."""
    parts, room = list[list[str]](), 0
    for text in texts:
        size = len(text.encode(errors="surrogatepass"))
        if not text.strip() or size > LISTED_BYTES or len(text) > limits.TEXT_CHARACTERS:
            continue
        if size > room or len(parts[-1]) == limits.LISTED_TEXTS:
            parts.append([])
            room = LISTED_BYTES
        parts[-1].append(text)
        room -= size
    return parts


async def _with_texts(caller: Caller, texts: Sequence[str]) -> list[Memory]:
    """All memories that say just one of these."""
    memories, token = list[Memory](), ""
    while True:
        page = await caller.helix.list(texts=texts, page_size=limits.PAGE_SIZE, page_token=token)
        memories += page.memories
        if not (token := page.next_page_token):
            return memories


def _shown_as(fact: Fact, memories: Sequence[Memory]) -> list[str]:
    """Ids of the memories of an entity that are shown as this observation of it."""
    name, observation = fact
    return [one.id for one in memories if _observation(name, one.text) == observation]


def _entity_of(memory: Memory) -> str:
    return memory.title or next(iter(memory.entities), NAMELESS)


def _observation(name: str, text: str) -> str:
    """A text without the name of its entity; empty where it is the name alone."""
    start = f"{name}{_BETWEEN}"
    if _same(text[: len(start)], start):
        return text[len(start) :]
    return "" if _same(text, name) else text


def _add(entity: Entity, observation: str) -> None:
    if observation and observation not in entity.observations:
        entity.observations.append(observation)


def _same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()
