"""How well an engine abstains: unanswerable questions against answerable ones.

The right answer to a question without a relevant document is an empty one. `metrics` has the ranking
metrics of the answerable questions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from helix_lab.measures.metrics import check_run
from helix_lab.measures.roc import area_under_roc
from helix_lab.sets.answers import Answer, Run
from helix_lab.sets.data import EvaluationSet, Question


@dataclass(frozen=True, slots=True)
class Abstention:
    """Shares are 0 to 1."""

    questions: int
    """Questions without an answer in the corpus."""
    auroc: float
    """Chance that an answerable question gets more confidence than an unanswerable one; 0.5 is a guess."""
    false_answer_rate: float
    """Share of the unanswerable questions that were answered."""
    false_abstention_rate: float
    """Share of the answerable questions that were not answered."""


def abstention(run: Run, data: EvaluationSet) -> Abstention | None:
    """Measure it; None where the set lacks either kind of question, or the engine packs no context.

    An engine answers by packing a context: an empty one, and a question the router skipped, count as
    abstained, with less confidence than any answer. An engine that finds documents but never packs any
    does not tell, so it is not measured.

    Raises:
        InvalidInputError: the run is not one of this set.
    """
    check_run(run, data)
    if not data.answerable or not data.unanswerable or packs_nothing(run):
        return None
    answerable, unanswerable = (_answers(run, asked) for asked in (data.answerable, data.unanswerable))
    return Abstention(
        questions=len(unanswerable),
        auroc=area_under_roc([*map(_confidence, answerable)], [*map(_confidence, unanswerable)]),
        false_answer_rate=1 - _abstained_share(unanswerable),
        false_abstention_rate=_abstained_share(answerable),
    )


def abstained(answer: Answer) -> bool:
    """No context was packed."""
    return answer.skipped or not answer.packed


def packs_nothing(run: Run) -> bool:
    """The engine ranks, but never packs a context."""
    return any(answer.ranking for answer in run.answers) and not any(answer.packed for answer in run.answers)


def _answers(run: Run, questions: list[Question]) -> list[Answer]:
    answers = run.by_question
    return [answers[question.id] for question in questions]


def _confidence(answer: Answer) -> float:
    return -math.inf if abstained(answer) else answer.confidence


def _abstained_share(answers: list[Answer]) -> float:
    return sum(map(abstained, answers)) / len(answers)
