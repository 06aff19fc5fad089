"""Checks an answer against its turns. Nothing is believed: what fails a check is dropped and counted.

A memory must name turns of the window and quote one of them; its numbers must stand in the turns or follow
from their dates and their words for a time, and so must its dates. Names must stand in its turns. One bad
item does not harm the others.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    ValidationError,
    model_validator,
)

from helix_extract.answers.names import CheckedLink, Entity, NamedEntity, entities_of, links_of, read_entities
from helix_extract.answers.prompt import MOST_MEMORIES, MOST_QUESTIONS
from helix_extract.windows.window import Turn, Window
from helix_memory.vocabulary.source_classes import least_trusted
from helix_shared.endpoint.json_text import items_of
from helix_shared.endpoint.passages import plain, quotes
from helix_shared.identity import content_hash
from helix_shared.timex.find import find_time_expressions

TEXT_CHARACTERS: Final = 1_000
TIMES_LONGER: Final = 3
"""A memory is at most this many times as long as its turns, and may have `SPARE_CHARACTERS` more."""
SPARE_CHARACTERS: Final = 200
QUESTION_CHARACTERS: Final = 200
FIRST_YEAR: Final = 1_000
LAST_YEAR: Final = 2_999

NEAR: Final = dt.timedelta(days=31)
"""A date so near to its turn needs no words that Helix can read: it may be told in any language."""
MOST_TIMES: Final = 32
"""Words for a time that are looked at in a turn."""
_DAY: Final = dt.timedelta(days=1)
_YEAR: Final = dt.timedelta(days=365)
_DIGITS: Final = re.compile(r"\d+")
_THOUSANDS: Final = re.compile(r"(?<=\d)[,'](?=\d{3}(?!\d))")
"""Separators inside a number: "1,200" is 1200."""

Kind = Literal["fact", "preference", "decision", "instruction", "plan", "event"]


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


class _Memory(BaseModel):
    """One memory as answered; a field that is null is not there."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    text: Annotated[str, Field(min_length=1, max_length=TEXT_CHARACTERS)]
    kind: Annotated[Kind, BeforeValidator(_lower)] = "fact"
    turns: Annotated[list[StrictInt], Field(min_length=1, max_length=100)]
    quote: str
    valid_from: str | None = None
    valid_to: str | None = None
    entities: list[Any] = []
    questions: list[Any] = []
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.7

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, item: Any) -> Any:
        is_item = isinstance(item, dict)
        return {name: value for name, value in item.items() if value is not None} if is_item else item


@dataclass(frozen=True, slots=True)
class CheckedMemory:
    """A memory that its turns support; `source` is the turn that holds the quote."""

    source: Turn
    turns: tuple[Turn, ...]
    text: str
    kind: Kind
    quote: str
    confidence: float
    valid_from: dt.date | None = None
    valid_to: dt.date | None = None
    entities: tuple[Entity, ...] = ()
    questions: tuple[str, ...] = ()

    @property
    def source_class(self) -> str:
        """The least trusted class of its turns."""
        return least_trusted(*(turn.source_class for turn in self.turns))


@dataclass(slots=True)
class CheckedAnswer:
    """What passed, and how many items were dropped by reason."""

    memories: list[CheckedMemory] = field(default_factory=list)
    links: list[CheckedLink] = field(default_factory=list)
    """Each belongs to a memory, see `home`."""
    dropped: Counter[str] = field(default_factory=Counter)

    def home(self, link: CheckedLink) -> int | None:
        """Place of the first memory from the turn of a link, without instructions; None: there is none."""
        places = enumerate(self.memories)
        return next(
            (n for n, memory in places if link.turn in memory.turns and memory.kind != "instruction"), None
        )


def check(answer: Mapping[str, Any], window: Window) -> CheckedAnswer:
    """The memories of `answer` that the turns of `window` support."""
    checked = CheckedAnswer()
    entities = read_entities(items_of(answer, "entities"))
    known = {content_hash(turn.event.text) for turn in window.turns}
    context = _Context(window, entities, _known_numbers(window), checked.dropped)
    for item in items_of(answer, "memories"):
        if len(checked.memories) >= MOST_MEMORIES:
            checked.dropped["too many"] += 1
            continue
        try:
            memory = _memory(item, context)
        except _DroppedError as dropped:
            checked.dropped[str(dropped)] += 1
            continue
        if content_hash(memory.text) in known:
            # the verbatim turn says it already
            checked.dropped["repeated"] += 1
            continue
        known.add(content_hash(memory.text))
        checked.memories.append(memory)
    for link in links_of(items_of(answer, "links"), entities, window, checked.dropped):
        if checked.home(link) is None:
            checked.dropped["link"] += 1
        else:
            checked.links.append(link)
    return checked


