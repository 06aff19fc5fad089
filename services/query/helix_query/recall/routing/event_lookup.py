"""The look-up of stage 2: which memories hold the words for an event, and when they happened.

One lexical search for three memories of the caller's selection, and their texts; `routing.anchors`
judges what comes back.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Final

from helix_query.recall.routing.anchors import DatedMemory, EventMatches
from helix_shared.artifacts.lexicon.analysis import rarity, stems
from helix_shared.artifacts.lexicon.query import FieldWeights
from helix_shared.artifacts.signals.columns import NO_TIME
from helix_shared.calendar_days import dates_of, midnight
from helix_shared.moments import moment_of

if TYPE_CHECKING:
    from helix_query.recall.visibility import Visibility
    from helix_shared.artifacts.lexicon.reader import LexiconReader
    from helix_shared.artifacts.lexicon.scopes import OpenScopes
    from helix_shared.artifacts.signals.reader import Signals

LIMIT: Final = 3
TEXT_ALONE: Final = FieldWeights(text=1.0, context=0.0, expansions=0.0, exact=0.0)
COMMON_SHARE: Final = 0.03
COMMON_COUNT: Final = 20
"""A word in more than this share of what the caller sees, and in so many or half of a few, tells nothing."""
TEXT_CHARACTERS: Final = 4_000
"""Of a memory; an event stands in its beginning or the memory is not about it."""
_DAY: Final = timedelta(days=1)


def look_up_event(
    phrase: str, view: Visibility, *, lexicon: LexiconReader, now: datetime, zone: tzinfo | None = None
) -> EventMatches:
    """The three memories in sight that best hold `phrase`, and how rare its words are.

    What happened at a moment counts as its day in `zone`, or in UTC.

    Nothing is searched for a phrase of common words alone, or with a rare word that no memory holds.
    """
    weights, rare_words = _rarity(phrase, lexicon, lexicon.scopes(view.selection))
    if not rare_words:
        return EventMatches(weights)
    hits = lexicon.search(rare_words, view.selection, limit=LIMIT, weights=TEXT_ALONE)
    lines = view.signals.lines(hits.ordinals[view.alive(hits.ordinals)])
    dated = [_dated(line, view.signals, zone or UTC) for line in lines]
    return EventMatches(weights, [memory for memory in dated if memory.start <= now])


def _rarity(phrase: str, lexicon: LexiconReader, scopes: OpenScopes) -> tuple[dict[str, float], str]:
    """Rarity of the words that are not common, and those words as written.

    No words to search for when one of them is in no memory: then none can hold them all.
    """
    count = scopes.size
    most = max(COMMON_SHARE * count, min(COMMON_COUNT, count / 2))
    written = {term: word for word in phrase.split() for term in lexicon.terms(word, scopes)}
    frequency = {term: scopes.holding("text", term) for term in written}
    rare = {term: number for term, number in frequency.items() if number <= most}
    weights = {term: rarity(number, count) for term, number in rare.items()}
    words = dict.fromkeys(written[term] for term in rare) if all(rare.values()) else ()
    return weights, " ".join(words)


def _dated(line: dict[str, Any], signals: Signals, zone: tzinfo) -> DatedMemory:
    """When a memory happened, or the time it speaks of where that is known, widened to days of `zone`."""
    text = line["text"][:TEXT_CHARACTERS]
    place = line["ordinal"]
    spoken, last = int(signals.event_start[place]), int(signals.event_end[place])
    start = moment_of(int(signals.occurred_at[place]) if spoken == NO_TIME else spoken)
    end = None if NO_TIME in (spoken, last) else moment_of(last)
    return DatedMemory(frozenset(stems(text)), *_days(start, end, zone))


def _days(start: datetime, end: datetime | None, zone: tzinfo) -> tuple[datetime, datetime]:
    """Whole days as the same dates of `zone`; else from the day in it that holds the start to the end.

    What ends within that day counts as all of it.
    """
    dates = dates_of(start, end, zone)
    if dates is not None:
        return midnight(dates[0], zone), midnight(dates[1], zone)
    day = start.astimezone(zone).date()
    after = midnight(day + _DAY, zone)
    return midnight(day, zone), after if end is None else max(end, after)
