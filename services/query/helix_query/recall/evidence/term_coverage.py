"""Who speaks of the very thing: living memories whose text holds most of the question's words.

BM25 lets one rare word repeated outweigh the rest; a question for the value of a setting wants them
all. Asked for `current_value` only; stage 6 puts the latest of these first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_shared.artifacts.hits import Hits

if TYPE_CHECKING:
    from helix_query.recall.visibility import Visibility
    from helix_shared.artifacts.lexicon.query import OrdinalSet
    from helix_shared.artifacts.lexicon.reader import LexiconReader

DEEPER: Final = (1, 4, 16)
"""How many times `limit` is asked for, one after the other, while what happened later takes the places."""


def covering(
    words: str,
    view: Visibility,
    *,
    lexicon: LexiconReader,
    limit: int,
    happened_by: int,
    known: OrdinalSet | None = None,
) -> Hits:
    """Up to `limit` memories that had happened by `happened_by` (microseconds); the score is the coverage.

    1 is every word that any memory holds, each by its rarity. `known` as in `lexical`.
    """
    kept = Hits.none()
    for times in DEEPER:
        hits = lexicon.term_coverage(words, view.selection, limit=limit * times, within=known)
        living = view.alive(hits.ordinals)
        living &= view.signals.occurred_at[hits.ordinals] <= happened_by
        kept = Hits(hits.ordinals[living][:limit], hits.scores[living][:limit])
        if len(kept) == limit or len(hits) < limit * times:
            break
    return kept
