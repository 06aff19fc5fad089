"""The values of an evaluation set: documents, questions and judgements. `load` reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Document:
    """One line of the corpus; missing fields are empty."""

    id: str
    text: str
    title: str
    timestamp: str
    session_id: str
    speaker: str
    tenant: str


@dataclass(frozen=True, slots=True)
class Question:
    """One line of the queries."""

    id: str
    text: str
    category: str
    timestamp: str
    tenant: str


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """A whole set.

    `relevant[question id]` maps document ids to their gain, above 0; `stale` and `sessions` name the
    superseded documents and the relevant sessions of a question.
    """

    name: str
    documents: list[Document]
    questions: list[Question]
    relevant: dict[str, dict[str, float]]
    stale: dict[str, set[str]] = field(default_factory=dict)
    sessions: dict[str, set[str]] = field(default_factory=dict)

    @property
    def answerable(self) -> list[Question]:
        """Questions with at least one relevant document."""
        return [question for question in self.questions if self.relevant.get(question.id)]

    @property
    def unanswerable(self) -> list[Question]:
        """Questions without a relevant document: the right answer is nothing."""
        return [question for question in self.questions if not self.relevant.get(question.id)]

    def sample(self, limit: int | None) -> EvaluationSet:
        """The same set with at most `limit` questions, evenly spread over the file."""
        if limit is None or len(self.questions) <= limit:
            return self
        return replace(self, questions=spread(self.questions, limit))


def spread(items: Sequence[Item], most: int) -> list[Item]:
    """At most `most` of `items`, evenly spread, in their order."""
    step = max(1.0, len(items) / most)
    return [items[int(number * step)] for number in range(min(most, len(items)))]
