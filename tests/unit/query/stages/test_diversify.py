import numpy as np
import pytest

from helix_query.profile.files import load_profiles
from helix_query.recall.candidates import Ranked
from helix_query.recall.evidence.written_values import written_values
from helix_query.recall.stages.diversify import (
    Similarity,
    diverse,
    jaccard,
    mmr,
    session_leads,
    without_near_duplicates,
)


def signature(different: int, base: int = 0) -> np.ndarray:
    """A MinHash signature of 64 that differs from `signature(0, base)` in so many places."""
    values = np.arange(64, dtype=np.uint32) + base
    values[:different] += 100_000
    return values


def cosines(vectors: np.ndarray) -> Similarity:
    """Cosine of every row with one of them."""
    return lambda row: (vectors @ vectors[row]).astype(np.float64)


def likenesses(signatures: np.ndarray) -> Similarity:
    """Estimated Jaccard coefficient of every row with one of them."""
    return lambda row: jaccard(signatures, signatures[row])


def test_near_duplicates_go_and_the_better_one_stays() -> None:
    """64 permutations: 12 differing is Jaccard .8125 and out, 13 differing .796875 and stays."""
    signatures = np.stack([signature(0), signature(12), signature(13)])
    assert without_near_duplicates(signatures, threshold=0.8, enough=9).tolist() == [0, 2]


def test_the_same_wording_with_another_value_is_no_duplicate() -> None:
    """1 has another number than 0, and 2 the number of 0; a text is read only for similar rows."""
    signatures = np.stack([signature(0), signature(3), signature(4), signature(40)])
    texts = ["412 euros", "655 euros", "412 euros, thanks"]

    def values(row: int) -> frozenset[str]:
        return written_values(texts[row])

    assert without_near_duplicates(signatures, threshold=0.8, enough=9, values=values).tolist() == [0, 1, 3]


def test_a_duplicate_of_a_dropped_one_is_compared_with_those_kept() -> None:
    """2 resembles 1, which is out, but not 0: it stays."""
    signatures = np.stack([signature(0), signature(12), signature(24)])
    assert without_near_duplicates(signatures, threshold=0.8, enough=9).tolist() == [0, 2]


def test_of_a_statement_and_its_restatements_the_best_stays() -> None:
    """1 restates 0 and is out; 3 restates 1 alone, which is out, so it stays."""
    signatures = np.stack([signature(0, base=number * 1_000) for number in range(4)])
    restated = {0: frozenset({1}), 1: frozenset({0, 3}), 3: frozenset({1})}
    assert without_near_duplicates(signatures, threshold=0.8, enough=9, restated=restated).tolist() == [
        0,
        2,
        3,
    ]
    assert without_near_duplicates(signatures, threshold=0.8, enough=9).tolist() == [0, 1, 2, 3]


def test_mmr_by_hand() -> None:
    """Relevance 1, .9, .5; the second is the twin of the first (cosine 1), the third orthogonal.

    Lambda .5: first 1; then .5 x .9 - .5 x 1 = -.05 against .5 x .5 - 0 = .25: the third; then the twin.
    """
    vectors = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    relevance = np.array([1.0, 0.9, 0.5])
    assert mmr(relevance, cosines(vectors), weight=0.5, count=3).tolist() == [0, 2, 1]
    assert mmr(relevance, cosines(vectors), weight=1.0, count=3).tolist() == [0, 1, 2]
    assert mmr(relevance, cosines(vectors), weight=0.5, count=2).tolist() == [0, 2]


def test_mmr_looks_at_the_closest_chosen_one() -> None:
    """Chosen 0 and 1; candidate 2 is .6 from 0 and .8 from 1, so .8 counts."""
    vectors = np.array([[1, 0], [0, 1], [0.6, 0.8], [-1, 0]], np.float32)
    relevance = np.array([1.0, 1.0, 0.95, 0.5])
    # round 3: .5 x .95 - .5 x .8 = .075 against .5 x .5 - .5 x 0 = .25
    assert mmr(relevance, cosines(vectors), weight=0.5, count=4).tolist() == [0, 3, 1, 2]


