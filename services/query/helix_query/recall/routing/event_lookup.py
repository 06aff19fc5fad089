"""Looks up an event by its words: one lexical search of what the caller may see, and the texts found.

`anchors` decides whether a memory found is the event.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_query.recall.routing.anchors import DatedMemory, EventMatches
from helix_query.recall.visibility import visible_hits
from helix_shared.artifacts.lexicon.analysis import idf, stems
from helix_shared.artifacts.lexicon.query import FieldWeights
from helix_shared.artifacts.signals.columns import NO_TIME
from helix_shared.calendar_days import dates_of, midnight
from helix_shared.moments import MICROSECONDS_PER_DAY, microseconds, moment_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.visibility import Visibility
    from helix_shared.artifacts.lexicon.reader import LexiconReader
    from helix_shared.artifacts.lexicon.scopes import OpenScopes
    from helix_shared.artifacts.signals.reader import Signals

LIMIT: Final = 3
"""Memories that are returned."""
TEXT_ONLY: Final = FieldWeights(text=1.0, context=0.0, expansions=0.0, exact=0.0)
COMMON_SHARE: Final = 0.03
COMMON_COUNT: Final = 20
"""A word is common above this share of the visible memories, and above this count or half of them."""
TEXT_CHARACTERS: Final = 4_000
"""Characters of a memory that are read; a memory about an event names it there."""
_DAY: Final = timedelta(days=1)


def look_up_event(
    phrase: str, visibility: Visibility, *, lexicon: LexiconReader, now: datetime, zone: tzinfo | None = None
) -> EventMatches:
    """The `LIMIT` visible memories that best match `phrase`, and the rarity of its words.

    A moment counts as its whole day in `zone`, UTC when absent. Memories after `now` are left out. Nothing
    is searched if all words are common, or if no memory contains one of the rare ones.
    """
    weights, rare_words = _rarity(phrase, lexicon, lexicon.scopes(visibility.selection))
    if not rare_words:
        return EventMatches(weights)
    hits = visible_hits(
        lambda count: lexicon.search(rare_words, visibility.selection, limit=count, weights=TEXT_ONLY),
        lambda ordinals: (
            visibility.is_valid_at(ordinals) & _may_have_begun(ordinals, visibility.signals, now)
        ),
        limit=LIMIT,
    )
    lines = visibility.signals.records(hits.ordinals)
    dated = [_dated(line, visibility.signals, zone or UTC) for line in lines]
    return EventMatches(weights, [memory for memory in dated if memory.start <= now])


def _may_have_begun(ordinals: NDArray[np.int64], signals: Signals, now: datetime) -> NDArray[np.bool_]:
    """Which memories tell a time up to `now`, or a day later: a moment counts as its whole day."""
    spoken = signals.event_start[ordinals]
    begun: NDArray[np.bool_] = (
        np.where(spoken == NO_TIME, signals.occurred_at[ordinals], spoken)
        <= microseconds(now) + MICROSECONDS_PER_DAY
    )
    return begun


def _rarity(phrase: str, lexicon: LexiconReader, scopes: OpenScopes) -> tuple[dict[str, float], str]:
    """Rarity of the words that are not common, and those words as written.

    The words are empty if one of them is in no memory: then no memory can contain them all.
    """
    count = scopes.size
    limit = max(COMMON_SHARE * count, min(COMMON_COUNT, count / 2))
    written = {term: word for word in phrase.split() for term in lexicon.terms(word, scopes)}
    frequency = {term: scopes.document_frequency("text", term) for term in written}
    rare = {term: number for term, number in frequency.items() if number <= limit}
    weights = {term: idf(number, count) for term, number in rare.items()}
    words = dict.fromkeys(written[term] for term in rare) if all(rare.values()) else ()
    return weights, " ".join(words)


def _dated(line: dict[str, Any], signals: Signals, zone: tzinfo) -> DatedMemory:
    """The time a memory mentions, else when it occurred, widened to days of `zone`."""
    text = line["text"][:TEXT_CHARACTERS]
    place = line["ordinal"]
    spoken, last = int(signals.event_start[place]), int(signals.event_end[place])
    start = moment_of(int(signals.occurred_at[place]) if spoken == NO_TIME else spoken)
    end = None if NO_TIME in (spoken, last) else moment_of(last)
    return DatedMemory(frozenset(stems(text)), *_days(start, end, zone))


def _days(start: datetime, end: datetime | None, zone: tzinfo) -> tuple[datetime, datetime]:
    """From the midnight in `zone` before `start` to `end`, at least that whole day.

    A span of whole days keeps its dates in every zone.
    """
    dates = dates_of(start, end, zone)
    if dates is not None:
        return midnight(dates[0], zone), midnight(dates[1], zone)
    day = start.astimezone(zone).date()
    after = midnight(day + _DAY, zone)
    return midnight(day, zone), after if end is None else max(end, after)
