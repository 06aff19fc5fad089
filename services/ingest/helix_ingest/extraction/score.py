"""Scores fixed at ingest: salience, confidence, source class, event time, near-duplicate signature."""

from __future__ import annotations

import functools
import re
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from helix_ingest.extraction.acts.negation import is_asserted
from helix_ingest.extraction.meant_time import meant_time
from helix_memory.events import DocumentEvent, Event, MessageEvent, ToolEvent
from helix_memory.vocabulary.memory_types import MemoryType
from helix_memory.vocabulary.speech_acts import SpeechAct
from helix_shared.text.scripts import word_count

_TYPE_SALIENCE: Final = {"decision": 0.35, "procedural": 0.25, "semantic": 0.2, "code": 0.15, "episodic": 0.1}
_SPECIFIC: Final = re.compile(r"\d+|[A-Za-z]_[A-Za-z]|[/\\][\w.]+|`[^`]+`|(?<=[a-z,] )[A-Z][a-z]+")
_STRESSED: Final = re.compile(
    r"\b(?:important|must|never|always|remember|critical|urgent|careful|note that)\b", re.IGNORECASE
)
_HEDGED: Final = re.compile(
    r"\b(?:maybe|perhaps|might|could be|not sure|i (?:think|guess|suppose)|probably|possibly|unclear"
    r"|seems?)\b",
    re.IGNORECASE,
)
_CONFIRMED: Final = re.compile(
    r"\b(?:confirmed|verified|definitely|we decided|agreed|tested|fixed)\b", re.IGNORECASE
)
_TRUST: Final = {"user": 0.8, "document": 0.8, "tool": 0.75, "agent": 0.6, "remark": 0.5}
"""Confidence by class of the source, and in what an agent says in a conversation."""
_RICH_WORDS: Final = 40
_SPECIFICS: Final = 6
_SCORED_TEXTS: Final = 512
"""Texts whose event time is cached: a turn is scored again with the next turn."""


def salience(text: str, memory_type: MemoryType, act: SpeechAct = "statement") -> float:
    """Importance, 0 to 1, from type, length and specific details.

    type (at most .35) + .25 x words / 40 (at most 1) + .25 x specifics / 6 (at most 1; numbers, names, paths,
    symbols) + .15 if stressed; nothing for an acknowledgement, two thirds of it for a question.
    """
    if act == "acknowledgement":
        return 0.0
    words = word_count(text)
    specifics = len(_SPECIFIC.findall(text[:2_000]))
    value = (
        _TYPE_SALIENCE[memory_type]
        + 0.25 * min(1.0, words / _RICH_WORDS)
        + 0.25 * min(1.0, specifics / _SPECIFICS)
        + 0.15 * bool(_STRESSED.search(text))
    )
    return min(1.0, value * (2 / 3 if act == "question" else 1.0))


def confidence(event: Event, text: str) -> float:
    """Confidence in the statement, 0 to 1: by source class, plus or minus for confirming or hedging words.

    What an agent says in a conversation counts less than what it keeps explicitly.
    A word that is negated or required confirms nothing ("not confirmed", "must be tested").
    """
    stated: float | None = getattr(event, "confidence", None)
    if stated is not None:
        return stated
    source = source_class(event)
    value = _TRUST["remark" if source == "agent" and isinstance(event, MessageEvent) else source]
    if any(is_asserted(text, match.start()) for match in _CONFIRMED.finditer(text)):
        value += 0.15
    if _HEDGED.search(text):
        value -= 0.25
    return min(1.0, max(0.0, value))


def source_class(event: Event) -> str:
    """Class of the source: user, agent, tool or document."""
    if isinstance(event, ToolEvent):
        return "tool"
    if isinstance(event, DocumentEvent):
        return "document"
    if isinstance(event, MessageEvent):
        return {"user": "user", "tool": "tool"}.get(event.role, "agent")
    return "agent"


class EventTimes(NamedTuple):
    """When the described event begins and ends, UTC; None if unknown."""

    start: datetime | None
    end: datetime | None
    guessed: bool = False
    """The day follows from a default and not from the words."""


def event_times(event: Event, text: str, occurred_at: datetime) -> EventTimes:
    """When the described event happens: the times of `event`, else a time expression of the text.

    That is the one that takes the place of another ("new date is 4 May"), else the first that is not denied.

    "Next April" is resolved relative to `occurred_at`, in its zone. `helix_shared.calendar_days` defines the
    meaning of a span. A date whose year or week is unclear gives no time, but for a day of a month in a turn.
    """
    start: datetime | None = getattr(event, "event_start", None)
    end: datetime | None = getattr(event, "event_end", None)
    if start is not None or end is not None:
        return EventTimes(start, end)
    return _time_of(text[:4_000], occurred_at, occurred_at.utcoffset(), isinstance(event, MessageEvent))


@functools.lru_cache(_SCORED_TEXTS)
def _time_of(
    text: str,
    occurred_at: datetime,
    _offset: timedelta | None,
    is_turn: bool,
) -> EventTimes:
    """The time of a text. The offset is a cache key: equal instants can be different days."""
    meant = meant_time(text, occurred_at, is_turn=is_turn)
    return (
        EventTimes(meant.start, meant.end, meant.certainty == "guessed") if meant else EventTimes(None, None)
    )
