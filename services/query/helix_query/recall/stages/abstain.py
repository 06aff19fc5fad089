"""Stage 7c: how likely the memories answer the question; too unlikely, and nothing is packed.

Logistic models over features that mean the same for every question and corpus: cosines, the share of the
best BM25 score to be had, standings. `helix-lab calibrate` fits them. They read what both the dense and
the lexical channel found: where one of the two is missing nobody is judged. Stage 8 packs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.profile.intent import Intent
from helix_query.recall.candidates import CHANNELS, DENSE, LEXICAL, Candidates, Retrieved

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.profile.sections.abstention import AnswerModel, MemoryModel
    from helix_shared.artifacts.hits import Hits

JUDGED: Final = 10
"""The first so many memories speak for the answer: a longer list is not a better answer."""
RAREST: Final = 8
"""Words of a question that are enough for a full match: a long request is never covered whole."""

LARGEST: Final = 10_000
"""Memories in sight from which on a store counts as large: no larger one was fitted to."""
LOG_SIZE: Final = math.log1p(LARGEST)
"""Brings the logarithm of a store's size to 1 at `LARGEST`."""

INTENT_FEATURES: Final = (Intent.MULTI_HOP, Intent.CURRENT_VALUE, Intent.EXACT_LOOKUP)
"""Intents that are features of an answer, 1 or 0 each."""
NO_REASON: Final = ""
NOTHING_FOUND: Final = "no memory was found"


@dataclass(frozen=True, slots=True)
class Features:
    """What the models read, by name: of each memory of an answer in its order, and of the answer."""

    memories: Mapping[str, NDArray[np.float64]]
    answer: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RelevanceEstimate:
    """Probabilities, 0 to 1: that each memory is relevant, and that at least one of them is.

    None where the ranking profile has no model for it.
    """

    features: Features
    memories: NDArray[np.float64] | None
    answer: float | None
    abstained: bool = False
    reason: str = NO_REASON
    """Why nothing is packed."""


def answer_features(
    pool: Candidates,
    positions: NDArray[np.int64],
    scores: NDArray[np.float64],
    retrieved: Retrieved,
    *,
    rarities: Sequence[float],
    intents: Sequence[Intent],
    visible: int,
) -> Features | None:
    """Features of the memories at `positions` (best first) with their final `scores`.

    None where dense or lexical was not asked or did not answer. `rarities` are the inverse document
    frequencies of the question's words. Of a memory:

    cosine    exact cosine to the question
    lexical   s / (s + r): BM25 s, r the summed rarity of the `RAREST` words; 0: not found by its words
    relative  final score over that of the first
    standing  1 / rank
    mass      share of the graph's mass
    size      ln(1 + n) / ln(1 + `LARGEST`), n the memories open to the caller, at most `LARGEST`
    agreed    1 if dense and lexical both found it, else 0

    Of the answer: the greatest cosine, lexical and mass of its first `JUDGED`; `lead` of the first score
    over the second, `overlap` of the first `JUDGED` of the two channels, `words` ln(1 + words asked),
    `size` as above, and 1 for each intent of the question. The greatest cosine, and how rare words are, grow
    with the store, so without its size no probability holds for a small store and for a large one.
    """
    lists = {ranking.channel: ranking.hits for ranking in retrieved.rankings if not ranking.query}
    if DENSE not in lists or LEXICAL not in lists:
        return None
    bm25 = lists[LEXICAL].scores_of(pool.ordinals[positions])
    both = np.uint8(1 << CHANNELS.index(DENSE) | 1 << CHANNELS.index(LEXICAL))
    best = max(float(scores[0]), 0.0) if len(scores) else 0.0
    size = math.log1p(min(visible, LARGEST)) / LOG_SIZE
    memories = {
        "cosine": pool.cosine[positions].astype(np.float64),
        "lexical": _share(bm25, sum(sorted(rarities, reverse=True)[:RAREST])),
        "relative": scores / best if best > 0 else np.zeros(len(scores)),
        "standing": 1.0 / np.arange(1, len(positions) + 1),
        "mass": pool.mass[positions].astype(np.float64),
        "size": np.full(len(positions), size),
        "agreed": ((pool.found_by[positions] & both) == both).astype(np.float64),
    }
    answer = {name: float(memories[name][:JUDGED].max(initial=0.0)) for name in ("cosine", "lexical", "mass")}
    answer |= {
        "lead": 1.0 - float(memories["relative"][1]) if len(scores) > 1 else float(len(scores)),
        "overlap": _overlap(lists[DENSE], lists[LEXICAL]),
        "words": math.log1p(len(rarities)),
        "size": size,
        **{intent.value: float(intent in intents) for intent in INTENT_FEATURES},
    }
    return Features(memories, answer)


def abstain(
    found: Features, *, memory: MemoryModel | None, answer: AnswerModel | None, threshold: float
) -> RelevanceEstimate:
    """What the models say of `found`, and whether the answer is below `threshold` and so held back.

    That one memory is relevant is never likelier than that any is.
    """
    count = len(found.memories["standing"])
    believed = None if answer is None else float(logistic(found.answer, answer)) if count else 0.0
    each = None if memory is None else np.broadcast_to(logistic(found.memories, memory), (count,))
    if each is not None and believed is not None:
        each = np.minimum(each, believed)
    if believed is None or believed >= threshold:
        return RelevanceEstimate(found, each, believed)
    reason = f"relevance {believed:.3f} is below the threshold {threshold:.3f} of the ranking profile"
    return RelevanceEstimate(found, each, believed, abstained=True, reason=reason if count else NOTHING_FOUND)


def logistic(
    found: Mapping[str, NDArray[np.float64]] | Mapping[str, float], model: MemoryModel | AnswerModel
) -> NDArray[np.float64]:
    """1 / (1 + exp(-z)), z the model's intercept plus its coefficients times the features."""
    z = np.float64(model.intercept) + sum(
        value * np.asarray(found[name]) for name, value in model.coefficients.items()
    )
    # exp of the negative magnitude never overflows
    small = np.exp(-np.abs(z))
    probability: NDArray[np.float64] = np.where(z >= 0, 1.0, small) / (1.0 + small)
    return probability


def _share(bm25: NDArray[np.float64], half: float) -> NDArray[np.float64]:
    return bm25 / (bm25 + half) if half > 0 else np.zeros(len(bm25))


def _overlap(dense: Hits, lexical: Hits) -> float:
    """Share of the first `JUDGED` that both have there; of fewer, of the shorter."""
    count = min(JUDGED, len(dense), len(lexical))
    alike = dense.ordinals[:count, None] == lexical.ordinals[:count]
    return int(alike.sum()) / count if count else 0.0
