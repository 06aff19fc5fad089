"""Intents by example: a query near the mean embedding of an intent's example questions.

The examples stand in `examples.toml` and are embedded once, when an encoder is warmed. `plain` is the
centroid of questions without any of these intents; an intent must beat it by a margin, so that
a model whose cosines all lie high routes no differently from one whose cosines lie low.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.profile.intent import Intent

if TYPE_CHECKING:
    from numpy.typing import NDArray

PLAIN: Final = "plain"


@dataclass(frozen=True, slots=True)
class Centroids:
    """Unit vectors, one row per intent, and that of plain questions."""

    intents: tuple[Intent, ...]
    vectors: NDArray[np.float32]
    plain: NDArray[np.float32]

    def near(self, vector: NDArray[np.float32], *, margin: float) -> tuple[Intent, ...]:
        """The intent whose centroid is closest, if it is `margin` (cosine) closer than `plain`."""
        cosines = self.vectors @ vector
        best = int(np.argmax(cosines))
        return (self.intents[best],) if cosines[best] - float(self.plain @ vector) >= margin else ()


def load_centroids(embed_query: Callable[[str], NDArray[np.float32]]) -> Centroids:
    """Embed the example questions; a few hundred short texts."""
    text = (resources.files("helix_query.recall.routing") / "examples.toml").read_text(encoding="utf-8")
    examples: dict[str, list[str]] = tomllib.loads(text)
    means = {name: _mean([embed_query(question) for question in group]) for name, group in examples.items()}
    plain = means.pop(PLAIN)
    return Centroids(tuple(map(Intent, means)), np.stack(list(means.values())), plain)


def _mean(vectors: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    mean = np.mean(vectors, axis=0)
    unit: NDArray[np.float32] = (mean / np.linalg.norm(mean)).astype(np.float32)
    return unit
