import numpy as np
import pytest

from helix_query.recall.candidates import Ranked
from helix_query.recall.stages.diversify import cover_sessions, distinct, diversify, mmr


def signature(different: int) -> np.ndarray:
    """A MinHash signature that differs from `signature(0)` in so many places."""
    values = np.arange(64, dtype=np.uint32)
    values[:different] += 1000
    return values


def test_near_duplicates_go_and_the_better_one_stays() -> None:
    """64 permutations: 12 differing is Jaccard .8125 and out, 13 differing .796875 and stays."""
    signatures = np.stack([signature(0), signature(12), signature(13)])
    assert distinct(signatures, threshold=0.8, enough=9).tolist() == [0, 2]


def test_a_duplicate_of_a_dropped_one_is_compared_with_those_kept() -> None:
    """2 resembles 1, which is out, but not 0: it stays."""
    signatures = np.stack([signature(0), signature(12), signature(24)])
    assert distinct(signatures, threshold=0.8, enough=9).tolist() == [0, 2]


def test_mmr_by_hand() -> None:
    """Relevance 1, .9, .5; the second is the twin of the first (cosine 1), the third orthogonal.

    Lambda .5: first 1; then .5 x .9 - .5 x 1 = -.05 against .5 x .5 - 0 = .25: the third; then the twin.
    """
    vectors = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    relevance = np.array([1.0, 0.9, 0.5])
    assert mmr(relevance, vectors, weight=0.5, count=3).tolist() == [0, 2, 1]
    assert mmr(relevance, vectors, weight=1.0, count=3).tolist() == [0, 1, 2]
    assert mmr(relevance, vectors, weight=0.5, count=2).tolist() == [0, 2]


def test_mmr_looks_at_the_closest_chosen_one() -> None:
    """Chosen 0 and 1; candidate 2 is .6 from 0 and .8 from 1, so .8 counts."""
    vectors = np.array([[1, 0], [0, 1], [0.6, 0.8], [-1, 0]], np.float32)
    relevance = np.array([1.0, 1.0, 0.95, 0.5])
    # round 3: .5 x .95 - .5 x .8 = .075 against .5 x .5 - .5 x 0 = .25
    assert mmr(relevance, vectors, weight=0.5, count=4).tolist() == [0, 3, 1, 2]


def test_best_of_each_session_comes_first() -> None:
    """Sessions 1 1 2 0 0: leads are rows 0, 2, 3 and 4 (no session stands for itself), then row 1."""
    order = cover_sessions(np.array([1.0, 0.9, 0.8, 0.7, 0.6]), np.array([1, 1, 2, 0, 0]), floor=0.5)
    assert order.tolist() == [0, 2, 3, 4, 1]


def test_a_weak_session_does_not_come_first() -> None:
    """Session 2's best has .3 of the top and stays where it is."""
    assert cover_sessions(np.array([1.0, 0.9, 0.3]), np.array([1, 1, 2]), floor=0.5).tolist() == [0, 1, 2]


def test_scores_and_positions_stay_together() -> None:
    """What is returned keeps the score it was ranked with."""
    ranked = Ranked(np.array([7, 3, 5]), np.array([0.9, 0.8, 0.1]))
    chosen = diversify(
        ranked,
        minhashes=np.stack([signature(0), signature(1), signature(40)]),
        vectors=np.eye(3, dtype=np.float32).__getitem__,
        sessions=np.zeros(3, np.int64),
        count=5,
    )
    assert chosen.positions.tolist() == [7, 5]
    assert chosen.scores.tolist() == pytest.approx([0.9, 0.1])


def test_nothing_stays_nothing() -> None:
    """An empty ranking passes through."""
    empty = diversify(
        Ranked(np.empty(0, np.int64), np.empty(0)),
        minhashes=np.empty((0, 64), np.uint32),
        vectors=np.empty((0, 4), np.float32).__getitem__,
        sessions=np.empty(0, np.int64),
        count=3,
        session_floor=0.5,
    )
    assert len(empty) == 0
