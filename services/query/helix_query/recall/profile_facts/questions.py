"""Which fact about the asker a question asks for, by the examples of `questions.toml`.

They are embedded once per encoder. Nothing here depends on a tenant.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from helix_query.recall.preferences.topics import Discriminant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from helix_query.recall.preferences.topics import Embed

RIDGE: Final = 0.01
"""Penalty of the linear discriminants."""
OTHERS: Final = "others"
"""Key of the questions for something else in `questions.toml`."""


@dataclass(frozen=True, slots=True)
class FactQuestions:
    """Fitted to the examples for one encoder: each fact's questions against all others."""

    facts: tuple[str, ...]
    asks: tuple[Discriminant, ...]
    """By fact: about 1 for a question for it, about -1 for another."""

    @classmethod
    def fitted(cls, asked: Mapping[str, NDArray[np.float64]], others: NDArray[np.float64]) -> Self:
        """Of unit vectors [questions, dimensions] by fact, and of questions for something else."""
        return cls(
            tuple(asked),
            tuple(
                Discriminant.fitted(
                    vectors,
                    np.concatenate([others, *(group for other, group in asked.items() if other != fact)]),
                    ridge=RIDGE,
                )
                for fact, vectors in asked.items()
            ),
        )

    def asked_fact(self, vector: NDArray[np.float32]) -> tuple[str, float]:
        """The fact that a question with this unit vector most likely asks for; its value, up to about 1."""
        values = [asks.of(vector) for asks in self.asks]
        best = int(np.argmax(values))
        return self.facts[best], values[best]


def load_fact_questions(embed: Embed, facts: Sequence[NDArray[np.float32]]) -> FactQuestions:
    """Embed the examples, about 130 short questions; `facts` are vectors of questions for other facts."""
    text = (resources.files("helix_query.recall.profile_facts") / "questions.toml").read_text(
        encoding="utf-8"
    )
    examples: dict[str, list[str]] = tomllib.loads(text)
    vectors = {
        name: np.stack([embed(question) for question in group]).astype(np.float64)
        for name, group in examples.items()
    }
    others = np.concatenate([vectors.pop(OTHERS), np.stack(facts).astype(np.float64)])
    return FactQuestions.fitted(vectors, others)
