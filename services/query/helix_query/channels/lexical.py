"""The lexical channel: BM25 over text, context, expansions and exact tokens of living memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_query.columns import NONE, living_hits

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from helix_shared.artifacts.lexicon import FieldWeights, LexiconReader, OrdinalSet
    from helix_shared.artifacts.ranking import Hits
    from helix_shared.artifacts.selection import Selection
    from helix_shared.artifacts.signals import Signals
    from helix_shared.artifacts.versions import Versions


def lexical(
    query: str,
    selection: Selection,
    *,
    lexicon: LexiconReader,
    signals: Signals,
    limit: int,
    weights: FieldWeights,
    now: datetime,
    past: Versions | None = None,
    known: OrdinalSet | None = None,
    already: NDArray[np.int64] = NONE,
) -> Hits:
    """Up to `limit` memories of the selection, best first; the score is BM25.

    Those of `already` come on top of the limit. With `past` as of `now`: among the `known`. The lexicon
    holds the latest versions only, so what was superseded since is for the dense channel to find.
    """
    return living_hits(
        lambda count: lexicon.search(query, selection, limit=count, weights=weights, within=known),
        signals,
        limit=limit,
        now=now,
        past=past,
        already=already,
    )
