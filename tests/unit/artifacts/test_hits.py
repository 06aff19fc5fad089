"""Hits: scores by ordinal."""

import numpy as np

from helix_shared.artifacts.hits import Hits


def test_scores_are_looked_up_by_ordinal() -> None:
    """In the order of the ordinals asked for; 0 for an ordinal that is not a hit."""
    hits = Hits(np.array([7, 2, 5], np.int64), np.array([3.0, 2.0, 1.0], np.float32))
    assert hits.scores_of(np.array([5, 9, 7, 1, 5], np.int64)).tolist() == [1.0, 0.0, 3.0, 0.0, 1.0]


def test_no_hits_have_no_scores() -> None:
    """No hits, and no ordinals asked for."""
    assert Hits.none().scores_of(np.array([4, 2], np.int64)).tolist() == [0.0, 0.0]
    assert (
        Hits(np.array([1], np.int64), np.ones(1, np.float32)).scores_of(np.empty(0, np.int64)).tolist() == []
    )


def test_equal_scores_can_go_by_a_key() -> None:
    """Ordinals are those of one data folder; a rebuild gives others."""
    hits = Hits(np.array([4, 7, 2, 9]), np.array([3, 2, 2, 1], np.float32))
    assert hits.with_ties_by(lambda ordinals: -ordinals).ordinals.tolist() == [4, 7, 2, 9]
    assert hits.with_ties_by(np.zeros_like).ordinals.tolist() == [4, 2, 7, 9]
    assert not len(Hits.none().with_ties_by(np.zeros_like))
