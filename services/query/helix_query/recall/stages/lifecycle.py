"""Stage 6: steps of the score from how candidates relate to each other, after relevance and boosts.

The steps are computed in the room `recall.lifecycle`; their order is here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.profile.intent import Intent
from helix_query.profile.past_question import PastQuestion
from helix_query.recall.evidence.comparisons import question_match
from helix_query.recall.lifecycle.doubtful import is_doubtful
from helix_query.recall.lifecycle.newer import earliest_factors, newer_factors, newest_gain
from helix_query.recall.lifecycle.outdated import (
    inherited_gains,
    latest_replaced_first,
    outdated_factors,
    past_tense_factors,
    replacements_that_count,
    reversed_pairs,
    without_unlikely,
)
from helix_query.recall.lifecycle.persons import about_others
from helix_query.recall.lifecycle.speech_acts import act_factors, answer_gains, answer_share
from helix_query.recall.stages.latest_statement import latest_statement
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from numpy.typing import NDArray

    from helix_query.profile.sections.ranking import Outdated, Rank
    from helix_query.recall.candidate_signals import CandidateSignals
    from helix_query.recall.candidates import Candidates, RelatedPairs, Route, StandardGains
    from helix_query.recall.stages.scoring import ScoreBuilder

MIN_REPLACED_PROBABILITY: Final = 0.3
"""Probability from which a replaced memory does not count as a statement of the value. Chosen by hand."""


@dataclass(frozen=True, slots=True)
class StepInput:
    """What the steps read besides the scores so far."""

    raw: CandidateSignals
    route: Route
    constants: Rank
    replacements: RelatedPairs | None
    """Pairs with the part of their probability that counts for this question; None: there are none."""
    about_others: NDArray[np.bool_]
    """Which candidates are about another person than the one that the question asks about."""
    question_match: Callable[[], NDArray[np.float64]]
    """How well each candidate matches the words of the question, 0 to 1; computed when a step needs it."""


def lifecycle_steps(
    builder: ScoreBuilder,
    candidates: Candidates,
    raw: CandidateSignals,
    route: Route,
    *,
    now: datetime,
    constants: Rank,
    wants_questions: bool,
    interaction_gains: StandardGains | None,
) -> None:
    """Later memories, answers, replacements, order in time, latest statement, bare questions behind answers.

    `interaction_gains` is what late interaction found.
    """
    if constants.future_penalty != 1.0:
        later = raw.occurred_at > microseconds(now)
        builder.times("future_penalty", np.where(later, constants.future_penalty, 1.0))
    is_about_other = about_others(raw.about_code, route.asked_person) & constants.persons.compared
    asked = route.asked_person
    if constants.persons.factor != 1.0 and is_about_other.any() and asked and not asked.is_named:
        builder.times("other_person", np.where(is_about_other, constants.persons.factor, 1.0))
    doubted = is_doubtful(raw, constants.doubtful)
    if doubted.any():
        builder.times("doubtful", np.where(doubted, constants.doubtful.share, 1.0))
    related = candidates.related
    if related is not None and len(related.answers):
        share = answer_share(route, constants.acts)
        builder.plus("answer", answer_gains(builder.scores, related, share))
    held = past_tense_factors(raw, route)
    if (held != 1.0).any():
        builder.times("held_then", held)
    replacements = None
    if related is not None and len(related.newer):
        replacements = replacements_that_count(related, raw, route, constants.outdated)
    match = partial(question_match, candidates, interaction_gains, constants.newer.full_match)
    given = StepInput(raw, route, constants, replacements, is_about_other, match)
    if route.past_question.asks_for_a_change:
        past_steps(builder, given)
    else:
        _current_steps(builder, given, candidates.coverage)
    if constants.acts.statements_first:
        acts = constants.acts
        factors = act_factors(builder.scores, raw, related, acts, wants_questions=wants_questions)
        if (factors != 1.0).any():
            builder.times("speech_act", factors)


def _current_steps(builder: ScoreBuilder, given: StepInput, coverage: NDArray[np.float64] | None) -> None:
    """Replacements, and the latest statement of a value that the question asks for."""
    constants, replacements = given.constants, given.replacements
    latest = _latest_gains(given, coverage)
    # Memories that state the value in the words of the question need no other evidence.
    stated = latest is not None and bool(latest(builder.scores).any())
    if replacements is not None:
        if not stated:
            builder.plus("replacement", inherited_gains(builder.scores, replacements, constants.outdated))
        builder.times("outdated", outdated_factors(builder.scores, replacements, constants.outdated))
    if not stated and (gain := newest_gain(given.route, constants.newer)):
        factors = newer_factors(
            builder.scores, given.raw, constants.newer, given.about_others, given.question_match(), gain=gain
        )
        builder.times("newer", factors)
    if latest is not None:
        builder.plus("latest_statement", latest(builder.scores))


def past_steps(builder: ScoreBuilder, given: StepInput) -> None:
    """For a question about a replaced value or a change: the order of replacements, else the order in time.

    The order in time decides only for a first value that no likely replacement and no named time tells.
    """
    constants, route = given.constants, given.route
    likely = None if given.replacements is None else without_unlikely(given.replacements)
    if likely is not None:
        _changed_steps(builder, likely, route, constants.outdated)
    names_time = route.window is not None or route.as_of_moment is not None
    if not constants.newer.gain_first or route.past_question is not PastQuestion.FIRST or names_time:
        return
    if likely is None or not likely.probability.any():
        factors = earliest_factors(
            builder.scores, given.raw, constants.newer, given.about_others, given.question_match()
        )
        builder.times("earliest", factors)


def _changed_steps(
    builder: ScoreBuilder, replacements: RelatedPairs, route: Route, constants: Outdated
) -> None:
    """For a question about a former value, the first value or changes: the order of what was replaced."""
    if route.past_question is PastQuestion.CHANGES:
        builder.plus("replacement", inherited_gains(builder.scores, replacements, constants))
        return
    builder.plus("former", inherited_gains(builder.scores, reversed_pairs(replacements), constants))
    before = (
        latest_replaced_first(replacements, len(builder.scores))
        if route.past_question is PastQuestion.FORMER
        else reversed_pairs(replacements)
    )
    lost = 1.0 - outdated_factors(builder.scores, before, constants)
    builder.times("later", 1.0 - constants.former * lost)


def _latest_gains(
    given: StepInput, coverage: NDArray[np.float64] | None
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]] | None:
    """A function from the scores so far to the gains of memories that state the value asked for.

    None: the question asks for no current value. A memory that another candidate has probably replaced, and
    one about another person, states no value.
    """
    if Intent.CURRENT_VALUE not in given.route.intents or coverage is None:
        return None
    constants, replacements = given.constants, given.replacements
    coverage = np.where(given.about_others, 0.0, coverage)
    if replacements is not None:
        coverage[replacements.older[replacements.probability >= MIN_REPLACED_PROBABILITY]] = 0.0
    return partial(
        latest_statement,
        coverage=coverage,
        occurred_at=given.raw.occurred_at,
        min_coverage=constants.current_min_coverage,
        min_text_coverage=constants.current_min_text_coverage,
        min_score=constants.current_min_score,
        fewest=constants.current_fewest,
    )
