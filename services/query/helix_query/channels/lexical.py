"""The lexical channel: BM25 over text, context, expansions and exact tokens of living memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_query.columns import living_hits

if TYPE_CHECKING:
    from datetime import datetime

    from helix_shared.artifacts.lexicon import FieldWeights, LexiconReader
    from helix_shared.artifacts.ranking import Hits
    from helix_shared.artifacts.selection import Selection
    from helix_shared.artifacts.signals import Signals


def lexical(
    query: str,
    selection: Selection,
    *,
    lexicon: LexiconReader,
    signals: Signals,
    limit: int,
    weights: FieldWeights,
    now: datetime,
) -> Hits:
    """Up to `limit` memories of the selection, best first; the score is BM25."""
    return living_hits(
        lambda count: lexicon.search(query, selection, limit=count, weights=weights),
        signals,
        limit=limit,
        now=now,
    )
