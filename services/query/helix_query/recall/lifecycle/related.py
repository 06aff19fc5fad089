"""End of stage 5: which candidates answer which, and the answers that no channel found.

An answer seldom names what it is about ("No, I sold my ticket"), so it is found through its question. Ingest
states the pair; the answer is looked up behind the question in its session.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.recall.candidates import GRAPH, Candidates, Cosines, bit_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.context import RecallContext

REACH: Final = 4
"""Memories behind a question among which its answer is looked for."""


@dataclass(frozen=True, slots=True)
class Related:
    """Pairs of candidates, by position: a question and a memory that answers it."""

    questions: NDArray[np.int64]
    answers: NDArray[np.int64]


def with_related(context: RecallContext, candidates: Candidates, cosines: Cosines) -> Candidates:
    """The candidates with the answers to the best of their questions, and which pairs there are."""
    most = context.profile.rank.acts.answered_questions
    signals = context.generation.signals
    asked = np.flatnonzero(signals.is_answered[candidates.ordinals])
    if not most or not len(asked):
        return candidates
    best = asked[np.argsort(-candidates.fused[asked], kind="stable")[:most]]
    found = [_behind(context, int(ordinal)) for ordinal in candidates.ordinals[best]]
    answers = np.unique(np.concatenate(found))
    answers = np.setdiff1d(answers, candidates.ordinals)
    answers = answers[context.visibility.is_visible(answers)]
    candidates = added(candidates, answers, cosines=cosines)
    return replace(candidates, related=_pairs(context, candidates, asked))


def added(candidates: Candidates, ordinals: NDArray[np.int64], *, cosines: Cosines) -> Candidates:
    """The candidates and, at their end, memories that only a relation found: with the least fused score."""
    if not len(ordinals):
        return candidates
    count = len(ordinals)
    least = float(candidates.fused.min()) if len(candidates) else 0.0
    coverage, phrase_match = candidates.coverage, candidates.phrase_match
    return replace(
        candidates,
        ordinals=np.concatenate([candidates.ordinals, ordinals]),
        fused=np.concatenate([candidates.fused, np.full(count, least)]),
        cosine=np.concatenate([candidates.cosine, cosines(ordinals).astype(np.float64)]),
        mass=np.concatenate([candidates.mass, np.zeros(count)]),
        found_by=np.concatenate([candidates.found_by, np.full(count, bit_of(GRAPH))]),
        coverage=None if coverage is None else np.append(coverage, np.zeros(count)),
        phrase_match=None if phrase_match is None else np.append(phrase_match, np.zeros(count, bool)),
    )


def _behind(context: RecallContext, ordinal: int) -> NDArray[np.int64]:
    """Memories behind the question `ordinal` in its session that answer it."""
    signals = context.generation.signals
    part = context.snapshot.session_order.around(ordinal, signals, reach=REACH)
    following = part.ordinals[part.place + 1 :]
    code = signals.source_code[ordinal]
    found: NDArray[np.int64] = following[signals.answers_code[following] == code]
    return found


def _pairs(context: RecallContext, candidates: Candidates, asked: NDArray[np.int64]) -> Related:
    """Every pair among the candidates; `asked` are the positions of answered questions."""
    signals = context.generation.signals
    codes = signals.source_code[candidates.ordinals[asked]]
    order = np.argsort(codes, kind="stable")
    asked, codes = asked[order], codes[order]
    answered = signals.answers_code[candidates.ordinals]
    places = np.minimum(np.searchsorted(codes, answered), len(codes) - 1)
    answers = np.flatnonzero((codes[places] == answered) & (answered != 0))
    return Related(asked[places[answers]], answers)
