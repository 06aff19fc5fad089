"""Time windows from an event instead of a date: "before the migration", "two weeks after she moved".

`anchor_of` reads the relation and the words for the event. `event_lookup` finds memories that contain
those words. `anchored_window` takes the time of a memory that contains nearly all of the rare ones.
Without such a memory, or if several disagree, there is no window: a wrong window is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from helix_query.recall.query_text import read_query
from helix_shared.timex import EARLIEST, LATEST

MIN_COVERAGE: Final = 0.85
"""Share of the phrase's rarity that a memory must contain to date the event."""
MAX_SPREAD: Final = timedelta(days=14)
"""Memories that match the phrase must be this close in time, else they are different events."""
MAX_WORDS: Final = 9
"""Words of a phrase that are looked up."""

_COUNTS: Final = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "a few": 3,
    "a couple of": 2,
}  # fmt: skip
_UNITS: Final = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "year": 365}
_BEFORE: Final = frozenset(["before", "prior to", "until", "till"])
_AFTER: Final = frozenset(["after", "following", "since"])

_ANCHOR: Final = re.compile(
    r"\b(?:(?P<distance>(?:the|(?P<count>a few|a couple of|an?|one|two|three|four|five|six|\d{1,3})) "
    r"(?P<unit>day|week|fortnight|month|year)s?) )?"
    r"(?P<relation>before|prior to|after|following|since|until|till|during|at the time of|around the time of|"
    r"by the time of|as of)\b (?P<phrase>[^?!.;:,\n]{3,160})",
    re.IGNORECASE,
)
_OPENS_AN_EVENT: Final = re.compile(
    r"(?:the|our|my|his|her|their|its|your|an?|that|we|i|he|she|they|it|you)\b|[A-Z][\w.-]*(?:'s?)?\b|"
    r"\w{3,}ing\b|\w+'s\b",
)
_ENDS_AN_EVENT: Final = re.compile(
    r"\s(?:did|do|does|what|who|which|where|how|why|and (?:what|who|which|where|how|why|did|is|was)|"
    r"compared|versus|vs)\b.*",
    re.IGNORECASE,
)
_NOT_AN_EVENT: Final = re.compile(
    r"(?:all|that|this|it|them|then|now|the (?:fact|first|last|same|end|start|beginning)|an? (?:while|long|"
    r"moment|bit))$",
    re.IGNORECASE,
)

Terms = Mapping[str, float]
"""Rarity of each analysed word of a phrase, without common words."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A relation to an event ("before"), and the words for the event."""

    relation: str
    phrase: str
    distance: timedelta | None = None
    """Distance from the event, as in "two weeks before X"."""


@dataclass(frozen=True, slots=True)
class DatedMemory:
    """A memory that may tell the event: its analysed words, and when it happened, [start, end)."""

    terms: frozenset[str]
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class EventMatches:
    """Result of looking up a phrase: memories by lexical score, best first."""

    rarity: Terms
    memories: Sequence[DatedMemory] = ()


EventLookup = Callable[[str], EventMatches]


def anchor_of(query: str) -> Anchor | None:
    """The first event in the query that dates it; None for most queries."""
    text = read_query(query)
    for found in _ANCHOR.finditer(text):
        phrase = _ENDS_AN_EVENT.sub("", found["phrase"]).strip()
        if _OPENS_AN_EVENT.match(phrase) and not _NOT_AN_EVENT.match(phrase):
            return Anchor(found["relation"].lower(), " ".join(phrase.split()[:MAX_WORDS]), _distance(found))
    return None


def _distance(found: re.Match[str]) -> timedelta | None:
    if not found["distance"]:
        return None
    count = (found["count"] or "one").lower()
    return timedelta(days=_UNITS[found["unit"].lower()] * (_COUNTS.get(count) or int(count)))


def anchored_window(
    anchor: Anchor, found: EventMatches, *, now: datetime
) -> tuple[datetime, datetime] | None:
    """The window [start, end) of an anchor; None if no memory clearly describes the event."""
    event = _event_of(found)
    if event is None:
        return None
    window = _window_around(anchor, *event, now=now)
    return window if window[0] < window[1] else None


def _event_of(found: EventMatches) -> tuple[datetime, datetime] | None:
    """Time of the best memory that covers the phrase, if all that cover it agree within `MAX_SPREAD`."""
    whole = sum(found.rarity.values())
    if whole <= 0:
        return None
    matching = [memory for memory in found.memories if _covered(memory, found.rarity) >= MIN_COVERAGE * whole]
    if not matching:
        return None
    best = matching[0]
    agreed = all(abs(other.start - best.start) <= MAX_SPREAD for other in matching[1:])
    return (best.start, best.end) if agreed else None


def _covered(memory: DatedMemory, rarity: Terms) -> float:
    return sum(weight for term, weight in rarity.items() if term in memory.terms)


def _window_around(
    anchor: Anchor, start: datetime, end: datetime, *, now: datetime
) -> tuple[datetime, datetime]:
    """The window of a relation to an event [start, end).

    "before" and "after" both include the event: its consequences are mostly described together with it.
    """
    if anchor.relation in _BEFORE:
        return (EARLIEST if anchor.distance is None else _moved(start, -anchor.distance)), end
    if anchor.relation == "since":
        return start, now
    if anchor.relation in _AFTER:
        return start, (LATEST if anchor.distance is None else _moved(end, anchor.distance))
    return start, end


def _moved(moment: datetime, distance: timedelta) -> datetime:
    try:
        return moment + distance
    except OverflowError:
        return EARLIEST if distance < timedelta() else LATEST
