"""Intents by example: a query has the intent whose example questions it resembles.

`examples.toml` holds the questions, by intent. They are embedded once per model, and each intent gets
the mean vector. `plain` is the mean of questions without these intents. An intent must be closer than
`plain` by a margin of cosine, so the result does not depend on how high a model's cosines are overall.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.profile.intent import Intent
from helix_query.recall.preferences.topics import Discriminant, Topics, load_topics
from helix_query.recall.profile_facts.questions import FactQuestions, load_fact_questions
from helix_shared.encoders.kept_embeddings import KeptEmbeddings

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from helix_shared.encoders.encoder import Encoder

PLACE_RIDGE: Final = 0.03
"""Penalty of the discriminant of `places.toml`; of .001 to .03, the best on 75 names."""
MIN_PLACE_VALUE: Final = 0.1
"""Least value of a name that is surely that of a place.

Of two lists of names that are not in the file, 77 % of the 75 places and 3 % of the 68 others reach it.
"""
FACT_RIDGE: Final = 0.01
"""Penalty of the discriminants of facts about the asker."""
PLAIN: Final = "plain"
"""Key of the questions without an intent in `examples.toml`."""


@dataclass(frozen=True, slots=True)
class Centroids:
    """Mean vectors, normalised: one row an intent, and that of plain questions."""

    intents: tuple[Intent, ...]
    vectors: NDArray[np.float32]
    plain: NDArray[np.float32]
    topics: Topics | None = None
    """Topics of preferences, by example as well; None: no question gets preferences."""
    place_names: Discriminant | None = None
    """Names of places, by example as well; None: no name is known to be one."""
    fact_questions: FactQuestions | None = None
    """Facts about the asker, by example as well; None: no question is known to ask for one."""

    def near(self, vector: NDArray[np.float32], *, margin: float) -> tuple[Intent, ...]:
        """The closest intent, if its cosine exceeds that of `plain` by `margin`; else nothing."""
        cosines = self.vectors @ vector
        best = int(np.argmax(cosines))
        return (self.intents[best],) if cosines[best] - float(self.plain @ vector) >= margin else ()

    def is_place(self, vector: NDArray[np.float32]) -> bool:
        """Whether a name with this vector is surely that of a place."""
        return self.place_names is not None and self.place_names.of(vector) >= MIN_PLACE_VALUE


def centroids_of(encoder: Encoder, *, cache: Path | None = None) -> Centroids:
    """The centroids of a model, made once in a process.

    The examples take about a second to embed; with a `cache` folder they are embedded once on a machine.
    """
    checksum = encoder.card.checksum
    if checksum not in _OF_MODELS:
        if cache is None:
            _OF_MODELS[checksum] = load_centroids(encoder.embed_query)
        else:
            with KeptEmbeddings(encoder, cache) as kept:
                _OF_MODELS[checksum] = load_centroids(kept.embed_query)
    return _OF_MODELS[checksum]


_OF_MODELS: Final[dict[str, Centroids]] = {}
"""Centroids by the checksum of a model; equal models give equal vectors."""


def load_centroids(embed_query: Callable[[str], NDArray[np.float32]]) -> Centroids:
    """Embed the example questions, a few hundred short texts.

    Raises:
        ValueError: a key of `examples.toml` is not an intent.
    """
    text = (resources.files("helix_query.recall.routing") / "examples.toml").read_text(encoding="utf-8")
    examples: dict[str, list[str]] = tomllib.loads(text)
    vectors = {name: [embed_query(question) for question in group] for name, group in examples.items()}
    facts = [one for name, group in vectors.items() if name != Intent.PREFERENCE for one in group]
    means = {name: _mean(group) for name, group in vectors.items()}
    plain = means.pop(PLAIN)
    topics = load_topics(embed_query, facts)
    places = _load_places(embed_query)
    asked = load_fact_questions(
        embed_query, facts, lambda one, other: Discriminant.fitted(one, other, ridge=FACT_RIDGE).of
    )
    return Centroids(tuple(map(Intent, means)), np.stack(list(means.values())), plain, topics, places, asked)


def _load_places(embed: Callable[[str], NDArray[np.float32]]) -> Discriminant:
    """Above 0 for names of places ("I moved to Porto"), below for others ("I moved to Vim")."""
    text = (resources.files("helix_query.recall.routing") / "places.toml").read_text(encoding="utf-8")
    examples: dict[str, list[str]] = tomllib.loads(text)
    places, others = (
        np.stack([embed(name) for name in examples[kind]]).astype(np.float64) for kind in ("places", "others")
    )
    return Discriminant.fitted(places, others, ridge=PLACE_RIDGE)


def _mean(vectors: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    mean = np.mean(vectors, axis=0)
    unit: NDArray[np.float32] = (mean / np.linalg.norm(mean)).astype(np.float32)
    return unit
