"""Stage 7c: how likely the memories answer the query; if too unlikely, nothing is packed.

Logistic models over features that mean the same for every query and corpus: cosines, shares of the best
possible BM25 score, ranks. `helix-lab calibrate` fits them. They need both the dense and the lexical channel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.profile.fitted import serves
from helix_query.profile.intent import Intent
from helix_query.profile.sections.section import DENSE, LEXICAL
from helix_query.recall.candidates import Candidates, Retrieved, bit_of
from helix_query.recall.evidence.asked_value import asked_value
from helix_query.recall.evidence.stated_value import states_value
from helix_query.recall.result import Features, RelevanceEstimate
from helix_query.recall.stages.diversify import behind_served

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.profile.sections.abstention import AnswerModel, MemoryModel
    from helix_query.recall.candidates import Ranked, Route
    from helix_query.recall.context import RecallContext
    from helix_query.recall.result import RecalledRow
    from helix_shared.artifacts.hits import Hits

ANSWER_MEMORIES: Final = 10
"""The first memories, which alone count for the answer: a longer list is not a better answer.

Chosen by hand; the shipped models are fitted to ten, so another number needs another calibration.
"""
FULL_MATCH_WORDS: Final = 8
"""Words of a query that are enough for a full match: a long request is never covered whole."""

VALUE_MEMORIES: Final = 3
"""Memories that must state the value asked for: a caller reads these first."""
FULL_COVERAGE: Final = 0.3
"""Coverage from which on a missing value counts in full. People ask with other words than their notes have; a
memory that shares few words with the question may state the value in its own."""

LARGE_STORE: Final = 10_000
"""Visible memories from which on a store counts as large: the models were fitted to no larger one."""
LOG_SIZE: Final = math.log1p(LARGE_STORE)
"""Brings the logarithm of a store's size to 1 at `LARGE_STORE`."""

INTENT_FEATURES: Final = (Intent.MULTI_HOP, Intent.CURRENT_VALUE, Intent.EXACT_LOOKUP)
"""Intents that are features of an answer, 1 or 0 each."""
NOTHING_FOUND: Final = "no memory was found"
NOTHING_STORED: Final = "nothing is stored yet for this tenant and user"


def abstain(
    context: RecallContext,
    rows: tuple[RecalledRow, ...],
    candidates: Candidates,
    retrieved: Retrieved,
    route: Route,
    diverse: Ranked,
) -> RelevanceEstimate | None:
    """How likely the rows answer; None without a model for the encoder, or where a channel is missing.

    It abstains in any case where nothing is stored that the caller may see. `diverse` has what the caller has
    already: the rows keep their places behind those memories, and the answer is no likelier than the
    likeliest row, so that nothing unrelated is packed in their place (ops/decisions/0115).
    """
    visible = context.generation.lexicon.scopes(context.query.selection).memories
    if not (visible or rows):
        return RelevanceEstimate(Features({}, {}), None, 0.0, abstained=True, reason=NOTHING_STORED)
    constants = context.profile.abstain
    if constants.memory is None and constants.answer is None:
        return None
    if not serves(constants.encoder, context.snapshot.encoder.card):
        return None
    asked, order = context.query_words.value, np.argsort(candidates.ordinals)
    ordinals = np.array([found.row["ordinal"] for found in rows], np.int64)
    covered = asked.coverage(asked.held_by([found.row for found in rows[:VALUE_MEMORIES]]))
    coverage = float(covered.max(initial=0.0))
    positions = order[np.searchsorted(candidates.ordinals[order], ordinals)]
    served_before = behind_served(context, positions, diverse, candidates)
    found = answer_features(
        candidates,
        positions,
        np.array([found.score for found in rows]),
        retrieved,
        rarities=asked.rarities.tolist(),
        coverage=coverage,
        value_missing=missing_value(context.query.text, rows[:VALUE_MEMORIES], coverage),
        intents=route.intents,
        visible=visible,
        served_before=served_before,
    )
    if found is None:
        return None
    return estimate_relevance(
        found,
        memory=constants.memory,
        answer=constants.answer,
        threshold=constants.threshold,
        displaced=bool(served_before.any()),
    )


