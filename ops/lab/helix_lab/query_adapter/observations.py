"""What a fit of the query adapter knows of a question: its embedding and those of what a search found for it.

The candidates are those of all channels and the relevant memories, without the adapter. They do not change
while it is fitted: what matters are the memories that look like answers and are none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from helix_query.recall.stages.rerank import asked_words
from helix_shared.encoders.token_codes import CODE_BITS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from helix_lab.sets.cached.corpus import CachedCorpus
    from helix_lab.sets.data import EvaluationSet
    from helix_query.profile.profile import RankingProfile
    from helix_query.recall.context import RecallContext
    from helix_shared.encoders.token_codes import QueryTokens

COMPARED: Final = 30
"""Candidates whose tokens are compared, nearest first; a recall compares 50."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """One question."""

    set_name: str
    tenant: str
    vector: Floats
    """Unit vector [d] of the question."""
    memories: Floats
    """Unit vectors [candidates, d]."""
    is_relevant: NDArray[np.bool_]
    """[candidates]."""
    states: Floats
    """Projected states [s, CODE_BITS] of the tokens of words that count."""
    weights: Floats
    """[s], sums to 1: rarity of the token's word over the number of its tokens."""
    codes: NDArray[np.uint8]
    """[tokens, CODE_BITS / 8] of the compared candidates, one after another."""
    ends: NDArray[np.int64]
    """[compared], ascending: where the tokens of each end; none is empty."""
    compared_relevant: NDArray[np.bool_]
    """[compared]."""

    @property
    def signs(self) -> Floats:
        """+1 and -1 [tokens, CODE_BITS]."""
        bits = np.unpackbits(self.codes, axis=1, count=CODE_BITS)
        return 2.0 * bits.astype(np.float32) - 1.0


def observations(corpus: CachedCorpus, data: EvaluationSet, profile: RankingProfile) -> Iterator[Observation]:
    """Those of the answerable questions that a search answers; `profile` must not adapt the query."""
    for question in data.answerable:
        found = corpus.found(profile, question)
        if found is not None:
            relevant = data.relevant[question.id]
            answers = np.array([document in relevant for document in found.documents], np.bool_)
            one = observation(
                data.name, question.tenant, found.context, found.embedded.tokens, found.ordinals, answers
            )
            if one is not None:
                yield one


def observation(
    name: str,
    tenant: str,
    context: RecallContext,
    tokens: QueryTokens | None,
    ordinals: NDArray[np.int64],
    answers: NDArray[np.bool_],
) -> Observation | None:
    """A question with its candidates, of which `answers` are relevant; None: there is nothing to compare."""
    signals = context.generation.signals
    if tokens is None or not answers.any() or answers.all():
        return None
    memories = signals.vectors(ordinals)
    words, rows, word_of_state = asked_words(context, tokens)
    pieces = np.bincount(word_of_state, minlength=len(words))
    weights = (np.array([*words.values()]) / np.maximum(pieces, 1))[word_of_state]
    order = np.argsort(-(memories @ tokens.vector), kind="stable")
    nearest = np.union1d(order[:COMPARED], np.flatnonzero(answers))
    codes, ends = signals.token_codes(ordinals[nearest])
    filled = np.diff(ends, prepend=0) > 0
    return Observation(
        name,
        tenant,
        tokens.vector,
        memories,
        answers,
        tokens.states[rows],
        (weights / max(weights.sum(), 1e-9)).astype(np.float32),
        codes,
        ends[filled],
        answers[nearest][filled],
    )
