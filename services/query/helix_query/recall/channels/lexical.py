"""The lexical channel: BM25 over text, context, expansions and exact tokens of living memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_query.recall.columns import NONE
from helix_query.recall.visibility import seen_hits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from helix_query.recall.visibility import Visibility
    from helix_shared.artifacts.hits import Hits
    from helix_shared.artifacts.lexicon.query import FieldWeights, OrdinalSet
    from helix_shared.artifacts.lexicon.reader import LexiconReader


def lexical(
    query: str,
    view: Visibility,
    *,
    lexicon: LexiconReader,
    limit: int,
    weights: FieldWeights,
    known: OrdinalSet | None = None,
    already: NDArray[np.int64] = NONE,
) -> Hits:
    """Up to `limit` memories in sight, best first; the score is BM25.

    Those of `already` come on top of the limit. Of a past moment among the `known`. The lexicon holds the
    latest versions only, so what was superseded since is for the dense channel to find.
    """
    return seen_hits(
        lambda count: lexicon.search(query, view.selection, limit=count, weights=weights, within=known),
        view.alive,
        limit=limit,
        already=already,
    )
