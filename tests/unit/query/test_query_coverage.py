import numpy as np
import pytest

from helix_query.profile.files import load_profiles
from helix_query.recall.candidates import Ranked
from helix_query.recall.stages.diversify import diversify
from helix_query.recall.stages.session_coverage import cover_then_mmr, jaccard, session_leads


def signature(different: int, base: int = 0) -> np.ndarray:
    """A MinHash signature of 64 that differs from `signature(0, base)` in so many places."""
    values = np.arange(64, dtype=np.uint32) + base
    values[:different] += 100_000
    return values


def test_jaccard_is_the_share_of_equal_permutations() -> None:
    """16 of 64 differ: .75."""
    likeness = jaccard(np.stack([signature(0), signature(16), signature(64)]), signature(0))
    assert likeness.tolist() == pytest.approx([1.0, 0.75, 0.0])


def test_leads_are_the_best_of_each_session_above_the_floor() -> None:
    """Sessions 7 7 8 0 0: rows 0, 2, 3, 4; from .5 of the best on, only 0, 2 and 3."""
    scores, sessions = np.array([1.0, 0.9, 0.8, 0.6, 0.4]), np.array([7, 7, 8, 0, 0])
    assert session_leads(scores, sessions, floor=0.0).tolist() == [0, 2, 3, 4]
    assert session_leads(scores, sessions, floor=0.5).tolist() == [0, 2, 3]
    assert len(session_leads(np.empty(0), np.empty(0, np.int64), floor=0.0)) == 0


def test_the_rest_follows_by_mmr_with_jaccard_by_hand() -> None:
    """Lead 0. Row 1: .6 x .9 - .4 x .75 = .24, row 2: .6 x .5 - .4 x 0 = .3: row 2 is next."""
    signatures = np.stack([signature(0), signature(16), signature(0, base=1_000)])
    order = cover_then_mmr(np.array([1.0, 0.9, 0.5]), signatures, np.array([0]), weight=0.6, count=3)
    assert order.tolist() == [0, 2, 1]


def test_leads_alone_may_fill_the_answer() -> None:
    """Two wanted, three sessions."""
    signatures = np.stack([signature(0), signature(1), signature(2)])
    order = cover_then_mmr(np.array([1.0, 0.9, 0.5]), signatures, np.array([0, 1, 2]), weight=0.6, count=2)
    assert order.tolist() == [0, 1]


def test_cems_answers_an_aggregation_question_from_every_session_first() -> None:
    """Sessions 1 1 2, then of session 1 what repeats its lead less: scores 1, .9, .8, .7, lambda .6.

    Normalised .6667 and 0: row 1 is .75 like row 0: .6 x .6667 - .4 x .75 = .1; row 3: 0 - 0 = 0.
    """
    constants = load_profiles()["cems"].diversify
    chosen = diversify(
        Ranked(np.arange(4), np.array([1.0, 0.9, 0.8, 0.7])),
        minhashes=np.stack([signature(0), signature(16), signature(0, base=1_000), signature(0, base=9_000)]),
        vectors=np.zeros((4, 2), np.float32).__getitem__,
        sessions=np.array([1, 1, 2, 1]),
        count=4,
        near_duplicate=constants.near_duplicate,
        mmr_lambda=constants.mmr_lambda,
        session_floor=constants.session_floor,
        coverage_lambda=constants.coverage_lambda,
    )
    assert chosen.positions.tolist() == [0, 2, 1, 3]
