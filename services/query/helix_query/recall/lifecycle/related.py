"""End of stage 5: which candidates answer or replace which, and the memories that only these relations find.

An answer seldom names what it is about ("No, I sold my ticket"), so it is looked up by its question; ingest
states the pair. A replacement ("we went back to Redux") is looked up by what it replaces (`relations`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.profile.past_question import PastQuestion
from helix_query.recall.candidates import Candidates, Cosines, RelatedPairs
from helix_query.recall.lifecycle.relations import NONE, Replacements, replaced_by, replacements_of
from helix_shared.about import two_people

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.context import RecallContext

MIN_ADDED_PROBABILITY: Final = 0.5
"""Least probability of a link by which a memory that was replaced becomes a candidate.

Chosen by hand, as for links that are reversed (`outdated.MIN_REVERSED_PROBABILITY`, decision 0051).
"""
REPEATED_LOOKUPS: Final = 1
"""Times that replacements of what was added are added in turn. Chosen by hand."""


def with_related(
    context: RecallContext, candidates: Candidates, cosines: Cosines, *, past: PastQuestion = PastQuestion.NO
) -> Candidates:
    """The candidates with answers to the best of their questions, with replacements, and with the pairs.

    If the words of the question are about earlier times, also with what the best candidates replaced.
    """
    if not len(candidates):
        return candidates
    candidates, asked = _with_answers(context, candidates, cosines)
    if past.is_in_words:
        candidates = _with_replaced(context, candidates, cosines)
    candidates, replaced = _with_replacements(context, candidates, cosines)
    if not len(asked) and not len(replaced.newer):
        return candidates
    questions, answers = _answered_pairs(context, candidates, asked)
    newer, older = replaced.newer, replaced.older
    if len(newer):
        order = np.argsort(candidates.ordinals)
        newer, older = (order[np.searchsorted(candidates.ordinals[order], one)] for one in (newer, older))
    return replace(candidates, related=RelatedPairs(questions, answers, newer, older, replaced.probability))


def _with_answers(
    context: RecallContext, candidates: Candidates, cosines: Cosines
) -> tuple[Candidates, NDArray[np.int64]]:
    """The candidates with the answers to the best questions, and the positions of answered questions."""
    most, signals = context.profile.rank.acts.answered_questions, context.generation.signals
    asked = np.flatnonzero(signals.is_answered[candidates.ordinals])
    if not most or not len(asked):
        return candidates, asked[:0]
    best = asked[np.argsort(-candidates.fused[asked], kind="stable")[:most]]
    here = signals.answers_code[candidates.ordinals]
    codes = signals.source_code[candidates.ordinals[best]]
    codes = codes[~_is_in(codes, here)]
    answers = context.snapshot.session_order.answers_to(codes, signals)
    answers = answers[~_is_in(answers, candidates.ordinals)]
    if len(answers):
        answers = answers[context.visibility.is_visible(answers)]
    return candidates.with_found_by_graph(answers, cosines), asked


def _with_replacements(
    context: RecallContext, candidates: Candidates, cosines: Cosines
) -> tuple[Candidates, Replacements]:
    """The candidates with the likeliest replacements of the best, and all pairs among them."""
    constants = context.profile.rank.outdated
    if not constants.enabled:
        return candidates, NONE
    pairs = NONE
    best = np.argsort(-candidates.fused, kind="stable")[: constants.looked_up]
    looked_up = candidates.ordinals[best]
    for _ in range(1 + REPEATED_LOOKUPS):
        fresh = _of_one_person(context, replacements_of(context, looked_up, constants))
        if not len(fresh.newer):
            break
        pairs = pairs.joined(fresh)
        newer = _best_missing(
            candidates, fresh.newer, of=fresh.older, probability=fresh.probability, most=constants.added
        )
        if not len(newer):
            break
        candidates, looked_up = candidates.with_found_by_graph(newer, cosines), newer
    return candidates, pairs.to(_is_in(pairs.newer, candidates.ordinals))


def _of_one_person(context: RecallContext, pairs: Replacements) -> Replacements:
    """The pairs without those about two people: the new home of a sister replaces no home of the asker."""
    if not context.profile.rank.persons.compared:
        return pairs
    codes = context.generation.signals.about_code
    return pairs.to(~two_people(codes[pairs.newer], codes[pairs.older]))


def _with_replaced(context: RecallContext, candidates: Candidates, cosines: Cosines) -> Candidates:
    """The candidates with the memories that the best of them, and those in turn, have surely replaced.

    Where there are more than `added`, the most probable of the best candidates, of equal ones the latest.
    """
    constants = context.profile.rank.outdated
    best = np.argsort(-candidates.fused, kind="stable")[: constants.added]
    looked_up = candidates.ordinals[best]
    for _ in range(1 + REPEATED_LOOKUPS if constants.enabled else 0):
        pairs = replaced_by(context, looked_up, min_probability=MIN_ADDED_PROBABILITY)
        looked_up = _best_missing(
            candidates, pairs.older, of=pairs.newer, probability=pairs.probability, most=constants.added
        )
        candidates = candidates.with_found_by_graph(looked_up, cosines)
    return candidates


def _best_missing(
    candidates: Candidates,
    linked: NDArray[np.int64],
    *,
    of: NDArray[np.int64],
    probability: NDArray[np.float64],
    most: int,
) -> NDArray[np.int64]:
    """At most `most` of the `linked` that are not candidates yet, best first, each once.

    They go by the probability of the link times the score of the candidate `of` which it is, equal ones in
    the given order.
    """
    missing = ~_is_in(linked, candidates.ordinals)
    order = np.argsort(candidates.ordinals)
    places = order[np.searchsorted(candidates.ordinals[order], of[missing])]
    worth = probability[missing] * candidates.fused[places]
    best = linked[missing][np.argsort(-worth, kind="stable")]
    _, first = np.unique(best, return_index=True)
    found: NDArray[np.int64] = best[np.sort(first)[:most]]
    return found


def _answered_pairs(
    context: RecallContext, candidates: Candidates, asked: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of questions and their answers; `asked` are those of answered questions."""
    if not len(asked):
        return asked, asked
    signals = context.generation.signals
    codes = signals.source_code[candidates.ordinals[asked]]
    order = np.argsort(codes, kind="stable")
    asked, codes = asked[order], codes[order]
    answered = signals.answers_code[candidates.ordinals]
    places = np.minimum(np.searchsorted(codes, answered), len(codes) - 1)
    answers = np.flatnonzero((codes[places] == answered) & (answered != 0))
    return asked[places[answers]], answers


def _is_in(few: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of `few` are among `others`; `np.isin` sorts both, which takes longer."""
    found: NDArray[np.bool_] = (few[:, None] == others).any(axis=1)
    return found
