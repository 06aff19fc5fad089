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
"""Of the softmax over topics: a lead of .06 in cosine is a factor of e."""
RIDGE: Final = 0.003
"""Penalty of the linear discriminant; of .0003 to .01, the best by cross-validation over the examples."""

Embed = Callable[[str], "NDArray[np.float32]"]


@dataclass(frozen=True, slots=True, eq=False)
class Topics:
    """Fitted to the examples for one encoder."""

    centre: NDArray[np.float64]
    """Mean of the centroids [dimensions]."""
    directions: NDArray[np.float64]
    """Unit vectors from the centre to each centroid [topics, dimensions]."""
    advice_weights: NDArray[np.float64]
    """Linear discriminant [dimensions]: above 0 for what is asked for advice, below for a fact."""
    advice_bias: float

    @classmethod
    def fitted(
        cls,
        stated: Sequence[NDArray[np.float64]],
        asked: Sequence[NDArray[np.float64]],
        facts: NDArray[np.float64],
    ) -> Self:
        """Of unit vectors [sentences, dimensions]: two arrays a topic, and questions for facts.

        The discriminant is a ridge regression on +1 and -1, both classes with equal weight.
        """
        means = [np.concatenate(pair).mean(axis=0) for pair in zip(stated, asked, strict=True)]
        centroids = np.stack([mean / np.linalg.norm(mean) for mean in means])
        centre = centroids.mean(axis=0)
        directions = centroids - centre
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        advice = np.concatenate(asked)
        samples = np.concatenate([advice, facts])
        target = np.concatenate([np.ones(len(advice)), -np.ones(len(facts))])
        shares = np.concatenate([np.full(len(one), 0.5 / len(one)) for one in (advice, facts)])
        mean, offset = shares @ samples, float(shares @ target)
        weighted = (samples - mean) * shares[:, None]
        inner = weighted.T @ (samples - mean) + RIDGE * np.eye(samples.shape[1])
        weights = np.linalg.solve(inner, weighted.T @ (target - offset))
        return cls(centre, directions, weights, offset - float(mean @ weights))

    def of(self, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        """Shares of the topics in texts with these unit vectors, as unit vectors [n, topics]."""
        logits = (vectors - self.centre) @ self.directions.T / TEMPERATURE
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        found: NDArray[np.float64] = shares / np.linalg.norm(shares, axis=1, keepdims=True)
        return found

    def advice(self, vector: NDArray[np.float32]) -> float:
        """How clearly a question asks for advice: about 1 for the examples, -1 for questions for facts."""
        return float(vector @ self.advice_weights) + self.advice_bias


def load_topics(embed: Embed, facts: Sequence[NDArray[np.float32]]) -> Topics:
    """Embed the examples, about 230 short texts; `facts` are vectors of questions for facts."""
    text = (resources.files("helix_query.recall.preferences") / "topics.toml").read_text(encoding="utf-8")
    examples: Mapping[str, Mapping[str, Sequence[str]]] = tomllib.loads(text)
    stated, asked = (
        [np.stack([embed(one) for one in topic[kind]]).astype(np.float64) for topic in examples.values()]
        for kind in ("states", "asks")
    )
    return Topics.fitted(stated, asked, np.stack(facts).astype(np.float64))
