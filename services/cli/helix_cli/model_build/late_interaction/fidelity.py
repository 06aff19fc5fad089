"""Compares a quantised late-interaction model with its original, by the states of the tokens of sample texts.

MaxSim compares directions, so the cosines of the states count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_cli.model_build.sample_texts import SAMPLE_TEXTS
from helix_shared.errors import PermanentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_shared.encoders.late_interaction import LateInteractionModel

MEAN_COSINE: Final = 0.98


@dataclass(frozen=True, slots=True)
class Fidelity:
    """Mean cosine between the states of the original and of the converted model."""

    mean: float

    @property
    def sufficient(self) -> bool:
        """Whether the converted model may replace the original."""
        return self.mean >= MEAN_COSINE

    def __str__(self) -> str:
        """The number, for the card and for error messages."""
        return f"mean cosine {self.mean:.4f} of token states against fp32 on {len(SAMPLE_TEXTS)} texts"


def sample_states(model: LateInteractionModel) -> NDArray[np.float64]:
    """Unit states [tokens, d] of the sample texts as queries, then as passages; 0 for a state of length 0."""
    runs = [*map(model.query, SAMPLE_TEXTS), *map(model.passage, SAMPLE_TEXTS)]
    states = np.concatenate([run.states for run in runs]).astype(np.float64)
    lengths = np.linalg.norm(states, axis=1, keepdims=True)
    unit: NDArray[np.float64] = np.divide(states, lengths, out=np.zeros_like(states), where=lengths > 0)
    return unit


def compare(reference: NDArray[np.float64], candidate: NDArray[np.float64]) -> Fidelity:
    """Compare two results of `sample_states`."""
    return Fidelity(float(np.sum(reference * candidate, axis=1).mean()))


def require_sound(name: str, states: NDArray[np.float64], again: NDArray[np.float64]) -> None:
    """Check properties that every late-interaction model must have, given two loads of the same folder.

    Raises:
        PermanentError: a state is not finite, all are the same, or the two loads differ.
    """
    if not np.isfinite(states).all():
        raise PermanentError(f"late-interaction model gives states that are no numbers: {name}")
    if not states.std(axis=0).any():
        raise PermanentError(f"late-interaction model gives all tokens the same state: {name}")
    if not np.array_equal(states, again):
        raise PermanentError(f"late-interaction model gives one text two states: {name}")
