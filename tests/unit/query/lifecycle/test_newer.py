"""Where a question asks for what holds, the later of the first candidates count more."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from helix_memory.vocabulary.speech_acts import SPEECH_ACTS, SpeechAct
from helix_query.profile.intent import Intent
from helix_query.profile.past_question import PastQuestion
from helix_query.profile.sections.ranking import Newer, Outdated, Rank
from helix_query.recall.candidate_signals import CandidateSignals
from helix_query.recall.candidates import Candidates, LateInteraction, RelatedPairs, Route
from helix_query.recall.evidence.comparisons import interaction_gains, question_match
from helix_query.recall.lifecycle.newer import (
    SAME_TIME_MICROSECONDS,
    earliest_factors,
    newer_factors,
    newest_gain,
)
from helix_query.recall.stages.lifecycle import StepInput, past_steps
from helix_query.recall.stages.scoring import ScoreBuilder

DAY = 24 * 3600 * SAME_TIME_MICROSECONDS
CONSTANTS = Newer(gain=1.0, compared=4, longest=60)


def signals(
    days: list[int],
    *,
    tokens: int | list[int] = 12,
    session: int | list[int] = 7,
    act: SpeechAct | list[SpeechAct] = "statement",
) -> CandidateSignals:
    """Candidates that occurred on these days; length, session and speech act of all of them, or of each."""
    count = len(days)
    return cast(
        "CandidateSignals",
        SimpleNamespace(
            occurred_at=np.array(days, np.int64) * DAY,
            token_count=np.broadcast_to(tokens, count),
            session_code=np.broadcast_to(session, count),
            speech_act=np.broadcast_to(
                np.array([SPEECH_ACTS.index(one) for one in ([act] if isinstance(act, str) else act)]), count
            ),
        ),
    )


class Compared:
    """As many candidates as `count`, of which late interaction has those at `positions`."""

    def __init__(self, similarities: list[float] | None, positions: list[int], count: int) -> None:
        self.count = count
        self.late_interaction = None
        if similarities is not None:
            self.late_interaction = LateInteraction(
                np.array(positions, np.int64),
                words=("husband",),
                rarities=np.array([2.0]),
                similarities=np.array([similarities]),
                weight=0.5,
                states=np.empty((0, 128), np.float32),
                word_of_state=np.empty(0, np.int64),
            )

    def __len__(self) -> int:
        return self.count


def met_by(
    similarities: list[float] | None, positions: list[int], *, count: int, share: float
) -> list[float]:
    """As `question_match`, of one word of the query against the candidates at these positions."""
    candidates = cast("Candidates", Compared(similarities, positions, count))
    late = (
        interaction_gains(np.ones(count), candidates.late_interaction)
        if candidates.late_interaction is not None and positions
        else None
    )
    found: list[float] = question_match(candidates, late, share).tolist()
    return found


def factors(
    scores: list[float],
    raw: CandidateSignals,
    *,
    constants: Newer = CONSTANTS,
    about_others: list[bool] | None = None,
    match: list[float] | None = None,
) -> list[float]:
    """As `newer_factors`; about no other person and with a full match without the last two."""
    count = len(scores)
    theirs = np.zeros(count, np.bool_) if about_others is None else np.array(about_others)
    near = np.ones(count) if match is None else np.array(match)
    found: list[float] = newer_factors(np.array(scores), raw, constants, theirs, near, gain=1.0).tolist()
    return found


def test_what_is_about_somebody_else_gains_nothing() -> None:
    """Nor is it counted among the earlier ones."""
    found = factors([0.9, 0.8, 0.7], signals([1, 3, 2]), about_others=[False, True, False])
    assert found == [1.0, 1.0, 2.0]


def test_the_last_word_on_another_thing_gains_little() -> None:
    """As "he stays!" where somebody asks what their husband is called."""
    assert factors([0.9, 0.8, 0.7], signals([1, 3, 2]), match=[1.0, 0.25, 1.0]) == [1.0, 1.25, 1.5]


def test_a_candidate_meets_the_question_as_far_as_its_words_are_near() -> None:
    """In shares of half the best one's similarity; what was not compared does not meet it."""
    assert met_by([0.8, 0.2, -0.1], [0, 2, 3], count=4, share=0.5) == pytest.approx([1.0, 0.0, 0.5, 0.0])


