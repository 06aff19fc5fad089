"""Compares a quantised cross-encoder with its original, by the logits of sample pairs.

The query service standardises the logits of the candidates of a query, so only their linear relation counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_cli.model_build.sample_texts import SAMPLE_TEXTS
from helix_shared.errors import PermanentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_shared.encoders.cross_encoder import CrossEncoder

MIN_CORRELATION: Final = 0.98
"""Pearson's, over all sample pairs."""
QUERIES: Final = SAMPLE_TEXTS[18:24]
"""Questions of the sample texts."""
PASSAGES: Final = SAMPLE_TEXTS[:18]


@dataclass(frozen=True, slots=True)
class Fidelity:
    """How well the logits of the original and of the converted model agree."""

    correlation: float

    @property
    def sufficient(self) -> bool:
        """Whether the converted model may replace the original."""
        return self.correlation >= MIN_CORRELATION

    def __str__(self) -> str:
        """The number, for the card and for error messages."""
        pairs = len(QUERIES) * len(PASSAGES)
        return f"correlation {self.correlation:.4f} of the logits against fp32 on {pairs} pairs"


def sample_logits(model: CrossEncoder) -> NDArray[np.float64]:
    """Logits [queries x passages] of the sample pairs."""
    found = [model.logits(query, PASSAGES) for query in QUERIES]
    return np.concatenate([logits for logits in found if logits is not None])


def compare(reference: NDArray[np.float64], candidate: NDArray[np.float64]) -> Fidelity:
    """Compare two results of `sample_logits`; those of `reference` must differ from each other."""
    is_varied = candidate.std() > 0
    return Fidelity(float(np.corrcoef(reference, candidate)[0, 1]) if is_varied else 0.0)


def require_sound(name: str, logits: NDArray[np.float64], again: NDArray[np.float64]) -> None:
    """Check properties that every cross-encoder must have, given the logits of two loads of the same folder.

    Raises:
        PermanentError: all pairs have the same logit, or the two loads differ for a pair.
    """
    if not logits.std():
        raise PermanentError(f"cross-encoder gives all pairs the same logit: {name}: use another export")
    if not np.array_equal(logits, again):
        raise PermanentError(f"cross-encoder gives one pair two logits: {name}: use another export")
