"""Stage 6b: the query is compared with the first candidates of stage 6, which orders them again.

Late interaction comes first; then a cross-encoder, where the profile names one, with the first of the new
order. Both are steps of the score before those of a memory's life, so that what is current still goes first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.metrics import RECALL_DEGRADED
from helix_query.recall.candidates import LateInteraction
from helix_query.recall.evidence.cross_encoding import (
    DEGRADED_CROSS_ENCODER,
    cross_encoding,
    is_cross_encoded,
)
from helix_query.recall.evidence.late_interaction import nearest_tokens, similarities, word_similarities
from helix_query.recall.query_words import rarity_of
from helix_query.recall.stages.rank import best_first, score
from helix_shared.artifacts.lexicon.analysis import stems

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.candidates import Candidates, Ranked, Route
    from helix_query.recall.context import RecallContext
    from helix_shared.encoders.token_codes import QueryTokens

MIN_COMPARED: Final = 2
"""Candidates that can be compared with each other."""
MOST_WORDS: Final = 32
"""Words of a query that are compared; a pasted text has more."""


def rerank(
    context: RecallContext, candidates: Candidates, ranked: Ranked, tokens: QueryTokens | None, route: Route
) -> tuple[Candidates, Ranked]:
    """The candidates with their comparisons and their new order; unchanged where none is wanted."""
    candidates, ranked = _with_late_interaction(context, candidates, ranked, tokens, route)
    return _with_cross_encoder(context, candidates, ranked, route)


def _with_late_interaction(
    context: RecallContext, candidates: Candidates, ranked: Ranked, tokens: QueryTokens | None, route: Route
) -> tuple[Candidates, Ranked]:
    constants = context.profile.rerank
    weight = constants.weight_for(route.intents)
    if tokens is None or not weight or context.query.mode == "dense":
        return candidates, ranked
    late = late_interaction(context, candidates, ranked.first(constants.candidates), tokens, weight)
    if late is None:
        return candidates, ranked
    compared = replace(candidates, late_interaction=late)
    return compared, best_first(compared, score(context, compared, route))


def _with_cross_encoder(
    context: RecallContext, candidates: Candidates, ranked: Ranked, route: Route
) -> tuple[Candidates, Ranked]:
    if not is_cross_encoded(context, route):
        return candidates, ranked
    cross = cross_encoding(context, candidates, ranked, route)
    if cross is None:
        RECALL_DEGRADED.labels(DEGRADED_CROSS_ENCODER).inc()
        return replace(candidates, degraded=(*candidates.degraded, DEGRADED_CROSS_ENCODER)), ranked
    if not len(cross.positions):
        return candidates, ranked
    compared = replace(candidates, cross_encoding=cross)
    return compared, best_first(compared, score(context, compared, route))


def late_interaction(
    context: RecallContext, candidates: Candidates, first: Ranked, tokens: QueryTokens, weight: float
) -> LateInteraction | None:
    """Late interaction with the candidates in `first` that have tokens.

    None where no word of the query counts, or fewer than `MIN_COMPARED` candidates have tokens.
    """
    words, rows, word_of_state = asked_words(context, tokens)
    if not words:
        return None
    positions, states = np.sort(first.positions), tokens.states[rows]
    codes, ends = context.generation.signals.token_codes(candidates.ordinals[positions])
    best, filled = nearest_tokens(similarities(states, codes), ends)
    if len(filled) < MIN_COMPARED:
        return None
    return LateInteraction(
        positions[filled],
        tuple(words),
        np.array([*words.values()], np.float64),
        word_similarities(best, word_of_state, len(words)),
        weight,
        states,
        word_of_state,
    )


def asked_words(
    context: RecallContext, tokens: QueryTokens
) -> tuple[dict[str, float], NDArray[np.int64], NDArray[np.int64]]:
    """Rarity of the words of the query that count, rows of their states, and the word of each of these rows.

    A word counts if it has an analysed form, which function words have not. Its rarity is that of the rarest
    form. Of more than `MOST_WORDS` words the rarest count.
    """
    scopes = context.generation.lexicon.scopes(context.query.selection)
    written = [tokens.text[start:end] for start, end in tokens.words.tolist()]
    forms = {word: stems(word) for word in dict.fromkeys(written)}
    found = {word: max(rarity_of(one, scopes) for one in some) for word, some in forms.items() if some}
    rarest = set(sorted(found, key=lambda word: -found[word])[:MOST_WORDS])
    words = {word: rarity for word, rarity in found.items() if word in rarest}
    place = {word: number for number, word in enumerate(words)}
    rows = [row for row, word in enumerate(written) if word in place]
    return words, np.array(rows, np.int64), np.array([place[written[row]] for row in rows], np.int64)