@pytest.mark.parametrize("share", [0.0, 0.6])
def test_where_nothing_is_near_or_compared_all_meet_it(share: float) -> None:
    """Nothing tells the candidates apart."""
    assert met_by(None, [], count=2, share=share) == [1.0, 1.0]
    assert met_by([-0.2, -0.1], [0, 1], count=2, share=share) == [1.0, 1.0]
    assert met_by([], [], count=2, share=share) == [1.0, 1.0]


def test_the_latest_gains_most_and_the_first_nothing() -> None:
    """By place in time among the first candidates, not by how long ago it was."""
    assert factors([0.9, 0.8, 0.7], signals([3, 900, 5])) == [1.0, 2.0, 1.5]


def test_what_is_only_weighed_gains_nothing() -> None:
    """Who weighs another carer has not changed the one who comes."""
    weighed = signals([3, 900, 5], act=["statement", "hypothetical", "statement"])
    assert factors([0.9, 0.8, 0.7], weighed) == [1.0, 1.0, 2.0]


def test_equal_times_gain_alike() -> None:
    """Statements of one turn keep their order."""
    assert factors([0.9, 0.8, 0.7], signals([5, 5, 3])) == [1.5, 1.5, 1.0]


def test_one_time_for_all_says_nothing_of_any() -> None:
    """As in a repository that was imported under one date: a long function is no later than a short one."""
    imported = signals([5, 5, 5], tokens=[12, 400, 12])
    imported.occurred_at[:] += [7, 3, SAME_TIME_MICROSECONDS - 1]
    assert factors([0.9, 0.8, 0.7], imported) == [1.0, 1.0, 1.0]


def test_only_the_first_candidates_are_compared() -> None:
    """The fifth is the latest of all, but small talk of yesterday answers nothing."""
    assert factors([0.9, 0.8, 0.7, 0.6, 0.1], signals([1, 2, 3, 4, 99]))[4] == 1.0


def test_what_scores_far_below_the_best_is_about_something_else() -> None:
    """As a wife who turned 38 where somebody asks how old they are."""
    constants = CONSTANTS.model_copy(update={"least_score": 0.5})
    assert factors([0.9, 0.8, 0.4], signals([1, 2, 3]), constants=constants) == [1.0, 2.0, 1.0]


def test_documents_and_long_texts_get_the_middle() -> None:
    """Neither is put before or behind what was said."""
    said = signals([1, 2, 9, 8], tokens=[12, 12, 12, 400], session=[7, 7, 0, 7])
    assert factors([0.9, 0.8, 0.7, 0.6], said) == [1.0, 2.0, 1.5, 1.5]


def test_a_store_of_documents_keeps_its_order() -> None:
    """One statement alone is neither early nor late."""
    assert factors([0.9, 0.8, 0.7], signals([1, 2, 3], session=[0, 0, 7])) == [1.0, 1.0, 1.0]


def test_nothing_found_is_no_error() -> None:
    """No candidates, no factors."""
    assert factors([], signals([])) == []


