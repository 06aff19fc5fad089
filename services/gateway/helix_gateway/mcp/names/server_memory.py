"""The names of the reference server `memory`: a graph of entities with observations, and relations.

An observation is a memory whose text begins with the name of its entity; a relation is one as well. Their ids
follow from what they say, so that deleting finds them again. What other doors wrote belongs to the entity
`memories`, or is read with its first entity.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, Field

from helix_gateway.mcp.keeping import keep
from helix_gateway.mcp.results import Kept
from helix_gateway.mcp.tool import Tool
from helix_gateway.operations.requests import Arguments, Several
from helix_memory import limits
from helix_memory.identity import digest, memory_id
from helix_shared.errors import NotFoundError
from helix_shared.rpc.access.credential import RECALL, WRITE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_gateway.callers import Caller
    from helix_memory.client import Memory

AT_ONCE: Final = 50
_TAG: Final = "server-memory"
_NAMELESS: Final = "memories"
_EVENT: Final = "graph-"


class Entity(BaseModel):
    """An entity with what is known of it."""

    name: str
    entityType: str = ""  # noqa: N815  the name of the reference server
    observations: list[str] = Field(default_factory=list)


class EntityGiven(Arguments):
    """An entity as an agent writes it."""

    name: str = Field(min_length=1, max_length=limits.NAME_CHARACTERS)
    entityType: str = Field("", max_length=limits.NAME_CHARACTERS)  # noqa: N815  as above
    observations: Several[str] = Field(default_factory=list, max_length=AT_ONCE)


class RelationGiven(Arguments):
    """A relation as an agent writes it."""

    from_: str = Field(alias="from", min_length=1, max_length=limits.NAME_CHARACTERS)
    to: str = Field(min_length=1, max_length=limits.NAME_CHARACTERS)
    relationType: str = Field(min_length=1, max_length=limits.NAME_CHARACTERS)  # noqa: N815  as above


class ObservationsGiven(Arguments):
    """Observations of one entity."""

    entityName: str = Field(min_length=1, max_length=limits.NAME_CHARACTERS)  # noqa: N815  as above
    contents: Several[str] = Field(min_length=1, max_length=AT_ONCE)


class ObservationsDeleted(Arguments):
    """Observations of one entity to be hidden."""

    entityName: str = Field(min_length=1, max_length=limits.NAME_CHARACTERS)  # noqa: N815  as above
    observations: Several[str] = Field(min_length=1, max_length=AT_ONCE)


class EntitiesArguments(Arguments):
    """Entities."""

    entities: list[EntityGiven] = Field(min_length=1, max_length=AT_ONCE)


class RelationsArguments(Arguments):
    """Relations."""

    relations: list[RelationGiven] = Field(min_length=1, max_length=AT_ONCE)


class AddArguments(Arguments):
    """Observations."""

    observations: list[ObservationsGiven] = Field(min_length=1, max_length=AT_ONCE)


class DeleteArguments(Arguments):
    """Observations to be hidden."""

    deletions: list[ObservationsDeleted] = Field(min_length=1, max_length=AT_ONCE)


class SearchArguments(Arguments):
    """A query."""

    query: str = Field(max_length=limits.QUERY_CHARACTERS)


class OpenArguments(Arguments):
    """Names of entities."""

    names: Several[str] = Field(min_length=1, max_length=AT_ONCE)


class ReadArguments(Arguments):
    """Nothing."""


class Graph(BaseModel):
    """Entities with their observations. Relations are observations of their first entity."""

    entities: list[Entity]
    relations: list[dict[str, str]] = Field(default_factory=list)


class Writes(BaseModel):
    """What was written."""

    written: list[Kept]


async def _create_entities(caller: Caller, sent: Any) -> Writes:
    facts = []
    for one in sent.entities:
        texts = [*one.observations, *([f"is a {one.entityType}"] if one.entityType else [])]
        facts += [(one.name, text) for text in texts]
    return await _keep(caller, facts)


async def _create_relations(caller: Caller, sent: Any) -> Writes:
    return await _keep(caller, [(one.from_, f"{one.relationType} {one.to}") for one in sent.relations])


async def _add(caller: Caller, sent: Any) -> Writes:
    return await _keep(caller, [(one.entityName, text) for one in sent.observations for text in one.contents])


async def _delete(caller: Caller, sent: Any) -> Kept:
    facts = [(one.entityName, text) for one in sent.deletions for text in one.observations]
    ids = [memory_id(caller.tenant, _event(caller, *fact), 0) for fact in facts]
    return Kept.of(await caller.helix.forget(*ids, wait=True), visible=True)


async def _delete_relations(caller: Caller, sent: Any) -> Kept:
    facts = [(one.from_, f"{one.relationType} {one.to}") for one in sent.relations]
    ids = [memory_id(caller.tenant, _event(caller, *fact), 0) for fact in facts]
    return Kept.of(await caller.helix.forget(*ids, wait=True), visible=True)


async def _search(caller: Caller, sent: Any) -> Graph:
    return _graph((await caller.helix.recall(sent.query, top_k=AT_ONCE)).memories)


async def _open(caller: Caller, sent: Any) -> Graph:
    parts = await asyncio.gather(*(_of_entity(caller, name) for name in sent.names))
    return Graph(entities=[Entity(name=name, observations=texts) for name, texts in parts if texts])


async def _of_entity(caller: Caller, name: str) -> tuple[str, list[str]]:
    try:
        found = await caller.helix.neighbours(entity=name, hops=1)
    except NotFoundError:
        return name, []
    texts = [one.memory.text for one in found.nodes if one.HasField("memory")]
    return name, [_without_name(name, text) for text in texts]


async def _read(caller: Caller, _: Any) -> Graph:
    return _graph((await caller.helix.list(page_size=limits.PAGE_SIZE)).memories)


async def _keep(caller: Caller, facts: Iterable[tuple[str, str]]) -> Writes:
    writes = (
        keep(caller, _EVENT, digest(caller.user, name, text), text=f"{name}: {text}", title=name, tags=[_TAG])
        for name, text in facts
    )
    return Writes(written=list(await asyncio.gather(*writes)))


def _event(caller: Caller, name: str, text: str) -> str:
    return _EVENT + digest(caller.user, name, text)


def _graph(memories: Iterable[Memory]) -> Graph:
    """Memories by the entity that they are of."""
    by_name: dict[str, list[str]] = {}
    for one in memories:
        name = one.title or next(iter(one.entities), _NAMELESS)
        by_name.setdefault(name, []).append(_without_name(name, one.text))
    return Graph(entities=[Entity(name=name, observations=texts) for name, texts in by_name.items()])


def _without_name(name: str, text: str) -> str:
    return text.removeprefix(f"{name}: ")


SERVER_MEMORY: Final = (
    Tool(
        "create_entities",
        "Create entities",
        "Keep entities and what is known of them.",
        EntitiesArguments,
        Writes,
        WRITE,
        _create_entities,
    ),
    Tool(
        "create_relations",
        "Create relations",
        "Keep how entities relate.",
        RelationsArguments,
        Writes,
        WRITE,
        _create_relations,
    ),
    Tool(
        "add_observations", "Add observations", "Keep more about entities.", AddArguments, Writes, WRITE, _add
    ),
    Tool(
        "delete_observations",
        "Delete observations",
        "Hide observations.",
        DeleteArguments,
        Kept,
        WRITE,
        _delete,
        hides=True,
    ),
    Tool(
        "delete_relations",
        "Delete relations",
        "Hide relations.",
        RelationsArguments,
        Kept,
        WRITE,
        _delete_relations,
        hides=True,
    ),
    Tool(
        "read_graph",
        "Read graph",
        "The newest 200 memories by entity.",
        ReadArguments,
        Graph,
        RECALL,
        _read,
        reads=True,
    ),
    Tool(
        "search_nodes",
        "Search nodes",
        "Search memories by a query in plain words.",
        SearchArguments,
        Graph,
        RECALL,
        _search,
        reads=True,
    ),
    Tool(
        "open_nodes",
        "Open nodes",
        "What is known of entities.",
        OpenArguments,
        Graph,
        RECALL,
        _open,
        reads=True,
    ),
)
