"""Topics of preferences, and whether a question asks for advice, both by example.

`topics.toml` holds sentences by topic: what people state, and what they ask or request where it matters. They
are embedded once per encoder. Nothing here depends on a tenant.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Final, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

TEMPERATURE: Final = 0.06
"""Temperature of the softmax over topics: a lead of .06 in cosine is a factor of e."""
RIDGE: Final = 0.003
"""Penalty of the linear discriminant; of .0003 to .01, the best by cross-validation over the examples."""

Embed = Callable[[str], "NDArray[np.float32]"]


@dataclass(frozen=True, slots=True, eq=False)
class Discriminant:
    """About 1 for the one class and -1 for the other."""

    weights: NDArray[np.float64]
    """[dimensions]"""
    bias: float

    @classmethod
    def fitted(cls, one: NDArray[np.float64], other: NDArray[np.float64], *, ridge: float) -> Self:
        """A ridge regression on +1 and -1 over unit vectors [n, dimensions]; both classes weigh the same."""
        samples = np.concatenate([one, other])
        target = np.concatenate([np.ones(len(one)), -np.ones(len(other))])
        shares = np.concatenate([np.full(len(group), 0.5 / len(group)) for group in (one, other)])
        mean, offset = shares @ samples, float(shares @ target)
        weighted = (samples - mean) * shares[:, None]
        inner = weighted.T @ (samples - mean) + ridge * np.eye(samples.shape[1])
        weights = np.linalg.solve(inner, weighted.T @ (target - offset))
        return cls(weights, offset - float(mean @ weights))

    def of(self, vector: NDArray[np.float32]) -> float:
        """The value of a unit vector."""
        return float(vector @ self.weights) + self.bias


@dataclass(frozen=True, slots=True, eq=False)
class Topics:
    """Fitted to the examples for one encoder."""

    centre: NDArray[np.float64]
    """Mean of the centroids [dimensions]."""
    directions: NDArray[np.float64]
    """Unit vectors from the centre to each centroid [topics, dimensions]."""
    asks_advice: Discriminant
    """Above 0 for a question that asks for advice, below for one that asks for a fact."""

    @classmethod
    def fitted(
        cls,
        stated: Sequence[NDArray[np.float64]],
        asked: Sequence[NDArray[np.float64]],
        facts: NDArray[np.float64],
    ) -> Self:
        """Fit to unit vectors [sentences, dimensions]: two arrays a topic, and questions for facts."""
        means = [np.concatenate(pair).mean(axis=0) for pair in zip(stated, asked, strict=True)]
        centroids = np.stack([mean / np.linalg.norm(mean) for mean in means])
        centre = centroids.mean(axis=0)
        directions = centroids - centre
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        advice = Discriminant.fitted(np.concatenate(asked), facts, ridge=RIDGE)
        return cls(centre, directions, advice)

    def of(self, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        """Shares of the topics in texts with these unit vectors, as unit vectors [n, topics]."""
        logits = (vectors - self.centre) @ self.directions.T / TEMPERATURE
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        found: NDArray[np.float64] = shares / np.linalg.norm(shares, axis=1, keepdims=True)
        return found


def load_topics(embed: Embed, facts: Sequence[NDArray[np.float32]]) -> Topics:
    """Embed the examples, about 230 short texts; `facts` are vectors of questions for facts."""
    text = (resources.files("helix_query.recall.preferences") / "topics.toml").read_text(encoding="utf-8")
    examples: Mapping[str, Mapping[str, Sequence[str]]] = tomllib.loads(text)
    stated, asked = (
        [np.stack([embed(one) for one in topic[kind]]).astype(np.float64) for topic in examples.values()]
        for kind in ("states", "asks")
    )
    return Topics.fitted(stated, asked, np.stack(facts).astype(np.float64))