@pytest.mark.parametrize(
    ("route", "expected"),
    [
        (Route(intents=(Intent.CURRENT_VALUE,)), 1.0),
        (Route(intents=()), 0.25),
        (Route(intents=(), names_something=True), 0.0),
        (Route(intents=(Intent.CURRENT_VALUE,), names_something=True), 1.0),
        (Route(intents=(Intent.EXACT_LOOKUP,)), 0.0),
        (Route(intents=(Intent.EXACT_LOOKUP, Intent.CURRENT_VALUE)), 1.0),
        (Route(intents=(Intent.AGGREGATION,)), 0.0),
        (Route(intents=(Intent.AGGREGATION, Intent.CURRENT_VALUE)), 1.0),
        (Route(intents=(Intent.PREFERENCE,)), 0.0),
        (Route(intents=(Intent.PREFERENCE, Intent.CURRENT_VALUE)), 0.0),
        (Route(intents=(Intent.CURRENT_VALUE,), past_question=PastQuestion.TENSE), 0.0),
        (Route(intents=(), past_question=PastQuestion.TENSE), 0.0),
        (Route(intents=(Intent.CURRENT_VALUE,), as_of_moment=datetime(2026, 3, 1, tzinfo=UTC)), 0.0),
        (Route(intents=(), as_of_moment=datetime(2026, 3, 1, tzinfo=UTC)), 0.0),
    ],
)
def test_which_questions_ask_for_the_newest(route: Route, expected: float) -> None:
    """All in the present tense, by a gain of their own where no value is asked for.

    What is told of a name adds up, so the latest of it is no better; nor is the latest that holds a symbol,
    one of several that a count needs, or the latest taste that advice rests on.
    """
    assert newest_gain(route, Newer(gain=1.0, gain_otherwise=0.25)) == expected


def test_the_earliest_gains_where_the_first_value_is_asked_for() -> None:
    """As the latest does otherwise; with the gain of such questions, of which 0 changes nothing."""
    raw, ones = signals([1, 9, 5]), np.ones(3)
    nobody = np.zeros(3, bool)
    constants = Newer(gain=1.0, gain_first=0.5, compared=4, longest=60)
    found = earliest_factors(ones, raw, constants, nobody, ones).tolist()
    assert found == [1.5, 1.0, 1.25]
    assert earliest_factors(ones, raw, Newer(gain=1.0), nobody, ones).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("past", "probability", "steps"),
    [
        (PastQuestion.FIRST, None, ["earliest"]),
        (PastQuestion.FIRST, 0.2, ["former", "later", "earliest"]),
        (PastQuestion.FIRST, 0.9, ["former", "later"]),
        (PastQuestion.FORMER, None, []),
        (PastQuestion.CHANGES, None, []),
    ],
)
def test_the_order_in_time_decides_only_where_no_link_tells_the_first_value(
    past: PastQuestion, probability: float | None, steps: list[str]
) -> None:
    """Nor for the value before the last one, which is neither the earliest nor the latest."""
    constants = Rank(newer=Newer(gain_first=0.5), outdated=Outdated(enabled=True))
    none = np.empty(0, np.int64)
    link = RelatedPairs(none, none, np.array([1]), np.array([0]), np.array([probability or 0.0]))
    builder = ScoreBuilder(np.array([1.0, 1.1]))
    holding = None if probability is None else link
    nobody, route = np.zeros(2, bool), Route(past_question=past)
    past_steps(builder, StepInput(signals([1, 9]), route, constants, holding, nobody, lambda: np.ones(2)))
    assert [step.name for step in builder.steps] == steps
    if steps:
        assert builder.scores[0] > builder.scores[1]


def test_without_a_gain_the_order_in_time_is_not_computed() -> None:
    """Nor how well the candidates match the question."""
    called: list[bool] = []

    def matched() -> NDArray[np.float64]:
        called.append(True)
        return np.ones(2)

    builder = ScoreBuilder(np.array([1.0, 1.1]))
    route = Route(past_question=PastQuestion.FIRST)
    past_steps(builder, StepInput(signals([1, 9]), route, Rank(), None, np.zeros(2, bool), matched))
    assert builder.steps == []
    assert not called


def test_a_named_time_tells_more_than_the_order() -> None:
    """A question about "the beginning of November" asks for no first value."""
    moment, none = datetime(2022, 11, 1, tzinfo=UTC), np.zeros(2, bool)
    builder = ScoreBuilder(np.array([1.0, 1.1]))
    route = Route(past_question=PastQuestion.FIRST, window=(moment, moment))
    constants = Rank(newer=Newer(gain_first=0.5))
    past_steps(builder, StepInput(signals([1, 9]), route, constants, None, none, lambda: np.ones(2)))
    assert builder.steps == []