def answer_features(
    candidates: Candidates,
    positions: NDArray[np.int64],
    scores: NDArray[np.float64],
    retrieved: Retrieved,
    *,
    rarities: Sequence[float],
    coverage: float,
    value_missing: float,
    intents: Sequence[Intent],
    visible: int,
    served_before: NDArray[np.int64] | int = 0,
) -> Features | None:
    """Features of the memories at `positions` (best first) with their final `scores`.

    None where dense or lexical was not asked or did not answer. `rarities` are the inverse document
    frequencies of the query's words. Of a memory:

    cosine           exact cosine to the query lexical          s / (s + r): BM25 s, r the summed rarity of
    the `FULL_MATCH_WORDS` words; 0: not found by its words relative_score   final score over that of the
    first reciprocal_rank  1 / rank, `served_before` [n] memories that the caller has counted mass
    share of the graph's mass size             ln(1 + n) / ln(1 + `LARGE_STORE`), n the memories open to the
    caller, at most `LARGE_STORE` in_both_channels 1 if dense and lexical both found it, else 0

    Of the answer: the greatest cosine, lexical and mass of its first `ANSWER_MEMORIES`; the greatest
    `coverage` of the query's words by one of the first `VALUE_MEMORIES`, 0 to 1; `value_missing` as
    `missing_value` has it; `lead` of the first score over the second, `overlap` of the first
    `ANSWER_MEMORIES` of the two channels, `words` ln(1 + words asked), `size` as above, and 1 for each intent
    of the query. The greatest cosine and the rarity of words grow with the store, so without its size no
    probability holds for small and large stores alike.
    """
    dense, lexical = retrieved.hits_of(DENSE), retrieved.hits_of(LEXICAL)
    if dense is None or lexical is None:
        return None
    bm25 = lexical.scores_of(candidates.ordinals[positions])
    both = bit_of(DENSE) | bit_of(LEXICAL)
    best = max(float(scores[0]), 0.0) if len(scores) else 0.0
    size = math.log1p(min(visible, LARGE_STORE)) / LOG_SIZE
    memories = {
        "cosine": candidates.cosine[positions].astype(np.float64),
        "lexical": _share(bm25, sum(sorted(rarities, reverse=True)[:FULL_MATCH_WORDS])),
        "relative_score": scores / best if best > 0 else np.zeros(len(scores)),
        "reciprocal_rank": 1.0 / (np.arange(1, len(positions) + 1) + served_before),
        "mass": candidates.mass[positions].astype(np.float64),
        "size": np.full(len(positions), size),
        "in_both_channels": ((candidates.found_by[positions] & both) == both).astype(np.float64),
    }
    greatest = ("cosine", "lexical", "mass")
    answer = {name: float(memories[name][:ANSWER_MEMORIES].max(initial=0.0)) for name in greatest}
    answer |= {
        "coverage": coverage,
        "value_missing": value_missing,
        "lead": 1.0 - float(memories["relative_score"][1]) if len(scores) > 1 else float(len(scores)),
        "overlap": _overlap(dense, lexical),
        "words": math.log1p(len(rarities)),
        "size": size,
        **{intent.value: float(intent in intents) for intent in INTENT_FEATURES},
    }
    return Features(memories, answer)


def missing_value(question: str, rows: Sequence[RecalledRow], coverage: float) -> float:
    """How sure it is that no row states the value that the question asks for, 0 to 1; 0: it asks for none.

    It grows with the `coverage` of the question by the rows, up to `FULL_COVERAGE`.
    """
    asked = asked_value(question)
    if asked is None or any(states_value(asked, one.row["text"], speaker=one.row["speaker"]) for one in rows):
        return 0.0
    return min(1.0, coverage / FULL_COVERAGE)


def estimate_relevance(
    found: Features,
    *,
    memory: MemoryModel | None,
    answer: AnswerModel | None,
    threshold: float,
    displaced: bool = False,
) -> RelevanceEstimate:
    """The probabilities by the models; the answer is held back if its probability is below `threshold`.

    A memory's probability is capped at the answer's. `displaced`: better memories are left out, so that of
    the answer is capped at the greatest of its memories.
    """
    count = len(found.memories["reciprocal_rank"])
    of_answer = None if answer is None else float(logistic(found.answer, answer)) if count else 0.0
    of_each = None if memory is None else np.broadcast_to(logistic(found.memories, memory), (count,))
    if of_each is not None and of_answer is not None:
        of_each = np.minimum(of_each, of_answer)
        of_answer = float(of_each.max(initial=0.0)) if displaced else of_answer
    if of_answer is None or of_answer >= threshold:
        return RelevanceEstimate(found, of_each, of_answer)
    what = "relevance of what was not served already," if displaced else "relevance"
    below = f"{what} {of_answer:.3f} is below the threshold {threshold:.3f} of the ranking profile"
    reason = below if count else NOTHING_FOUND
    return RelevanceEstimate(found, of_each, of_answer, abstained=True, reason=reason)


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
    """Share of the first `ANSWER_MEMORIES` that both have there; of fewer, of the shorter."""
    count = min(ANSWER_MEMORIES, len(dense), len(lexical))
    alike = dense.ordinals[:count, None] == lexical.ordinals[:count]
    return int(alike.sum()) / count if count else 0.0
