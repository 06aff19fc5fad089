"""Term coverage: visible memories whose text holds most of the query's words.

BM25 lets one rare word repeated outweigh the rest; a query for the value of a setting needs all of its words.
Searched for with the intent `current_value` only; stage 6 puts the latest of these memories first.

One word alone is not enough, however rare it is: "my brother lives with his boss" does not answer "where do I
live?".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from helix_shared.artifacts.hits import Hits

if TYPE_CHECKING:
    from helix_query.recall.query_words import QueryWords
    from helix_query.recall.visibility import Visibility
    from helix_shared.artifacts.lexicon.query import OrdinalSet
    from helix_shared.artifacts.lexicon.reader import LexiconReader

OVERFETCH_FACTORS: Final = (1, 4, 16)
"""Multiples of the limit that are asked for, one after the other, while too few hits had happened by then."""
MIN_WORDS: Final = 3
"""Words of the query that a memory must hold, unless `MIN_WORDS_COVERING` are most of the query."""
MIN_WORDS_COVERING: Final = 2
MIN_COVERED_SHARE: Final = 0.8
"""Covered share of the query from which `MIN_WORDS_COVERING` words are enough."""


def term_coverage(
    words: str,
    visibility: Visibility,
    *,
    lexicon: LexiconReader,
    limit: int,
    occurred_until: int,
    within: OrdinalSet | None = None,
) -> Hits:
    """Up to `limit` memories that had happened by `occurred_until` (microseconds), best covered first.

    The score is the covered share of the words that any memory holds, each weighted by its rarity, 0 to 1.
    `within` as in `LexiconReader`.
    """
    kept = Hits.none()
    for times in OVERFETCH_FACTORS:
        hits = lexicon.term_coverage(words, visibility.selection, limit=limit * times, within=within)
        valid = visibility.is_valid_and_occurred(hits.ordinals, occurred_until)
        kept = Hits(hits.ordinals[valid][:limit], hits.scores[valid][:limit])
        if len(kept) == limit or len(hits) < limit * times:
            break
    return kept


def without_low_coverage(hits: Hits, words: QueryWords, *, min_coverage: float) -> Hits:
    """`hits` without those that hold too few of `words`: see `MIN_WORDS`.

    Hits below `min_coverage` stay, since they state no value; their texts are not read.
    """
    read = np.flatnonzero(hits.scores >= min_coverage)
    if not len(read):
        return hits
    held = words.held(hits.ordinals[read]).sum(axis=1)
    few = (held < MIN_WORDS_COVERING) | ((held < MIN_WORDS) & (hits.scores[read] < MIN_COVERED_SHARE))
    kept = np.delete(np.arange(len(hits)), read[few])
    return Hits(hits.ordinals[kept], hits.scores[kept])
