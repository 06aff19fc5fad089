"""Stage 1: the query as a vector, and as the states of its tokens where the profile compares them.

One run of the model gives both. Where the profile has it, a query adapter (`recall.query_adapter`) then moves
them towards what answers such questions; routing compares questions with questions, so it keeps the vector of
the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from helix_query.recall.context import RecallContext
    from helix_shared.encoders.token_codes import QueryTokens


@dataclass(frozen=True, slots=True)
class EmbeddedQuery:
    """What stage 1 made of the query."""

    vector: NDArray[np.float32]
    """Unit vector [dimensions] that memories are compared with."""
    plain: NDArray[np.float32]
    """The same without the query adapter; questions are compared with it."""
    tokens: QueryTokens | None = None
    """None: the ranking profile compares no tokens."""


def embed(context: RecallContext) -> EmbeddedQuery:
    """The query of `context` by the model of the generation."""
    encoder, text, profile = context.snapshot.encoder, context.query.text, context.profile
    adapter = context.adapter.value.adapter
    if not profile.rerank.candidates:
        plain = encoder.embed_query(text)
        return EmbeddedQuery(plain if adapter is None else adapter.vector(plain), plain)
    tokens = encoder.embed_query_tokens(text)
    adapted = tokens if adapter is None else adapter.tokens(tokens)
    return EmbeddedQuery(adapted.vector, tokens.vector, adapted)
