"""The names of the reference server `memory`: a graph of entities with observations, and relations.

An observation is a memory whose text begins with the name of its entity; a relation is one as well, and an
entity of which nothing is known is its name alone. Their ids follow from what they say.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, Field

from helix_gateway.mcp.keeping import hide, keep
from helix_gateway.mcp.names.observations import (
    EVENT,
    FOUND,
    TAG,
    Fact,
    Graph,
    event_of,
    graph_of,
    ids_of,
    opened,
    text_of,
)
from helix_gateway.mcp.results import Kept, KeptChange
from helix_gateway.mcp.tool import Tool
from helix_gateway.operations.requests import Arguments, Several
from helix_memory import limits
from helix_shared.errors import InvalidInputError, NotFoundError
from helix_shared.rpc.access.credential import RECALL, WRITE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from helix_gateway.callers import Caller

MOST_ITEMS: Final = 50
Name = Annotated[str, Field(min_length=1, max_length=limits.NAME_CHARACTERS, pattern=limits.TEXT_PATTERN)]
"""Of an entity or a relation."""


class EntityGiven(Arguments):
    """An entity as an agent writes it."""

    name: Name
    entityType: str = Field("", max_length=limits.NAME_CHARACTERS)  # noqa: N815  as above
    observations: Several[str] = Field(default_factory=list, max_length=MOST_ITEMS)


class RelationGiven(Arguments):
    """A relation as an agent writes it."""

    from_: Name = Field(alias="from")
    to: Name
    relationType: Name  # noqa: N815  as above


class ObservationsGiven(Arguments):
    """Observations of one entity."""

    entityName: Name  # noqa: N815  as above
    contents: Several[str] = Field(min_length=1, max_length=MOST_ITEMS)


class ObservationsDeleted(Arguments):
    """Observations of one entity to be hidden."""

    entityName: Name  # noqa: N815  as above
    observations: Several[str] = Field(min_length=1, max_length=MOST_ITEMS)


class EntitiesArguments(Arguments):
    """Entities."""

    entities: list[EntityGiven] = Field(min_length=1, max_length=MOST_ITEMS)


class RelationsArguments(Arguments):
    """Relations."""

    relations: list[RelationGiven] = Field(min_length=1, max_length=MOST_ITEMS)


class AddArguments(Arguments):
    """Observations."""

    observations: list[ObservationsGiven] = Field(min_length=1, max_length=MOST_ITEMS)


class DeleteArguments(Arguments):
    """Observations to be hidden."""

    deletions: list[ObservationsDeleted] = Field(min_length=1, max_length=MOST_ITEMS)


class SearchArguments(Arguments):
    """A query."""

    query: str = Field(max_length=limits.QUERY_CHARACTERS)


class OpenArguments(Arguments):
    """Names of entities."""

    names: Several[Name] = Field(min_length=1, max_length=MOST_ITEMS)


class ReadArguments(Arguments):
    """Nothing."""


class Writes(BaseModel):
    """What was written."""

    written: list[Kept]


async def _create_entities(caller: Caller, sent: Any) -> Writes:
    facts = []
    for one in sent.entities:
        texts = [*one.observations, *([f"is a {one.entityType}"] if one.entityType else [])]
        facts += [(one.name, text) for text in texts or [""]]
    return await _keep(caller, facts)


async def _create_relations(caller: Caller, sent: Any) -> Writes:
    return await _keep(caller, [(one.from_, f"{one.relationType} {one.to}") for one in sent.relations])


async def _add(caller: Caller, sent: Any) -> Writes:
    return await _keep(caller, [(one.entityName, text) for one in sent.observations for text in one.contents])


async def _delete(caller: Caller, sent: Any) -> KeptChange:
    return await _hide(
        caller, [(one.entityName, text) for one in sent.deletions for text in one.observations]
    )


async def _delete_relations(caller: Caller, sent: Any) -> KeptChange:
    return await _hide(caller, [(one.from_, f"{one.relationType} {one.to}") for one in sent.relations])


async def _search(caller: Caller, sent: Any) -> Graph:
    found = await caller.helix.recall(sent.query, top_k=FOUND, never_skip=True)
    return graph_of(() if found.abstained else found.memories)


async def _open(caller: Caller, sent: Any) -> Graph:
    names = {name.casefold(): name for name in sent.names}.values()
    found = await asyncio.gather(*(opened(caller, name) for name in names))
    return Graph(entities=[one for one in found if one is not None])


async def _read(caller: Caller, _: Any) -> Graph:
    return graph_of((await caller.helix.list(page_size=limits.PAGE_SIZE)).memories)


async def _keep(caller: Caller, facts: Iterable[tuple[str, str]]) -> Writes:
    writes = (
        keep(caller, EVENT, event_of(caller, name, text), text=text_of(name, text), title=name, tags=[TAG])
        for name, text in facts
    )
    return Writes(written=list(await asyncio.gather(*writes)))


async def _hide(caller: Caller, facts: Sequence[Fact]) -> KeptChange:
    """Hide what is shown as these observations, and name those that are not there, where all that is known.

    Raises:
        NotFoundError, InvalidInputError: none of them is there.
    """
    facts = list(dict.fromkeys(facts))
    found = await ids_of(caller, facts)
    ids = list(dict.fromkeys(one for each in found for one in each))
    changed, gone, refusal, is_known = None, set[str](), None, True
    for start in range(0, len(ids), limits.SELECTED_IDS):
        part = ids[start : start + limits.SELECTED_IDS]
        try:
            changed = await hide(caller, part)
            gone.update(changed.missing or ())
            is_known = is_known and changed.missing is not None
        except InvalidInputError as error:
            # none of this part is there
            refusal = error
            gone.update(part)
    if changed is None:
        raise refusal or NotFoundError(f"there is no observation {text_of(*facts[0])[:200]!r}")
    missing = [text_of(*fact) for fact, each in zip(facts, found, strict=True) if gone.issuperset(each)]
    return changed.model_copy(update={"missing": missing if is_known else None})


SERVER_MEMORY: Final = (
    Tool(
        "create_entities",
        "Create entities",
        "Keep entities and what is known of them, if anything is.",
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
        KeptChange,
        WRITE,
        _delete,
        hides=True,
    ),
    Tool(
        "delete_relations",
        "Delete relations",
        "Hide relations.",
        RelationsArguments,
        KeptChange,
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
        "Search memories by a query in plain words; nothing where nothing relevant is known.",
        SearchArguments,
        Graph,
        RECALL,
        _search,
        reads=True,
    ),
    Tool(
        "open_nodes",
        "Open nodes",
        f"What is known of entities, of each at most {limits.GRAPH_NODES - 1} memories.",
        OpenArguments,
        Graph,
        RECALL,
        _open,
        reads=True,
    ),
)
