r"""Reads timelines: a text file per tenant, written by hand.

Lines that are empty or start with `#` are skipped. The sections, each after its heading:

    == events
    2025-02-03 s01                      day and session of the events below
    001 17:40 user: text {slot=value; other=value?}
    == relations
    003 extends 001                     newer event, kind, older event
    == questions
    q01 | category | 2025-03-01T10:00 | question | answer | 003:2 002:1 | 001

Events are numbered from 001, and time does not go back; `\n` in a text is a line break. The braces hold what
the event states: a later other value of the same slot outdates the earlier one. A value with `?` at its end
is only considered, wished or asked. The last two fields of a question are the events that answer it with
their gain (2 alone, 1 helps) and the outdated ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.resources.abc import Traversable
from typing import Final

from helix_shared.errors import InvalidInputError

CATEGORIES: Final = frozenset(
    [
        "current", "history", "followup", "pronoun", "future_date", "past_date", "who", "why", "preference",
        "exact", "aggregate", "abstain",
    ]
)  # fmt: skip
ABSTAIN: Final = "abstain"
"""Questions whose answer nobody said."""
RELATIONS: Final = frozenset(["extends", "contradicts", "repeats", "updates", "looks-like"])
ANSWERS: Final = 2
"""Gain of an event that answers a question by itself; one that helps has 1."""
_SECTIONS: Final = ("events", "relations", "questions")
_DAY: Final = re.compile(r"(\d{4}-\d\d-\d\d) (\S+)")
_EVENT: Final = re.compile(r"(\d{3}) (\d\d:\d\d) ([^:{}|]{1,30}): (.*?)(?:\s*\{([^{}]*)\})?")
_VALUE: Final = re.compile(r"\s*(\w+)\s*=\s*(\S(?:.*\S)?)\s*")
_QUESTION_FIELDS: Final = 7


@dataclass(frozen=True, slots=True)
class Turn:
    """An event: what one speaker said. `values` maps slots to the value that it states."""

    id: str
    session: str
    at: datetime
    speaker: str
    text: str
    values: dict[str, str]


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question at a moment; `gold` maps event ids to their gain, `stale` are outdated events."""

    id: str
    category: str
    at: datetime
    text: str
    answer: str
    gold: dict[str, int]
    stale: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """How an event relates to an earlier one; `kind` is one of `RELATIONS`."""

    older: str
    newer: str
    kind: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """One tenant, in the order of its file; ids start with its name."""

    name: str
    turns: list[Turn] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    questions: list[AskedQuestion] = field(default_factory=list)


def timelines_in(folder: Traversable) -> list[Timeline]:
    """The timelines of all `.txt` files of a folder, by name.

    Raises: as `read_timeline`.
    """
    found = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".txt")), key=lambda one: one.name
    )
    return [read_timeline(file) for file in found]


def read_timeline(file: Traversable) -> Timeline:
    """Read one file; its name without `.txt` is the tenant's.

    Raises:
        InvalidInputError: a line breaks the form; names file and line.
    """
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise InvalidInputError(str(file), f"is not UTF-8: {error}") from error
    reader = _Reader(Timeline(file.name.removesuffix(".txt")))
    for number, line in enumerate(lines, 1):
        try:
            reader.read(line.rstrip())
        except ValueError as error:
            raise InvalidInputError(f"{file}:{number}", f"{error}: {line[:80]!r}") from error
    if not reader.told.turns:
        raise InvalidInputError(str(file), "has no events")
    return reader.told


