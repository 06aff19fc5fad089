"""Term coverage: visible memories whose text holds most of the query's words.

BM25 lets one rare word repeated outweigh the rest; a query for the value of a setting needs all of its words.
Searched for with the intent `current_value` only; stage 6 puts the latest of these memories first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_shared.artifacts.hits import Hits

if TYPE_CHECKING:
    from helix_query.recall.visibility import Visibility
    from helix_shared.artifacts.lexicon.query import OrdinalSet
    from helix_shared.artifacts.lexicon.reader import LexiconReader

DEEPER: Final = (1, 4, 16)
"""Multiples of the limit that are asked for, one after the other, while later memories take the places."""


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
        valid = visibility.is_valid_at(hits.ordinals)
        valid &= visibility.signals.occurred_at[hits.ordinals] <= happened_by
        kept = Hits(hits.ordinals[valid][:limit], hits.scores[valid][:limit])
        if len(kept) == limit or len(hits) < limit * times:
            break
    return kept
