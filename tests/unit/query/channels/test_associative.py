import math

import numpy as np
import pytest

from helix_query.recall.channels.associative import completed_state


def test_the_new_state_by_hand() -> None:
    """Patterns (1, 0) and (.6, .8), query (1, 0), beta 8: energies 8 and 4.8, attention e^0 and e^-3.2.

    e^-3.2 = .0407622: shares .960834 and .039166; the state (.984334, .031333) has length .984832.
    """
    patterns = np.array([[1.0, 0.0], [0.6, 0.8]], np.float32)
    state = completed_state(np.array([1.0, 0.0], np.float32), patterns, beta=8.0)
    assert state.tolist() == pytest.approx([0.984334 / 0.984832, 0.031333 / 0.984832], abs=1e-5)


def test_a_large_beta_retrieves_the_nearest_pattern_itself() -> None:
    """Ramsauer et al.: metastable states become single patterns as beta grows."""
    patterns = np.array([[1.0, 0.0], [0.6, 0.8]], np.float32)
    query = np.array([math.cos(0.6), math.sin(0.6)], np.float32)
    assert completed_state(query, patterns, beta=10_000.0).tolist() == pytest.approx([0.6, 0.8], abs=1e-6)


def test_a_beta_near_zero_is_the_mean_of_all_patterns() -> None:
    """(1, 0) and (0, 1) converge to the middle for every query."""
    state = completed_state(np.array([1.0, 0.0], np.float32), np.eye(2, dtype=np.float32), beta=1e-9)
    assert state.tolist() == pytest.approx([math.sqrt(0.5)] * 2)


def test_the_state_is_a_unit_vector() -> None:
    """The dense index compares by cosine."""
    generator = np.random.default_rng(5)
    patterns = generator.normal(size=(30, 384)).astype(np.float32)
    assert np.linalg.norm(completed_state(patterns[0], patterns, beta=8.0)) == pytest.approx(1.0, abs=1e-6)


def test_without_patterns_there_is_no_state() -> None:
    """Nothing was found, or what was found cancels out: zero, and the channel finds nothing."""
    query = np.array([1.0, 0.0], np.float32)
    assert not completed_state(query, np.empty((0, 2), np.float32), beta=8.0).any()
    assert not completed_state(query, np.array([[0.0, 1.0], [0.0, -1.0]], np.float32), beta=8.0).any()
