"""The figures of one run on one set: one entry of the report, ready for JSON.

Scores come from `metrics` and `evidence`, their intervals from `intervals`, unanswerable questions from
`abstention`; here they become percent with one decimal. Quality is over the answerable questions, latency
over all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_lab.measures.abstention import abstention, packs_nothing
from helix_lab.measures.evidence import score_evidence
from helix_lab.measures.intervals import Difference, differences, intervals
from helix_lab.measures.metrics import STALE_METRICS, Scores, mean, score, score_sessions
from helix_lab.sets.answers import Answer, Run
from helix_lab.sets.data import EvaluationSet
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from helix_lab.measures.linkage import Linkage

PERCENTILES: Final = (50, 95, 99)
NO_CATEGORY: Final = "-"


def figures_of(run: Run, data: EvaluationSet, *, baseline: Run | None = None) -> dict[str, Any]:
    """Everything the report says about `run`; `against` compares it with `baseline`, unless that is itself.

    Percent and percentage points with one decimal, milliseconds with two, AUROC with three, p with four.
    A Stale figure is None where no question has superseded documents.

    Raises:
        InvalidInputError: a run is not one of this set, or the set has no answerable question.
    """
    scores = score(run, data)
    if not scores:
        raise InvalidInputError(data.name, "no question has a relevant document in qrels; add judgements")
    everything = _with_evidence(scores, run, data)
    return {
        **_row(everything),
        "recall_ms": _percentiles([answer.milliseconds for answer in run.answers]),
        "stages_ms": _stages(run.answers),
        "intervals": _bounds(intervals(everything)),
        "categories": _categories(scores, data),
        "sessions": _sessions(run, data),
        "abstention": _abstention(run, data),
        "packed": _packed(run, data),
        "skipped": sum(answer.skipped for answer in run.answers if answer.question_id in scores),
        "against": _against(everything, baseline, data) if baseline and baseline is not run else {},
    }


def linkage_figures(found: Linkage) -> dict[str, Any]:
    """The entry of a set's gold-pair linkage, in percent and percentage points."""
    return {
        "questions": found.questions,
        "pairs": found.pairs,
        "gold": _percents(found.gold) | {"intervals": _bounds(found.gold_intervals)},
        "random": _percents(found.random) | {"intervals": _bounds(found.random_intervals)},
        "against": _differences(found.difference),
    }


def _with_evidence(scores: Scores, run: Run, data: EvaluationSet) -> Scores:
    evidence = score_evidence(run, data)
    return {name: row | evidence[name] for name, row in scores.items()}


def _row(scores: Scores) -> dict[str, Any]:
    means = _percents(mean(scores))
    return {"queries": len(scores), **means, **{name: means.get(name) for name in STALE_METRICS}}


def _categories(scores: Scores, data: EvaluationSet) -> dict[str, dict[str, Any]]:
    groups: dict[str, Scores] = {}
    for question in data.answerable:
        groups.setdefault(question.category or NO_CATEGORY, {})[question.id] = scores[question.id]
    return {name: _row(groups[name]) for name in sorted(groups)} if len(groups) > 1 else {}


def _sessions(run: Run, data: EvaluationSet) -> dict[str, Any] | None:
    scores = score_sessions(run, data)
    if not scores:
        return None
    return {"queries": len(scores)} | _percents(mean(scores))


def _abstention(run: Run, data: EvaluationSet) -> dict[str, Any] | None:
    found = abstention(run, data)
    if found is None:
        return None
    return {
        "questions": found.questions,
        "AUROC": round(found.auroc, 3),
        "false_answer_rate": _percent(found.false_answer_rate),
        "false_abstention_rate": _percent(found.false_abstention_rate),
    }


def _packed(run: Run, data: EvaluationSet) -> dict[str, float] | None:
    """Packed tokens, and the share of the relevant documents among the packed, over answerable questions."""
    if packs_nothing(run):
        return None
    answers = run.by_question
    asked = [(answers[question.id], data.relevant[question.id].keys()) for question in data.answerable]
    evidence = [len(relevant & set(answer.packed)) / len(relevant) for answer, relevant in asked]
    tokens = [answer.packed_tokens for answer, _ in asked]
    return {"tokens": round(float(np.mean(tokens)), 1), "evidence": _percent(float(np.mean(evidence)))}


def _against(scores: Scores, baseline: Run, data: EvaluationSet) -> dict[str, Any]:
    before = _with_evidence(score(baseline, data), baseline, data)
    return {"profile": baseline.name, **_differences(differences(*_shared(scores, before)))}


def _differences(found: Mapping[str, Difference]) -> dict[str, dict[str, float]]:
    return {
        name: {
            "difference": _percent(worth.difference),
            "low": _percent(worth.low),
            "high": _percent(worth.high),
            "p": round(worth.p, 4),
        }
        for name, worth in found.items()
    }


def _shared(scores: Scores, baseline: Scores) -> tuple[Scores, Scores]:
    """Both with the metrics that both have: an engine that packs nothing has no evidence."""
    first, second = ({name for row in one.values() for name in row} for one in (scores, baseline))
    kept = first & second
    return _only(scores, kept), _only(baseline, kept)


def _only(scores: Scores, names: set[str]) -> Scores:
    return {
        question: {name: value for name, value in row.items() if name in names}
        for question, row in scores.items()
    }


def _stages(answers: Iterable[Answer]) -> dict[str, dict[str, float]]:
    """Each stage over the questions it ran for, in the order the stages were first seen."""
    times: dict[str, list[float]] = {}
    for answer in answers:
        for stage, milliseconds in answer.stages_ms.items():
            times.setdefault(stage, []).append(milliseconds)
    return {stage: _percentiles(taken) for stage, taken in times.items()}


def _percentiles(milliseconds: list[float]) -> dict[str, float]:
    values = np.percentile(milliseconds, PERCENTILES)
    return {f"p{rank}": round(float(value), 2) for rank, value in zip(PERCENTILES, values, strict=True)}


def _percents(shares: Mapping[str, float]) -> dict[str, float]:
    return {name: _percent(share) for name, share in shares.items()}


def _bounds(found: Mapping[str, tuple[float, float]]) -> dict[str, list[float]]:
    return {name: [_percent(low), _percent(high)] for name, (low, high) in found.items()}


def _percent(share: float) -> float:
    return round(100 * share, 1) + 0.0  # no -0.0 in the report