class _Reader:
    """Reads line after line; a line that breaks the form raises ValueError."""

    def __init__(self, told: Timeline) -> None:
        self.told = told
        self._section = ""
        self._day, self._session = "", ""
        self._by_number: dict[str, Turn] = {}

    def read(self, line: str) -> None:
        """Read one line of any section."""
        if not line or line.startswith("#"):
            return
        if line.startswith("== "):
            self._open(line.removeprefix("== "))
        elif self._section == "events":
            self._read_event(line)
        elif self._section == "relations":
            self._read_relation(line)
        elif self._section == "questions":
            self._read_question(line)
        else:
            raise ValueError("a line before == events")

    def _open(self, section: str) -> None:
        wanted = _SECTIONS[_SECTIONS.index(self._section) + 1 :] if self._section else _SECTIONS[:1]
        if section not in wanted:
            raise ValueError(f"section {section!r} does not follow {self._section or 'the start'!r}")
        self._section = section

    def _read_event(self, line: str) -> None:
        if day := _DAY.fullmatch(line):
            self._day, self._session = day.groups()
            return
        found = _EVENT.fullmatch(line)
        if found is None:
            raise ValueError("not an event: number, clock, speaker, colon, text, slots in braces")
        number, clock, speaker, text, slots = found.groups()
        turns = self.told.turns
        if int(number) != len(turns) + 1:
            raise ValueError(f"event {number} must be number {len(turns) + 1:03d}")
        if not self._day:
            raise ValueError("an event before its day and session")
        if not text:
            raise ValueError("the event has no text")
        at = datetime.fromisoformat(f"{self._day}T{clock}:00")
        if turns and at < turns[-1].at:
            raise ValueError("time goes back")
        turn = Turn(
            f"{self.told.name}-{number}",
            f"{self.told.name}-{self._session}",
            at,
            speaker.strip(),
            text.replace("\\n", "\n"),
            _values(slots or ""),
        )
        turns.append(turn)
        self._by_number[number] = turn

    def _read_relation(self, line: str) -> None:
        newer, kind, older = _fields(line.split(), 3)
        if kind not in RELATIONS:
            raise ValueError(f"relation {kind!r} is none of {', '.join(sorted(RELATIONS))}")
        relation = Relation(self._turn(older).id, self._turn(newer).id, kind)
        if older >= newer:
            raise ValueError("the newer event comes first")
        if any((one.older, one.newer) == (relation.older, relation.newer) for one in self.told.relations):
            raise ValueError("the pair is in an earlier line")
        self.told.relations.append(relation)

    def _read_question(self, line: str) -> None:
        number, category, moment, text, answer, answering, outdated = _fields(
            [part.strip() for part in line.split("|")], _QUESTION_FIELDS
        )
        if category not in CATEGORIES:
            raise ValueError(f"category {category!r} is not known")
        if not (number and text and answer):
            raise ValueError("a question has an id, a text and an answer")
        at = datetime.fromisoformat(moment)
        gold = {}
        for part in answering.split():
            event, _, gain = part.partition(":")
            if gain not in {"", "1", "2"}:
                raise ValueError(f"gain {gain} is neither 1 nor 2")
            gold[self._turn(event, until=at).id] = int(gain or ANSWERS)
        stale = tuple(self._turn(event, until=at).id for event in outdated.split())
        if category == ABSTAIN and gold:
            raise ValueError("a question nobody answered has gold events")
        if category != ABSTAIN and ANSWERS not in gold.values():
            raise ValueError("no event answers the question by itself")
        if any(gold.get(event) == ANSWERS for event in stale):
            raise ValueError("an event both answers the question and is outdated")
        asked = AskedQuestion(f"{self.told.name}-{number}", category, at, text, answer, gold, stale)
        if any(one.id == asked.id for one in self.told.questions):
            raise ValueError(f"question {number} is in an earlier line")
        self.told.questions.append(asked)

    def _turn(self, number: str, until: datetime | None = None) -> Turn:
        turn = self._by_number.get(number)
        if turn is None:
            raise ValueError(f"there is no event {number}")
        if until is not None and turn.at > until:
            raise ValueError(f"event {number} is later than the question")
        return turn


def _values(slots: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for part in filter(str.strip, slots.split(";")):
        found = _VALUE.fullmatch(part)
        if found is None:
            raise ValueError(f"{part.strip()!r} is not slot=value")
        slot, value = found.groups()
        if slot in values:
            raise ValueError(f"slot {slot} has two values")
        values[slot] = value
    return values


def _fields(parts: Sequence[str], count: int) -> Iterable[str]:
    if len(parts) != count:
        raise ValueError(f"{len(parts)} fields, not {count}")
    return parts
