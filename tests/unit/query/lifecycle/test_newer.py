"""Where a question asks for what holds, the later of the first candidates count more."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from helix_query.profile.intent import Intent
from helix_query.profile.past import Past
from helix_query.profile.sections.ranking import Newer
from helix_query.recall.candidates import CandidateSignals, Route
from helix_query.recall.lifecycle.newer import newer_factors, newest_gain

CONSTANTS = Newer(gain=1.0, compared=4, longest=60)


def signals(
    days: list[int], *, tokens: int | list[int] = 12, session: int | list[int] = 7
) -> CandidateSignals:
    """Candidates that occurred on these days; length and session of all of them, or of each."""
    count = len(days)
    return cast(
        "CandidateSignals",
        SimpleNamespace(
            occurred_at=np.array(days, np.int64),
            token_count=np.broadcast_to(tokens, count),
            session_code=np.broadcast_to(session, count),
        ),
    )


def factors(scores: list[float], raw: CandidateSignals) -> list[float]:
    """As `newer_factors`."""
    found: list[float] = newer_factors(np.array(scores), raw, CONSTANTS, gain=1.0).tolist()
    return found


def test_what_is_about_somebody_else_gains_nothing() -> None:
    """Nor is it counted among the earlier ones."""
    others = np.array([False, True, False])
    found = newer_factors(np.array([0.9, 0.8, 0.7]), signals([1, 3, 2]), CONSTANTS, others, gain=1.0)
    assert found.tolist() == [1.0, 1.0, 2.0]


def test_the_latest_gains_most_and_the_first_nothing() -> None:
    """By place in time among the first candidates, not by how long ago it was."""
    assert factors([0.9, 0.8, 0.7], signals([3, 900, 5])) == [1.0, 2.0, 1.5]


def test_equal_times_gain_alike() -> None:
    """Statements of one turn keep their order."""
    assert factors([0.9, 0.8, 0.7], signals([5, 5, 3])) == [1.5, 1.5, 1.0]


def test_only_the_first_candidates_are_compared() -> None:
    """The fifth is the latest of all, but small talk of yesterday answers nothing."""
    assert factors([0.9, 0.8, 0.7, 0.6, 0.1], signals([1, 2, 3, 4, 99]))[4] == 1.0


def test_what_scores_far_below_the_best_is_about_something_else() -> None:
    """As a wife who turned 38 where somebody asks how old they are."""
    constants = CONSTANTS.model_copy(update={"least": 0.5})
    found = newer_factors(np.array([0.9, 0.8, 0.4]), signals([1, 2, 3]), constants, gain=1.0)
    assert found.tolist() == [1.0, 2.0, 1.0]


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
        (Route(intents=(Intent.CURRENT_VALUE,), past=Past.TENSE), 0.0),
        (Route(intents=(), past=Past.TENSE), 0.0),
        (Route(intents=(Intent.CURRENT_VALUE,), as_of_moment=datetime(2026, 3, 1, tzinfo=UTC)), 0.0),
        (Route(intents=(), as_of_moment=datetime(2026, 3, 1, tzinfo=UTC)), 0.0),
    ],
)
def test_which_questions_ask_for_the_newest(route: Route, expected: float) -> None:
    """All in the present tense, by a gain of their own where no value is asked for.

    What is told of a name adds up, so the latest of it is no better.
    """
    assert newest_gain(route, Newer(gain=1.0, elsewhere=0.25)) == expected
