"""Late interaction against plain loops, and at its edges."""

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix_query.recall.candidates import LateInteraction
from helix_query.recall.evidence.comparisons import interaction_gains, standard_gains
from helix_query.recall.evidence.late_interaction import nearest_tokens, similarities, word_similarities
from tests.examples import examples

BITS = 128


def tokens_of(random: np.random.Generator, *counts: int) -> tuple[Any, Any]:
    """Random codes of memories with so many tokens, and where each memory ends."""
    codes = random.integers(0, 256, (sum(counts), BITS // 8)).astype(np.uint8)
    return codes, np.cumsum(counts, dtype=np.int64)


def states_of(random: np.random.Generator, count: int) -> Any:
    """Random states of a query."""
    return random.normal(size=(count, BITS)).astype(np.float32)


def cosine_by_loop(state: Any, code: Any) -> float:
    """Cosine of a state with the signs of one token, bit by bit."""
    signs = [1.0 if code[bit // 8] >> (7 - bit % 8) & 1 else -1.0 for bit in range(BITS)]
    product = sum(float(one) * sign for one, sign in zip(state, signs, strict=True))
    return product / (float(np.linalg.norm(state.astype(np.float64))) * BITS**0.5)


def late_of(similarity: Any, rarities: Any, weight: float = 0.5, positions: Any = None) -> LateInteraction:
    """Late interaction of a query with these similarities, [words, candidates]."""
    words, count = np.shape(similarity)
    places = np.arange(count) if positions is None else np.array(positions)
    return LateInteraction(
        places,
        tuple(f"word{number}" for number in range(words)),
        np.array(rarities, np.float64),
        np.array(similarity, np.float64),
        weight,
        np.zeros((words, BITS), np.float32),
        np.arange(words),
    )


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 2**32))
def test_the_nearest_token_is_that_of_a_plain_loop(seed: int) -> None:
    """Memories of no, one and several tokens; those without tokens are left out."""
    random = np.random.default_rng(seed)
    counts = random.integers(0, 4, int(random.integers(1, 9))).tolist()
    codes, ends = tokens_of(random, *counts)
    states = states_of(random, int(random.integers(1, 5)))
    best, filled = nearest_tokens(similarities(states, codes), ends)
    assert filled.tolist() == [memory for memory, count in enumerate(counts) if count]
    for row, memory in enumerate(filled):
        own = codes[ends[memory] - counts[memory] : ends[memory]]
        expected = [max(cosine_by_loop(state, code) for code in own) for state in states]
        assert best[row].tolist() == pytest.approx(expected, abs=1e-5)


def test_a_token_with_the_signs_of_the_state_is_as_near_as_can_be() -> None:
    """Signs of the state itself give 1, the opposite signs -1 for a state of +1 and -1."""
    state = np.where(np.arange(BITS) % 3 == 0, 1.0, -1.0).astype(np.float32)[None]
    codes = np.packbits(np.concatenate([state, -state]) > 0, axis=1)
    assert similarities(state, codes)[:, 0].tolist() == pytest.approx([1.0, -1.0], abs=1e-6)


@pytest.mark.parametrize("counts", [[], [0], [0, 0, 0]])
def test_memories_without_tokens_have_no_nearest_one(counts: list[int]) -> None:
    """Also where there is no memory."""
    random = np.random.default_rng(1)
    codes, ends = tokens_of(random, *counts)
    best, filled = nearest_tokens(similarities(states_of(random, 2), codes), ends)
    assert best.shape == (0, 2)
    assert filled.tolist() == []


@pytest.mark.parametrize("counts", [[0, 3], [3, 0], [0, 1, 0, 0, 2, 0]])
def test_memories_without_tokens_take_nothing_from_their_neighbours(counts: list[int]) -> None:
    """At the beginning, at the end and in a row."""
    random = np.random.default_rng(2)
    codes, ends = tokens_of(random, *counts)
    similarity = similarities(states_of(random, 3), codes)
    best, filled = nearest_tokens(similarity, ends)
    expected = [
        similarity[end - counts[place] : end].max(axis=0) for place, end in enumerate(ends) if counts[place]
    ]
    assert len(filled) == len(expected)
    assert np.array_equal(best, np.array(expected))


def test_a_zero_state_is_near_to_nothing() -> None:
    """It has no direction, and divides nothing by zero."""
    codes, _ = tokens_of(np.random.default_rng(3), 4)
    assert not similarities(np.zeros((1, BITS), np.float32), codes).any()


@pytest.mark.parametrize("count", [1, 7, 63, 511, 513, 1_500])
def test_a_similarity_does_not_depend_on_the_other_tokens(count: int) -> None:
    """Not even in the last bit: matrix products sum the last rows in another order."""
    random = np.random.default_rng(count)
    states, (codes, _) = states_of(random, 5), tokens_of(random, count)
    whole, order = similarities(states, codes), random.permutation(count)
    assert np.array_equal(similarities(states, codes[order]), whole[order])
    assert np.array_equal(similarities(states, codes[:1]), whole[:1])


def test_gains_do_not_depend_on_the_order_of_candidates() -> None:
    """Not even in the last bit."""
    random = np.random.default_rng(8)
    before, found = random.random(50), random.random(50)
    order = random.permutation(50)
    gains = standard_gains(before, np.arange(50), found, 0.5).gains
    assert np.array_equal(standard_gains(before[order], np.arange(50), found[order], 0.5).gains, gains[order])


def test_a_word_is_the_mean_of_its_tokens() -> None:
    """Two tokens of the first word, one of the second, for two memories."""
    best = np.array([[0.25, 0.75, 0.5], [0.5, 0.0, 1.0]], np.float32)
    assert word_similarities(best, np.array([0, 0, 1]), 2).tolist() == [[0.5, 0.25], [0.5, 1.0]]


def test_rare_words_decide() -> None:
    """By hand: scores (3 x .8 + 1 x .2) / 4 = .65 and .35; scores before are 1 and 3, so sigma is 1."""
    gained = interaction_gains(np.array([1.0, 3.0]), late_of([[0.8, 0.4], [0.2, 0.2]], [3.0, 1.0]))
    assert gained.found.tolist() == pytest.approx([0.65, 0.35])
    assert (gained.mean, gained.deviation, gained.scale) == pytest.approx((0.5, 0.15, 0.5))
    assert gained.gains.tolist() == pytest.approx([0.5, -0.5])


def test_what_was_not_compared_keeps_its_score() -> None:
    """Its gain is 0, and no score falls below 0."""
    late = late_of([[0.9, 0.1]], [1.0], weight=10.0, positions=[0, 2])
    gained = interaction_gains(np.array([2.0, 5.0, 0.0]), late)
    assert gained.gains.tolist() == pytest.approx([10.0, 0.0, 0.0])


def test_equal_memories_gain_nothing() -> None:
    """A deviation of 0 divides nothing."""
    gained = interaction_gains(np.array([1.0, 2.0]), late_of([[0.5, 0.5]], [2.0]))
    assert gained.gains.tolist() == [0.0, 0.0]
    assert (gained.deviation, gained.scale) == (1.0, 0.0)


def test_ten_thousand_tokens_take_milliseconds() -> None:
    """50 memories of 200 tokens and 32 states; the bound is loose, for busy machines."""
    random = np.random.default_rng(4)
    codes, ends = tokens_of(random, *[200] * 50)
    states = states_of(random, 32)
    started = time.process_time()
    best, filled = nearest_tokens(similarities(states, codes), ends)
    assert time.process_time() - started < 1.0
    assert best.shape == (50, 32)
    assert len(filled) == 50
