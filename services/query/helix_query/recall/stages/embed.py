"""Stage 1: the query as a vector, and as the states of its tokens where the profile compares them.

One run of the model gives both. Where the profile has it, a query adapter (`recall.query_adapter`) then moves
them towards what answers such questions; routing compares questions with questions, so it keeps the vector of
the model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_query.recall.query_text import read_query
from helix_query.recall.routing.rules import REQUESTS, is_question
from helix_shared.text.apostrophes import with_apostrophes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from helix_query.recall.context import RecallContext
    from helix_shared.encoders.token_codes import QueryTokens

_HEADING: Final = re.compile(rf"\s*(?:how to|{REQUESTS})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class EmbeddedQuery:
    """The query after stage 1."""

    vector: NDArray[np.float32]
    """Unit vector [dimensions] that memories are compared with."""
    plain: NDArray[np.float32]
    """The same without the query adapter; questions are compared with it."""
    tokens: QueryTokens | None = None
    """None: the ranking profile compares no tokens."""


def embed(context: RecallContext) -> EmbeddedQuery:
    """The query of `context` by the model of the generation."""
    encoder, text, profile = context.snapshot.encoder, embedded_text(context.query.text), context.profile
    adapter = context.adapter.value.adapter
    if not profile.rerank.candidates:
        plain = encoder.embed_query(text)
        return EmbeddedQuery(plain if adapter is None else adapter.vector(plain), plain)
    tokens = encoder.embed_query_tokens(text)
    adapted = tokens if adapter is None else adapter.tokens(tokens)
    return EmbeddedQuery(adapted.vector, tokens.vector, adapted)


def embedded_text(query: str) -> str:
    """The query as the model reads it: a question in full, with apostrophes and its mark.

    The model puts "whats the rent" further from its answer than "what's the rent?". A heading ("how to sort a
    list") and a request ("pick up from school") are no questions.
    """
    is_marked = not query.rstrip()[-1:].isalnum()
    if is_marked or _HEADING.match(query) or not is_question(read_query(query)):
        return query
    return f"{with_apostrophes(query).rstrip()}?"
