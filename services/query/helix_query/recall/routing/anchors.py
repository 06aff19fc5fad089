"""Times told by an event instead of a date: "before the migration", "two weeks after she moved".

`anchor_of` reads the relation and the words for the event; a probe looks those up among the memories
the caller may recall; `anchored_window` takes the time of a memory that holds nearly all of the rare
ones. Where none does, or several disagree, there is no window: a wrong time is worse than none.
`helix_query.recall.routing.event_lookup` makes the probe, `stages.route` asks it, once at most.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from helix_shared.timex import EARLIEST, LATEST

LEAST_COVERED: Final = 0.85
"""Share of the phrase's rarity that the dating memory must hold."""
AGREE_WITHIN: Final = timedelta(days=14)
"""Memories that hold the phrase equally well must lie this close, or the event is not one event."""
MOST_WORDS: Final = 9
"""Words of a phrase that are looked up."""

_COUNTS: Final = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "a few": 3,
    "a couple of": 2,
}  # fmt: skip
_UNITS: Final = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "year": 365}
_AHEAD: Final = frozenset(["before", "prior to", "until", "till"])
_BEHIND: Final = frozenset(["after", "following", "since"])

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
"""How rare each analysed word of a phrase is; words that all memories share are left out."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """How a time hangs on an event, and the words for the event."""

    relation: str
    phrase: str
    distance: timedelta | None = None
    """Of "two weeks before X": how far from X."""


@dataclass(frozen=True, slots=True)
class DatedMemory:
    """A memory that may be the event: which words of the phrase it holds, and when it happened."""

    terms: frozenset[str]
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class EventMatches:
    """What a look-up of a phrase found, best first."""

    rarity: Terms
    memories: Sequence[DatedMemory] = ()


EventLookup = Callable[[str], EventMatches]


def anchor_of(query: str) -> Anchor | None:
    """The event a query dates itself by; None for most queries."""
    text = " ".join(query[:600].replace("\u2019", "'").split())
    for found in _ANCHOR.finditer(text):
        phrase = _ENDS_AN_EVENT.sub("", found["phrase"]).strip()
        if _OPENS_AN_EVENT.match(phrase) and not _NOT_AN_EVENT.match(phrase):
            return Anchor(found["relation"].lower(), " ".join(phrase.split()[:MOST_WORDS]), _distance(found))
    return None


def _distance(found: re.Match[str]) -> timedelta | None:
    if not found["distance"]:
        return None
    count = (found["count"] or "one").lower()
    return timedelta(days=_UNITS[found["unit"].lower()] * (_COUNTS.get(count) or int(count)))


def anchored_window(
    anchor: Anchor, found: EventMatches, *, now: datetime
) -> tuple[datetime, datetime] | None:
    """The window [start, end) an anchor means; None when no memory surely is the event."""
    event = _event_of(found)
    if event is None:
        return None
    window = _hung_on(anchor, *event, now=now)
    return window if window[0] < window[1] else None


def _event_of(found: EventMatches) -> tuple[datetime, datetime] | None:
    """When the event happened: of the memories that cover the phrase the best, if they agree."""
    whole = sum(found.rarity.values())
    if whole <= 0:
        return None
    covering = [
        memory for memory in found.memories if _covered(memory, found.rarity) >= LEAST_COVERED * whole
    ]
    if not covering:
        return None
    best = covering[0]
    agreed = all(abs(other.start - best.start) <= AGREE_WITHIN for other in covering[1:])
    return (best.start, best.end) if agreed else None


def _covered(memory: DatedMemory, rarity: Terms) -> float:
    return sum(weight for term, weight in rarity.items() if term in memory.terms)


def _hung_on(anchor: Anchor, start: datetime, end: datetime, *, now: datetime) -> tuple[datetime, datetime]:
    """The event's own time belongs to both sides: what came of it is mostly told with it."""
    if anchor.relation in _AHEAD:
        return (EARLIEST if anchor.distance is None else _moved(start, -anchor.distance)), end
    if anchor.relation == "since":
        return start, now
    if anchor.relation in _BEHIND:
        return start, (LATEST if anchor.distance is None else _moved(end, anchor.distance))
    return start, end


def _moved(moment: datetime, distance: timedelta) -> datetime:
    try:
        return moment + distance
    except OverflowError:
        return EARLIEST if distance < timedelta() else LATEST
