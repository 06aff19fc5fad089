"""Compares a converted encoder with its original.

Runs both as the services do, on `sample_texts`, and compares the vectors of each text. `importing`
publishes no model that fails here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helix_cli.model_build.sample_texts import SAMPLE_TEXTS
from helix_shared.errors import PermanentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_shared.encoders.encoder import Encoder

# Per-channel int8 measures .992 on average and .977 at worst for MiniLM; per tensor it would be .855.
MEAN_COSINE = 0.99
MIN_COSINE = 0.97
UNIT_TOLERANCE = 1e-4


@dataclass(frozen=True, slots=True)
class Fidelity:
    """Cosines between the vectors of the original and of the converted encoder."""

    mean: float
    minimum: float

    @property
    def sufficient(self) -> bool:
        """Whether the converted encoder may replace the original."""
        return self.mean >= MEAN_COSINE and self.minimum >= MIN_COSINE

    def __str__(self) -> str:
        """Both numbers, for the card and for error messages."""
        texts = len(SAMPLE_TEXTS)
        return f"mean cosine {self.mean:.4f}, minimum {self.minimum:.4f} against fp32 on {texts} texts"


def sample_vectors(encoder: Encoder) -> NDArray[np.float32]:
    """Vectors [texts, dimensions] of the sample texts."""
    return encoder.embed_many(SAMPLE_TEXTS)


def compare(reference: NDArray[np.float32], candidate: NDArray[np.float32]) -> Fidelity:
    """Compare two results of `sample_vectors`; that the vectors have length 1 is left to `require_sound`."""
    cosines = np.sum(reference * candidate, axis=1)
    return Fidelity(mean=float(cosines.mean()), minimum=float(cosines.min()))


def require_sound(encoder: Encoder, again: Encoder) -> None:
    """Check properties that every encoder must have, given two loads of the same folder.

    Raises:
        PermanentError: a vector is not a unit vector, or the two loads differ for a text.
    """
    name, vectors = encoder.card.name, sample_vectors(encoder)
    lengths = np.linalg.norm(vectors, axis=1)
    if not np.allclose(lengths, 1.0, atol=UNIT_TOLERANCE):
        raise PermanentError(f"encoder gives vectors of a length other than one: {name}: use another export")
    # the second encoder gets the texts in another order, one by one, and with an empty cache
    for index in reversed(range(len(SAMPLE_TEXTS))):
        if not np.array_equal(again.embed(SAMPLE_TEXTS[index]), vectors[index]):
            raise PermanentError(
                f"encoder gives one text two vectors: {name}: text {index}: use another export"
            )