class _DroppedError(Exception):
    """An item fails a check; the message is the reason."""


@dataclass(frozen=True, slots=True)
class _Context:
    """What every memory of an answer is checked against."""

    window: Window
    entities: Sequence[NamedEntity | None]
    numbers: set[int]
    dropped: Counter[str]


def _memory(item: Any, context: _Context) -> CheckedMemory:
    try:
        memory = _Memory.model_validate(item)
    except ValidationError as error:
        turns_wrong = any(problem["loc"][:1] == ("turns",) for problem in error.errors())
        raise _DroppedError("turn" if turns_wrong else "schema") from error
    turns = _turns(memory.turns, context.window)
    source = next((turn for turn in turns if quotes(turn.event.text, memory.quote)), None)
    if source is None:
        raise _DroppedError("quote")
    text = plain(memory.text)
    if len(text) > TIMES_LONGER * sum(len(turn.event.text) for turn in turns) + SPARE_CHARACTERS:
        raise _DroppedError("long")
    valid_from, valid_to = _date(memory.valid_from), _date(memory.valid_to)
    if valid_from and valid_to and valid_to < valid_from:
        raise _DroppedError("date")
    if not all(_is_told(day, turns) for day in (valid_from, valid_to) if day is not None):
        raise _DroppedError("date")
    if not _numbers(_THOUSANDS.sub("", text)) <= context.numbers | _parts_of(valid_from, valid_to):
        raise _DroppedError("number")
    return CheckedMemory(
        source=source,
        turns=turns,
        text=text,
        kind=memory.kind,
        quote=plain(memory.quote),
        confidence=memory.confidence,
        valid_from=valid_from,
        valid_to=valid_to,
        entities=entities_of(memory.entities, context.entities, turns, context.dropped),
        questions=_questions(memory.questions, context.dropped),
    )


def _turns(numbers: Sequence[int], window: Window) -> tuple[Turn, ...]:
    if any(not 1 <= number <= len(window.turns) for number in numbers):
        raise _DroppedError("turn")
    return tuple(window.turns[number - 1] for number in sorted(set(numbers)))


def _date(text: str | None) -> dt.date | None:
    if not text or text.casefold() == "null":
        return None
    try:
        day = dt.date.fromisoformat(text[:10])
    except ValueError as error:
        raise _DroppedError("date") from error
    if not FIRST_YEAR <= day.year <= LAST_YEAR:
        raise _DroppedError("date")
    return day


def _is_told(day: dt.date, turns: Sequence[Turn]) -> bool:
    """Whether one of the turns may tell a date: by its own, by a number, or by words for a time.

    The year of "in May" is the reader's guess, so that of a neighbouring year counts as well.
    """
    for turn in turns:
        if abs(day - turn.occurred_at.date()) <= NEAR:
            return True
        text = plain(turn.event.text)
        if not {day.year, day.day}.isdisjoint(_numbers(text)):
            return True
        for first, last in _told_days(text, turn.occurred_at):
            if any(first - _DAY <= day + years * _YEAR <= last + _DAY for years in (-1, 0, 1)):
                return True
    return False


def _told_days(text: str, said_at: dt.datetime) -> Iterator[tuple[dt.date, dt.date]]:
    """First and last day of each time that a text names, in the zone in which it was said."""
    for found in find_time_expressions(text, said_at, limit=MOST_TIMES):
        if found.is_storable:  # "0001-01-01" has no day before it
            first, last = found.start, found.end - dt.timedelta(microseconds=1)
            yield first.astimezone(said_at.tzinfo).date(), last.astimezone(said_at.tzinfo).date()


def _numbers(text: str) -> set[int]:
    return {int(digits[:18]) for digits in _DIGITS.findall(text)}


def _known_numbers(window: Window) -> set[int]:
    """Numbers that stand in the turns, in a date near theirs, or in a day that their words name."""
    known = set[int]()
    for turn in window.turns:
        text, year = plain(turn.event.text), turn.occurred_at.year
        known |= _numbers(text) | _numbers(_THOUSANDS.sub("", text))
        known |= _parts_of(*chain.from_iterable(_told_days(text, turn.occurred_at)))
        known |= {year - 1, year, year + 1, turn.occurred_at.month, turn.occurred_at.day}
    return known


def _parts_of(*days: dt.date | None) -> set[int]:
    return {part for day in days if day is not None for part in (day.year, day.month, day.day)}


def _questions(items: Sequence[Any], dropped: Counter[str]) -> tuple[str, ...]:
    questions = dict[str, None]()
    for item in items:
        text = plain(item) if isinstance(item, str) else ""
        if not any(map(str.isalnum, text)) or len(text) > QUESTION_CHARACTERS:
            dropped["question"] += 1
        elif len(questions) < MOST_QUESTIONS:
            questions[text] = None
    return tuple(questions)
