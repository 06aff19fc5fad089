"""Entities and links of an answer: a name counts only where a turn holds it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, StrictInt, ValidationError

from helix_extract.answers.passages import holds, plain
from helix_extract.windows.window import Turn, Window

NAME_CHARACTERS: Final = 120
MOST_NAMES: Final = 32
"""Entities of one memory."""

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
    """A relation between two entities that `turn` names both."""

    turn: Turn
    source: Entity
    target: Entity
    relation: str


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
        link = _checked(item, entities, window)
        if link is None:
            dropped["link"] += 1
        else:
            yield link


def _checked(item: Any, entities: Sequence[NamedEntity | None], window: Window) -> CheckedLink | None:
    try:
        link = _Link.model_validate(item)
    except ValidationError:
        return None
    source, target = _at(entities, link.source), _at(entities, link.target)
    if source is None or target is None or not 1 <= link.turn <= len(window.turns):
        return None
    turn = window.turns[link.turn - 1]
    if source is target or not (_mentions(turn, source.name) and _mentions(turn, target.name)):
        return None
    ends = [(plain(end.name), end.type) for end in (source, target)]
    return CheckedLink(turn, ends[0], ends[1], plain(link.relation))


def _entity(item: Any) -> NamedEntity | None:
    try:
        return NamedEntity.model_validate(item)
    except ValidationError:
        return None


def _mentions(turn: Turn, name: str) -> bool:
    return holds(turn.event.text, name) or holds(turn.event.speaker, name)


def _at(entities: Sequence[NamedEntity | None], position: Any) -> NamedEntity | None:
    is_position = type(position) is int and 0 <= position < len(entities)
    return entities[position] if is_position else None
