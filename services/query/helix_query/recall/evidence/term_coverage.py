"""Term coverage: visible memories whose text holds most of the query's words.

BM25 lets one rare word repeated outweigh the rest; a query for the value of a setting needs all of its words.
Searched for with the intent `current_value` only; stage 6 puts the latest of these memories first.

One word is not the words of the query, however rare it is: "my brother lives with his boss" does not answer
"where do I live?". So a memory must hold several.
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

DEEPER: Final = (1, 4, 16)
"""Multiples of the limit that are asked for, one after the other, while later memories take the places."""
SEVERAL: Final = 3
"""Words of the query that a memory must hold."""
TWO: Final = 2
MOST: Final = 0.8
"""Share of the query from which on `TWO` words are enough."""


def term_coverage(
    words: str,
    visibility: Visibility,
    *,
    lexicon: LexiconReader,
    limit: int,
    happened_by: int,
    within: OrdinalSet | None = None,
) -> Hits:
    """Up to `limit` memories that had happened by `happened_by` (microseconds), best covered first.

    The score is the covered share of the words that any memory holds, each weighted by its rarity, 0 to 1.
    `within` as in `LexiconReader`.
    """
    kept = Hits.none()
    for times in DEEPER:
        hits = lexicon.term_coverage(words, visibility.selection, limit=limit * times, within=within)
        valid = visibility.is_valid_and_happened(hits.ordinals, happened_by)
        kept = Hits(hits.ordinals[valid][:limit], hits.scores[valid][:limit])
        if len(kept) == limit or len(hits) < limit * times:
            break
    return kept


def of_several_words(hits: Hits, words: QueryWords, *, min_coverage: float) -> Hits:
    """`hits` without those that hold too few of `words`: fewer than `SEVERAL`, or `TWO` that are not `MOST`.

    Hits below `min_coverage` stay, since they state no value; their texts are not read.
    """
    read = np.flatnonzero(hits.scores >= min_coverage)
    if not len(read):
        return hits
    held = words.held(hits.ordinals[read]).sum(axis=1)
    few = (held < TWO) | ((held < SEVERAL) & (hits.scores[read] < MOST))
    kept = np.delete(np.arange(len(hits)), read[few])
    return Hits(hits.ordinals[kept], hits.scores[kept])
