"""Entities and links of an answer: a name counts where a turn holds it, a relation if it is a predicate."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, StrictInt, ValidationError

from helix_extract.windows.window import Turn, Window
from helix_memory.vocabulary.predicates import PREDICATES
from helix_shared.endpoint.passages import names, plain

NAME_CHARACTERS: Final = 120
MOST_NAMES: Final = 32
"""Entities of one memory."""
_SEPARATORS: Final = re.compile(r"[\W_]+")
_SYNONYMS: Final = {
    "WORKS_AT": "WORKS_FOR",
    "EMPLOYED_BY": "WORKS_FOR",
    "MARRIED_TO": "MARRIED",
    "MOTHER_OF": "PARENT_OF",
    "FATHER_OF": "PARENT_OF",
    "WROTE": "CREATED",
}
"""Frequent other names; the direction is the same."""

Entity = tuple[str, str]
"""Name as written, and type."""


class NamedEntity(BaseModel):
    """One entity as answered."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS)]
    type: str = "other"


class _Link(BaseModel):
    """One relation between two entities as answered."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    source: Annotated[StrictInt, Field(alias="from")]
    target: Annotated[StrictInt, Field(alias="to")]
    relation: Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS)]
    turn: StrictInt


@dataclass(frozen=True, slots=True)
class CheckedLink:
    """A typed relation between two entities that `turn` names both."""

    turn: Turn
    source: Entity
    target: Entity
    predicate: str
    """One of `helix_memory.vocabulary.predicates.PREDICATES`; `source` is subject, `target` object."""


def predicate_of(relation: str) -> str | None:
    """The predicate that a relation names in any case and with any separators; None: it names none."""
    words = _SEPARATORS.sub("_", plain(relation).upper()).strip("_")
    words = _SYNONYMS.get(words, words)
    return words if words in PREDICATES else None


def read_entities(items: Sequence[Any]) -> list[NamedEntity | None]:
    """The entities of an answer; None where one is malformed, so that positions stay."""
    return [_entity(item) for item in items]


def entities_of(
    positions: Sequence[Any],
    entities: Sequence[NamedEntity | None],
    turns: Sequence[Turn],
    dropped: Counter[str],
) -> tuple[Entity, ...]:
    """The entities of a memory whose names stand in its turns, or are a speaker's."""
    found = dict[str, Entity]()
    for position in positions[:MOST_NAMES]:
        entity = _at(entities, position)
        if entity is None or not any(_mentions(turn, entity.name) for turn in turns):
            dropped["entity"] += 1
        else:
            found.setdefault(plain(entity.name).casefold(), (plain(entity.name), entity.type))
    return tuple(found.values())


def links_of(
    items: Sequence[Any],
    entities: Sequence[NamedEntity | None],
    window: Window,
    dropped: Counter[str],
) -> Iterator[CheckedLink]:
    """The relations of an answer between two entities that the named turn holds."""
    for item in items:
        try:
            yield _checked(item, entities, window)
        except _DroppedLinkError as reason:
            dropped[str(reason)] += 1


class _DroppedLinkError(Exception):
    """A link fails a check; the message is the reason."""


def _checked(item: Any, entities: Sequence[NamedEntity | None], window: Window) -> CheckedLink:
    try:
        link = _Link.model_validate(item)
    except ValidationError as error:
        raise _DroppedLinkError("link") from error
    source, target = _at(entities, link.source), _at(entities, link.target)
    if source is None or target is None or not 1 <= link.turn <= len(window.turns):
        raise _DroppedLinkError("link")
    turn = window.turns[link.turn - 1]
    if source is target or not (_mentions(turn, source.name) and _mentions(turn, target.name)):
        raise _DroppedLinkError("link")
    predicate = predicate_of(link.relation)
    if predicate is None:
        raise _DroppedLinkError("relation")
    ends = [(plain(end.name), end.type) for end in (source, target)]
    return CheckedLink(turn, ends[0], ends[1], predicate)


def _entity(item: Any) -> NamedEntity | None:
    try:
        return NamedEntity.model_validate(item)
    except ValidationError:
        return None


def _mentions(turn: Turn, name: str) -> bool:
    return names(turn.event.text, name) or names(turn.event.speaker, name)


def _at(entities: Sequence[NamedEntity | None], position: Any) -> NamedEntity | None:
    is_position = type(position) is int and 0 <= position < len(entities)
    return entities[position] if is_position else None
