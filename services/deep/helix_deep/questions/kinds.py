"""Stages that ask the language model, and kinds of questions, which are asked about in different words."""

from __future__ import annotations

from typing import Final

UNDERSTAND: Final = "understand"
SYNTHESISE: Final = "synthesise"
MULTI_QUERY: Final = "multi_query"
HYDE: Final = "hyde"
QUERY2DOC: Final = "query2doc"
RERANK: Final = "rerank"
REWRITES: Final = (SYNTHESISE, MULTI_QUERY, HYDE, QUERY2DOC)
"""Stages that give texts to search with."""
MODEL_STAGES: Final = (UNDERSTAND, *REWRITES, RERANK)

PLAIN: Final = "plain"
TEMPORAL: Final = "temporal"
PREFERENCE: Final = "preference"
AGGREGATION: Final = "aggregation"
KINDS: Final = (PLAIN, TEMPORAL, PREFERENCE, AGGREGATION)
KIND_OF_INTENT: Final = {
    "temporal": TEMPORAL,
    "when": TEMPORAL,
    "preference": PREFERENCE,
    "aggregation": AGGREGATION,
}
"""Kinds that the router of the query service tells."""
