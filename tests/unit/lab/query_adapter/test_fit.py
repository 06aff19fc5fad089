"""The fit of the query adapter: its slopes are derivatives, and it finds what was planted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from helix_lab.query_adapter.fit import SHARPNESS, fit, require_own_codes, states_slope, vectors_slope
from helix_lab.query_adapter.observations import Observation
from helix_shared.encoders.model import read_card
from helix_shared.encoders.store import default_model
from helix_shared.encoders.token_codes import CODE_BITS
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

DIMENSIONS = 6
MEMORIES = 5
TINY = 1e-2
PROJECTION = np.eye(DIMENSIONS, CODE_BITS, dtype=np.float32)


def units(*shape: int, seed: int) -> NDArray[np.float32]:
    """Random rows of length one."""
    rows = np.random.default_rng(seed).normal(size=shape)
    found: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)
    return found


def observation(seed: int, *, turn: NDArray[np.float32] | None = None) -> Observation:
    """A question with one relevant memory; `turn` makes the question's vector from that memory's."""
    made = np.random.default_rng(seed)
    memories = units(MEMORIES, DIMENSIONS, seed=seed)
    relevant = np.arange(MEMORIES) == seed % MEMORIES
    vector = units(DIMENSIONS, seed=seed + 1) if turn is None else memories[seed % MEMORIES] @ turn
    lengths = made.integers(1, 4, size=MEMORIES)
    return Observation(
        "mine",
        "ann",
        vector.astype(np.float32),
        memories,
        relevant,
        units(3, CODE_BITS, seed=seed + 2),
        np.array([0.5, 0.3, 0.2], np.float32),
        made.integers(0, 256, size=(int(lengths.sum()), CODE_BITS // 8)).astype(np.uint8),
        np.cumsum(lengths),
        relevant,
    )


def lost(scores: NDArray[np.float32], is_relevant: NDArray[np.bool_]) -> float:
    """-log(probability of the relevant)."""
    powers = np.exp(SHARPNESS * (scores - scores.max()).astype(np.float64))
    return float(-np.log(powers[is_relevant].sum() / powers.sum()))


def loss_of_vector(one: Observation, matrix: NDArray[np.float32]) -> float:
    """The loss over cosines, written plainly."""
    moved = one.vector + one.vector @ matrix
    return lost(one.memories @ (moved / np.linalg.norm(moved)), one.is_relevant)


def loss_of_states(one: Observation, matrix: NDArray[np.float32]) -> float:
    """The loss over late interactions, written plainly."""
    moved = one.states + one.states @ matrix
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    tokens = np.split(one.signs, one.ends[:-1])
    scores = [one.weights @ (moved @ some.T / np.sqrt(CODE_BITS)).max(axis=1) for some in tokens]
    return lost(np.array(scores), one.compared_relevant)


def one_vector_slope(one: Observation, matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """The slope over cosines of one question."""
    return vectors_slope([one], matrix)


@pytest.mark.parametrize("seed", range(4))
def test_the_slopes_are_derivatives(seed: int) -> None:
    """Both against differences of the loss in a random direction."""
    one = observation(seed)
    for slope, loss, size in (
        (one_vector_slope, loss_of_vector, DIMENSIONS),
        (states_slope, loss_of_states, CODE_BITS),
    ):
        at = 0.05 * units(size, size, seed=seed + 7)
        direction = units(size, size, seed=seed + 8) / np.float32(np.sqrt(size))
        step = TINY * direction
        measured = (loss(one, at + step) - loss(one, at - step)) / (2 * TINY)
        assert float((slope(one, at) * direction).sum()) == pytest.approx(measured, rel=0.05, abs=0.02)


@pytest.mark.long
def test_a_planted_turn_is_found() -> None:
    """Questions that are the memories turned a little are answered better, also those that were left out."""
    turn = np.eye(DIMENSIONS, dtype=np.float32) + 0.9 * units(DIMENSIONS, DIMENSIONS, seed=99)
    seen = [observation(seed, turn=turn) for seed in range(2_000)]
    left_out = [observation(seed, turn=turn) for seed in range(5_000, 5_200)]
    adapter = fit("0" * 64, PROJECTION, seen)
    before = np.mean([loss_of_vector(one, np.zeros_like(turn)) for one in left_out])
    after = np.mean([loss_of_vector(one, adapter.of_vector) for one in left_out])
    assert after < 0.9 * before
    assert np.array_equal(
        fit("0" * 64, PROJECTION, seen[:64]).of_states, fit("0" * 64, PROJECTION, seen[:64]).of_states
    )


def test_a_question_whose_words_cannot_be_compared_has_no_slope() -> None:
    """All compared memories are relevant: there is nothing to tell apart."""
    one = observation(1)
    alike = Observation(
        one.set_name, one.tenant, one.vector, one.memories, one.is_relevant, one.states, one.weights,
        one.codes, one.ends, np.ones(MEMORIES, np.bool_),
    )  # fmt: skip
    assert not states_slope(alike, np.zeros((CODE_BITS, CODE_BITS), np.float32)).any()


def test_a_fit_that_begins_with_an_adapter_stays_near_it() -> None:
    """No step leaves it as it was; smaller steps stay nearer; the adapter itself does not change."""
    start = fit("0" * 64, PROJECTION, [observation(seed) for seed in range(64)])
    seen = [observation(seed) for seed in range(100, 164)]
    before = start.of_vector.copy()
    same = fit("0" * 64, PROJECTION, seen, start=start, steps=0)
    near, far = (fit("0" * 64, PROJECTION, seen, start=start, steps=20, size=one) for one in (1e-4, 1e-3))
    assert np.array_equal(same.of_vector, before)
    assert np.array_equal(same.of_states, start.of_states)
    assert np.array_equal(start.of_vector, before)
    moved = [float(np.abs(one.of_vector - before).max()) for one in (near, far)]
    assert 0 < moved[0] < moved[1] < 20 * 1e-3
    alone = fit("0" * 64, PROJECTION, seen, start=start, steps=20, size=1e-3, with_states=False)
    assert np.array_equal(alone.of_vector, far.of_vector)
    assert np.array_equal(alone.of_states, start.of_states)
    losses = [np.mean([loss_of_vector(one, its.of_vector) for one in seen]) for its in (start, far)]
    assert losses[1] < losses[0]


def test_too_few_questions_are_refused() -> None:
    """Without a single step the adapter would be zeros."""
    with pytest.raises(InvalidInputError, match="have 3 answered questions, a fit needs 32"):
        fit("0" * 64, PROJECTION, [observation(seed) for seed in range(3)])


def test_codes_of_a_late_interaction_model_are_not_fitted_to(models_dir: Path) -> None:
    """An adapter holds the projection of the encoder's own states; the model is named."""
    card = read_card(default_model(models_dir))
    require_own_codes(card)
    inner = {"late_interaction/late_interaction.json": "0" * 64}
    late = card.model_copy(update={"name": "late", "files": card.files | inner})
    with pytest.raises(InvalidInputError, match="late has token codes of a second model"):
        require_own_codes(late)
