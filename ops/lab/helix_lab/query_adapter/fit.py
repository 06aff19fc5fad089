"""Fit of the query adapter: softmax over the candidates of a question, by Adam (Kingma, Ba 2015), in numpy.

For every question two losses of the kind -log(probability of the relevant), one over cosines and one over
late interactions, both times `SHARPNESS`. Matrices begin with zeros and few rounds are made: on questions
that were left out, further rounds bring nothing (ops/decisions/0053). A fit to the feedback of a tenant
begins with the adapter of the package instead (0064).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from helix_lab.query_adapter.observations import Floats, Observation
from helix_shared.encoders.model import ModelCard
from helix_shared.encoders.query_adapter import QueryAdapter
from helix_shared.encoders.token_codes import CODE_BITS
from helix_shared.errors import InvalidInputError

SHARPNESS: Final = 20.0
ROUNDS: Final = 6
BATCH_QUESTIONS: Final = 32
"""Questions between two steps."""
STEP: Final = 2e-4
"""First step; steps fall evenly to 0."""
SEED: Final = 0
_MOMENTUM, _SQUARES, _LEAST = 0.9, 0.999, 1e-8
_ROOT_BITS: Final = np.float32(np.sqrt(CODE_BITS))


def fit(
    encoder: str,
    projection: Floats,
    seen: Sequence[Observation],
    *,
    start: QueryAdapter | None = None,
    steps: int | None = None,
    size: float = STEP,
    with_states: bool = True,
) -> QueryAdapter:
    """The adapter of these questions, for the model of this checksum (`ModelCard.encoder_checksum`).

    `projection` [d, CODE_BITS] is that of the observed states and of `start`, with which the fit begins;
    without it that is zeros. `steps` are of `BATCH_QUESTIONS` each, by default those of `ROUNDS` rounds;
    the first has `size`. Together they bound how far the fit can go. The two matrices do not depend on each
    other: without `with_states` that of the vector is the same, and that of the states stays as it was.

    Raises:
        InvalidInputError: there are fewer than `BATCH_QUESTIONS` questions.
    """
    if len(seen) < BATCH_QUESTIONS:
        raise InvalidInputError("sets", f"have {len(seen)} answered questions, a fit needs {BATCH_QUESTIONS}")
    dimensions = len(seen[0].vector)
    zeros = [np.zeros((size, size), np.float32) for size in (dimensions, CODE_BITS)]
    vector, states = (_Adam(one) for one in (zeros if start is None else (start.of_vector, start.of_states)))
    count = ROUNDS * (len(seen) // BATCH_QUESTIONS) if steps is None else steps
    for done, places in enumerate(islice(_batches(len(seen)), count)):
        some = [seen[place] for place in places]
        falling = size * (1.0 - done / count)
        vector.step(vectors_slope(some, vector.values) / np.float32(BATCH_QUESTIONS), falling)
        if with_states:
            slopes = sum((states_slope(one, states.values) for one in some), np.zeros_like(states.values))
            states.step(slopes / np.float32(BATCH_QUESTIONS), falling)
    return QueryAdapter(encoder, vector.values, states.values, projection)


def _batches(questions: int) -> Iterator[list[int]]:
    """Places of `BATCH_QUESTIONS` at a time; each round in another order, without what is left over."""
    order = np.random.default_rng(SEED)
    while True:
        places = order.permutation(questions).tolist()
        for first in range(0, questions - BATCH_QUESTIONS + 1, BATCH_QUESTIONS):
            yield places[first : first + BATCH_QUESTIONS]


def vectors_slope(some: Sequence[Observation], of_vector: Floats) -> Floats:
    """Derivative [d, d] of the sum of the losses over cosines by the adapter's matrix."""
    vectors = np.stack([one.vector for one in some])
    moved = vectors + vectors @ of_vector
    slopes = np.empty_like(moved)
    for place, one in enumerate(some):
        length = np.linalg.norm(moved[place])
        unit = moved[place] / length
        slope = _slope(one.memories @ unit, one.is_relevant) @ one.memories
        slopes[place] = (slope - unit * (unit @ slope)) / length
    found: Floats = vectors.T @ slopes
    return found


def states_slope(one: Observation, of_states: Floats) -> Floats:
    """Derivative [CODE_BITS, CODE_BITS] of the loss over late interactions by the adapter's matrix."""
    if not len(one.states) or not one.compared_relevant.any() or one.compared_relevant.all():
        return np.zeros_like(of_states)
    signs = one.signs / _ROOT_BITS
    moved = one.states + one.states @ of_states
    lengths = np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-9)
    units = moved / lengths
    nearest = _nearest(units @ signs.T, one.ends)
    best = np.einsum("sb,scb->sc", units, signs[nearest])
    slope = _slope(one.weights @ best, one.compared_relevant)
    of_units = one.weights[:, None] * np.einsum("c,scb->sb", slope, signs[nearest])
    inward = units * (units * of_units).sum(axis=1, keepdims=True)
    found: Floats = one.states.T @ ((of_units - inward) / lengths)
    return found


def _slope(scores: Floats, is_relevant: NDArray[np.bool_]) -> Floats:
    """Derivative of -log(probability of the relevant) by the scores."""
    powers = np.exp(SHARPNESS * (scores - scores.max()))
    among = np.where(is_relevant, powers, 0.0)
    found: Floats = (SHARPNESS * (powers / powers.sum() - among / max(float(among.sum()), 1e-30))).astype(
        np.float32
    )
    return found


def _nearest(similarity: Floats, ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Token [states, memories] of each memory that is most similar to each state [states, tokens]."""
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
    return np.stack(
        [
            start + similarity[:, start:end].argmax(axis=1)
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ],
        axis=1,
    )


class _Adam:
    """Values that begin with `start`, and the moments of their slopes."""

    def __init__(self, start: Floats) -> None:
        self.values = start.copy()
        self._mean, self._square, self._count = np.zeros(start.shape), np.zeros(start.shape), 0

    def step(self, slope: Floats, size: float) -> None:
        """Go `size` against the slope."""
        self._count += 1
        self._mean = _MOMENTUM * self._mean + (1.0 - _MOMENTUM) * slope
        self._square = _SQUARES * self._square + (1.0 - _SQUARES) * slope**2
        mean = self._mean / (1.0 - _MOMENTUM**self._count)
        square = self._square / (1.0 - _SQUARES**self._count)
        self.values -= (size * mean / (np.sqrt(square) + _LEAST)).astype(np.float32)


def require_own_codes(card: ModelCard) -> None:
    """Refuse a model whose token codes are of another model than its vectors.

    Raises:
        InvalidInputError: names the model.
    """
    if card.has_late_interaction or card.has_query_encoder:
        raise InvalidInputError(
            "model",
            f"{card.name} has token codes of a second model: an adapter is fitted to those of one encoder",
        )