def test_rows_that_come_first_count_against_novelty_by_hand() -> None:
    """Row 0 first. Row 1: .6 x .9 - .4 x .75 = .24, row 2: .6 x .5 - .4 x 0 = .3: row 2 is next."""
    signatures = np.stack([signature(0), signature(16), signature(0, base=1_000)])
    relevance = np.array([1.0, 0.9, 0.5])
    order = mmr(relevance, likenesses(signatures), weight=0.6, count=3, first=[0])
    assert order.tolist() == [0, 2, 1]


def test_rows_that_come_first_may_fill_the_answer() -> None:
    """Three candidates for two places."""
    signatures = np.stack([signature(0), signature(1), signature(2)])
    order = mmr(np.array([1.0, 0.9, 0.5]), likenesses(signatures), weight=0.6, count=2, first=[0, 1, 2])
    assert order.tolist() == [0, 1]


def test_without_novelty_the_others_follow_by_relevance() -> None:
    """Weight 1."""
    relevance = np.array([1.0, 0.9, 0.8, 0.7, 0.6])
    order = mmr(relevance, cosines(np.eye(5)), weight=1.0, count=5, first=[0, 2, 3, 4])
    assert order.tolist() == [0, 2, 3, 4, 1]


def test_leads_are_the_best_of_each_session_above_the_floor() -> None:
    """Sessions 7 7 8 0 0: rows 0, 2, 3, 4; from .5 of the best on, only 0, 2 and 3."""
    scores, sessions = np.array([1.0, 0.9, 0.8, 0.6, 0.4]), np.array([7, 7, 8, 0, 0])
    assert session_leads(scores, sessions, floor=0.0).tolist() == [0, 2, 3, 4]
    assert session_leads(scores, sessions, floor=0.5).tolist() == [0, 2, 3]
    assert len(session_leads(np.empty(0), np.empty(0, np.int64), floor=0.0)) == 0


def test_jaccard_is_the_share_of_equal_permutations() -> None:
    """16 of 64 differ: .75."""
    likeness = jaccard(np.stack([signature(0), signature(16), signature(64)]), signature(0))
    assert likeness.tolist() == pytest.approx([1.0, 0.75, 0.0])


def test_scores_and_positions_stay_together() -> None:
    """What is returned keeps the score it was ranked with."""
    ranked = Ranked(np.array([7, 3, 5]), np.array([0.9, 0.8, 0.1]))
    chosen = diverse(
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
    empty = diverse(
        Ranked(np.empty(0, np.int64), np.empty(0)),
        minhashes=np.empty((0, 64), np.uint32),
        vectors=np.empty((0, 4), np.float32).__getitem__,
        sessions=np.empty(0, np.int64),
        count=3,
        session_floor=0.5,
    )
    assert len(empty) == 0


def test_cems_answers_an_aggregation_question_from_every_session_first() -> None:
    """Sessions 1 1 2, then of session 1 what repeats its lead less: scores 1, .9, .8, .7, lambda .6.

    Normalised .6667 and 0: row 1 is .75 like row 0: .6 x .6667 - .4 x .75 = .1; row 3: 0 - 0 = 0.
    """
    constants = load_profiles()["cems"].diversify
    chosen = diverse(
        Ranked(np.arange(4), np.array([1.0, 0.9, 0.8, 0.7])),
        minhashes=np.stack([signature(0), signature(16), signature(0, base=1_000), signature(0, base=9_000)]),
        vectors=np.zeros((4, 2), np.float32).__getitem__,
        sessions=np.array([1, 1, 2, 1]),
        count=4,
        near_duplicate=constants.near_duplicate,
        mmr_lambda=constants.mmr_lambda,
        session_floor=constants.session_floor,
        session_mmr_lambda=constants.session_mmr_lambda,
    )
    assert chosen.positions.tolist() == [0, 2, 1, 3]
