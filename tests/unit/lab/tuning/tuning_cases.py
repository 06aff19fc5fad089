from dataclasses import replace
from typing import Any

from helix_lab.sets.answers import Answer, Run
from helix_lab.sets.data import Document, EvaluationSet, Question
from helix_lab.tuning.objective import Objective
from helix_lab.tuning.search import Plan
from helix_lab.tuning.space import chosen_space
from helix_query.profile.files import load_profiles
from helix_query.profile.overrides import constant, with_constants
from helix_query.profile.profile import RankingProfile

PROFILES = load_profiles()
HELIX = with_constants(
    PROFILES["helix"],
    {
        "rank.weights": constant(PROFILES["helix-reference"], "rank.weights"),
        "rank.quality_weight": 0.03,
    },
)
QUALITY_WEIGHT = chosen_space("rank.quality_weight,expand.restart")
MRR = Objective("MRR@10")


def made(name: str = "s", *, questions: int = 24, tenants: int = 1) -> EvaluationSet:
    """Questions q0, q1, ... in turn of the tenants; each has the document d0, d1, ... and one superseded."""
    asked = [Question(f"q{n}", "?", "", "", f"t{n % tenants}") for n in range(questions)]
    documents = [Document(f"d{n}", "text", "", "", "", "", "") for n in range(questions + 1)]
    relevant = {question.id: {f"d{n}": 1.0} for n, question in enumerate(asked)}
    last = f"d{questions}"
    return EvaluationSet(name, documents, asked, relevant, {question.id: {last} for question in asked})


def steep(profile: RankingProfile, part: EvaluationSet) -> Run:
    """An engine that finds the document at rank 1 if rank.quality_weight is above .2, else at rank 2."""
    last = part.documents[-1].id

    def ranking(question: Question) -> tuple[str, ...]:
        (document,) = part.relevant[question.id]
        return (document, last) if profile.rank.quality_weight > 0.2 else (last, document)

    answers = tuple(Answer(question.id, ranking(question), 1.0) for question in part.questions)
    return Run(part.name, profile.name, answers)


def plan(**changes: Any) -> Plan:
    """A small search for rank.quality_weight and a constant without effect."""
    return replace(Plan(QUALITY_WEIGHT, MRR, trials=12, inner=2, seed=1), **changes)
