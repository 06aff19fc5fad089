"""Which fact about the asker a question asks for, by the examples of `questions.toml`.

They are embedded once per encoder. Nothing here depends on a tenant.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Final, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Judge = Callable[[NDArray[np.float32]], float]
    """About 1 for a unit vector of the one class, about -1 for one of the other."""
    Fit = Callable[[NDArray[np.float64], NDArray[np.float64]], Judge]
    """A judge of two classes of unit vectors [n, dimensions], which weigh the same."""

OTHERS: Final = "others"
"""Key of the questions for something else in `questions.toml`."""


@dataclass(frozen=True, slots=True)
class FactQuestions:
    """Fitted to the examples for one encoder: each fact's questions against all others."""

    facts: tuple[str, ...]
    asks: tuple[Judge, ...]
    """For each fact, whether a question asks for it."""

    @classmethod
    def fitted(cls, asked: Mapping[str, NDArray[np.float64]], others: NDArray[np.float64], fit: Fit) -> Self:
        """Fit to unit vectors [questions, dimensions] by fact, and of questions for something else."""
        return cls(
            tuple(asked),
            tuple(
                fit(vectors, np.concatenate([others, *(asked[other] for other in asked if other != fact)]))
                for fact, vectors in asked.items()
            ),
        )

    def asked_fact(self, vector: NDArray[np.float32]) -> tuple[str, float]:
        """The fact that a question with this unit vector most likely asks for; its value, up to about 1."""
        values = [asks(vector) for asks in self.asks]
        best = int(np.argmax(values))
        return self.facts[best], values[best]


def load_fact_questions(
    embed: Callable[[str], NDArray[np.float32]], facts: Sequence[NDArray[np.float32]], fit: Fit
) -> FactQuestions:
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
    return FactQuestions.fitted(vectors, others, fit)
