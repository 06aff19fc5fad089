"""Ranking metrics of every question of a run, each between 0 and 1.

ir-measures computes them as trec_eval does (Van Gysel and de Rijke, "Pytrec_eval", SIGIR 2018);
All@k and Stale@k, which it does not have, are computed here. With r relevant documents, within the first k:

    R@k      relevant ones found / r
    Hit@k    1 when any is found (trec_eval's success)
    All@k    1 when all r are found
    MRR@10   1 / rank of the first relevant document, 0 past rank 10
    nDCG@10  DCG / DCG of the best order, DCG = sum of gain / log2(rank + 1): the gain itself, not the
             2^gain - 1 of Burges et al. (2005); Järvelin and Kekäläinen, TOIS 2002, in trec_eval's form
    Stale@k  1 when the first document that is relevant or superseded is superseded; less is better

R, Hit, All, MRR and nDCG are for every answerable question, Stale only for those with superseded
documents. `intervals` says how sure their means are, `figures` puts both into the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final

import ir_measures
from ir_measures import RR, Measure, R, Success, nDCG

from helix_lab.sets.answers import Run
from helix_lab.sets.data import EvaluationSet
from helix_shared.errors import InvalidInputError

CUTS: Final = (1, 5, 10)
STRICT_CUTS: Final = (5, 10)
STALE_CUTS: Final = (1, 5)
DEPTH: Final = 10
"""Longest part of a ranking that a metric reads."""
GAIN_STEPS: Final = 10_000
"""Finest step of gains that are not integers."""

METRICS: Final = ("R@1", "R@5", "R@10", "Hit@1", "Hit@5", "Hit@10", "All@5", "All@10", "MRR@10", "nDCG@10")
STALE_METRICS: Final = ("Stale@1", "Stale@5")

Scores = dict[str, dict[str, float]]
"""Question id -> metric -> 0 to 1."""


def score(run: Run, data: EvaluationSet) -> Scores:
    """Metrics of every answerable question, in the order of the set; 0 where nothing was found.

    Raises:
        InvalidInputError: the run is not one of this set; see `check_run`.
    """
    check_run(run, data)
    answers = run.by_question
    relevant = {question.id: data.relevant[question.id] for question in data.answerable}
    scores = ranking_scores({name: answers[name].ranking for name in relevant}, relevant)
    for name, superseded in data.stale.items():
        if superseded and name in scores:
            scores[name] |= _stale(answers[name].ranking, relevant[name], superseded)
    return scores


def score_sessions(run: Run, data: EvaluationSet) -> Scores:
    """The same on sessions, of the questions with a session judgement: no Stale, every gain is 1.

    A session ranks by its best document; a document without a session is one of its own. A run that
    names few documents names fewer sessions.

    Raises:
        InvalidInputError: the run is not one of this set; see `check_run`.
    """
    check_run(run, data)
    answers = run.by_question
    home = {document.id: document.session_id or document.id for document in data.documents}
    judged = [question.id for question in data.questions if data.sessions.get(question.id)]
    relevant = {name: dict.fromkeys(sorted(data.sessions[name]), 1.0) for name in judged}
    rankings = {name: tuple(dict.fromkeys(home[found] for found in answers[name].ranking)) for name in judged}
    return ranking_scores(rankings, relevant)


def mean(scores: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Each metric's mean over the questions that have it, 0 to 1; a metric none has is not in it."""
    names = dict.fromkeys(name for row in scores.values() for name in row)
    return {name: fmean(row[name] for row in scores.values() if name in row) for name in names}


def check_run(run: Run, data: EvaluationSet) -> None:
    """Refuse a run that cannot be measured on `data`.

    Raises:
        InvalidInputError: the run belongs to another set, leaves a question of this set without an
            answer, answers one twice or one outside it, ranks a document outside the corpus or one twice.
    """
    if run.set_name != data.name:
        raise InvalidInputError("run.set_name", f"is {run.set_name!r}, the set is {data.name!r}")
    asked = {question.id for question in data.questions}
    documents = {document.id for document in data.documents}
    answered: set[str] = set()
    for answer in run.answers:
        place = f"run {run.name!r}, question {answer.question_id!r}"
        if answer.question_id not in asked:
            raise InvalidInputError(place, f"is not in the set {data.name!r}")
        if answer.question_id in answered:
            raise InvalidInputError(place, "is answered twice")
        answered.add(answer.question_id)
        _check_ranking(answer.ranking, documents, place)
    if asked != answered:
        missing = min(asked - answered)
        left = f"{len(asked - answered)} of {len(asked)} questions have no answer, {missing!r} first"
        raise InvalidInputError(f"run {run.name!r}", f"{left}; ask every question of the set")


def _check_ranking(ranking: Sequence[str], documents: set[str], place: str) -> None:
    distinct = set(ranking)
    if len(distinct) != len(ranking):
        raise InvalidInputError(place, "ranks a document twice; keep the better rank only")
    if not distinct <= documents:
        raise InvalidInputError(place, f"ranks {min(distinct - documents)!r}, which is not in the corpus")


def ranking_scores(
    rankings: Mapping[str, Sequence[str]], relevant: Mapping[str, Mapping[str, float]]
) -> Scores:
    """All metrics but Stale, by question; `relevant` has the gain of each document.

    One call of ir-measures for all questions, which scores an empty ranking 0.
    """
    measures = _measures()
    gains = {name: _whole(judged) for name, judged in relevant.items()}
    found = {name: _descending(ranking[:DEPTH]) for name, ranking in rankings.items()}
    scores: Scores = {name: dict.fromkeys(METRICS, 0.0) for name in relevant}
    for value in ir_measures.iter_calc(list(measures), gains, found) if relevant else ():
        scores[value.query_id][measures[value.measure]] = float(value.value)
    for name, judged in relevant.items():
        for k in STRICT_CUTS:
            scores[name][f"All@{k}"] = float(judged.keys() <= set(rankings[name][:k]))
    return scores


def _measures() -> dict[Measure, str]:
    cuts = {R @ k: f"R@{k}" for k in CUTS} | {Success @ k: f"Hit@{k}" for k in CUTS}
    return cuts | {RR @ DEPTH: f"MRR@{DEPTH}", nDCG @ DEPTH: f"nDCG@{DEPTH}"}


def _descending(ranking: Sequence[str]) -> dict[str, float]:
    """Scores that fall by 1 a rank: trec_eval sorts by score, and equal ones by document id."""
    return {document: float(len(ranking) - n) for n, document in enumerate(ranking)}


def _whole(relevant: Mapping[str, float]) -> dict[str, int]:
    """Gains as the whole numbers trec_eval reads; nDCG does not change when all gains are scaled alike."""
    largest = max(relevant.values())
    if largest <= GAIN_STEPS and all(gain.is_integer() for gain in relevant.values()):
        return {document: int(gain) for document, gain in relevant.items()}
    return {document: max(1, round(gain / largest * GAIN_STEPS)) for document, gain in relevant.items()}


def _stale(ranking: Sequence[str], relevant: Mapping[str, float], superseded: set[str]) -> dict[str, float]:
    found = {}
    for k in STALE_CUTS:
        first = next((name for name in ranking[:k] if name in superseded or name in relevant), None)
        found[f"Stale@{k}"] = float(first in superseded)
    return found
