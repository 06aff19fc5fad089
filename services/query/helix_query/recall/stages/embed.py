"""Stage 1: the query as a vector, and as the states of its tokens where the profile compares them.

One run of the model gives both.
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
    """Unit vector [dimensions]."""
    tokens: QueryTokens | None = None
    """None: the ranking profile compares no tokens."""


def embed(context: RecallContext) -> EmbeddedQuery:
    """The query of `context` by the model of the generation."""
    encoder, text = context.snapshot.encoder, context.query.text
    if not context.profile.rerank.candidates:
        return EmbeddedQuery(encoder.embed_query(text))
    tokens = encoder.embed_query_tokens(text)
    return EmbeddedQuery(tokens.vector, tokens)
