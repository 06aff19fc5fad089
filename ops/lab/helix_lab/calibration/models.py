"""The two models of abstention, fitted to observations, in the form a ranking profile holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_lab.calibration.fit import Fitted, fit
from helix_lab.calibration.observations import Observation
from helix_lab.calibration.sample_weights import weights
from helix_query.profile.sections.abstention import AnswerModel, MemoryModel
from helix_query.recall.result import Features, RelevanceEstimate
from helix_query.recall.stages.abstain import estimate_relevance
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEWEST_OF_A_KIND: Final = 30
"""Least number of questions of either kind for a calibration; a fold may have fewer."""
OF_MEMORIES: Final = ("cosine", "lexical", "reciprocal_rank", "mass", "size")
OF_ANSWERS: Final = ("cosine", "value_missing", "size")
"""The features that helped on held-out development sets. More features separate the sets, not the questions.
Shared words are no feature: real questions without an answer name what the store knows, so they share more
words with it than those that have one.
"""
DIGITS: Final = 4


@dataclass(frozen=True, slots=True)
class Models:
    """What `helix_query.profile.sections.abstention.Abstain` holds besides the threshold."""

    memory: MemoryModel
    answer: AnswerModel

    def belief(self, one: Observation) -> RelevanceEstimate:
        """Probabilities as the recall would have given them."""
        found = Features(one.memories, one.answer)
        return estimate_relevance(found, memory=self.memory, answer=self.answer, threshold=0.0)

    def answers(self, observations: Sequence[Observation]) -> NDArray[np.float64]:
        """Probability of each answer."""
        return np.array([self.belief(one).answer for one in observations], np.float64)

    def memories(self, observations: Sequence[Observation]) -> NDArray[np.float64]:
        """Probability of each memory of each answer, one after the other."""
        found = [self.belief(one).memories for one in observations]
        return np.concatenate([one for one in found if one is not None] or [np.empty(0)])


def fitted(
    observations: Sequence[Observation],
    *,
    of_memories: Sequence[str] = OF_MEMORIES,
    of_answers: Sequence[str] = OF_ANSWERS,
) -> Models:
    """Both models from all `observations`.

    Raises:
        InvalidInputError: no question was answered right, or none is without an answer.
    """
    check_enough(observations, fewest=1)
    some = [one for one in observations if one.relevant]
    weighed = weights(some)
    answer = fit(
        np.array([[one.answer[name] for name in of_answers] for one in some]),
        np.array([float(one.answered) for one in some]),
        weighed,
    )
    memory = fit(
        np.concatenate([_rows(one.memories, of_memories) for one in some]),
        truths(some),
        np.repeat(weighed, [len(one.relevant) for one in some]),
    )
    return Models(
        MemoryModel.model_validate(_model(memory, of_memories)),
        AnswerModel.model_validate(_model(answer, of_answers)),
    )


def truths(observations: Sequence[Observation]) -> NDArray[np.float64]:
    """1 for each relevant memory of each answer, else 0."""
    return np.array([float(mark) for one in observations for mark in one.relevant])


def check_enough(observations: Sequence[Observation], *, fewest: int = FEWEST_OF_A_KIND) -> None:
    """Refuse observations that no probability can be fitted to.

    Raises:
        InvalidInputError: fewer than `fewest` of a kind; says of which.
    """
    right = sum(one.answered for one in observations)
    without = sum(one.kind != "answerable" for one in observations)
    for count, kind in ((right, "questions answered right"), (without, "questions without an answer")):
        if count < fewest:
            hint = "name more sets, or sets of several tenants: strangers' questions have no answer"
            raise InvalidInputError("sets", f"have {count} {kind}, at least {fewest} are needed; {hint}")


def _rows(memories: Mapping[str, NDArray[np.float64]], names: Sequence[str]) -> NDArray[np.float64]:
    return np.column_stack([memories[name] for name in names])


def _model(found: Fitted, names: Sequence[str]) -> dict[str, Any]:
    coefficients = {
        name: round(float(value), DIGITS) for name, value in zip(names, found.coefficients, strict=True)
    }
    return {"intercept": round(found.intercept, DIGITS), "coefficients": coefficients}
