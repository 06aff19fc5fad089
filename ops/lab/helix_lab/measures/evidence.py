"""Evidence inside the packed context, of every answerable question of a run, each between 0 and 1.

    Evidence@b     relevant documents inside a context of b tokens / relevant documents
    AllEvidence@b  1 when all of them are inside

The documents are those of `Answer.packed_within`. `metrics` has what rankings are judged by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from helix_lab.measures.metrics import Scores, check_run

if TYPE_CHECKING:
    from helix_lab.sets.answers import Run
    from helix_lab.sets.data import EvaluationSet

EVIDENCE: Final = "Evidence@"
ALL_EVIDENCE: Final = "AllEvidence@"


def score_evidence(run: Run, data: EvaluationSet) -> Scores:
    """Both metrics at the budgets that every answerable question was measured at; without one, none.

    Raises:
        InvalidInputError: the run is not one of this set; see `check_run`.
    """
    check_run(run, data)
    answers = run.by_question
    within = {question.id: answers[question.id].packed_within for question in data.answerable}
    budgets = sorted(set.intersection(*map(set, within.values()))) if within else []
    return {name: _of(set(data.relevant[name]), packs, budgets) for name, packs in within.items()}


def _of(relevant: set[str], packs: Mapping[int, Sequence[str]], budgets: Sequence[int]) -> dict[str, float]:
    shares = {budget: len(relevant & set(packs[budget])) / len(relevant) for budget in budgets}
    found = {f"{EVIDENCE}{budget}": share for budget, share in shares.items()}
    return found | {f"{ALL_EVIDENCE}{budget}": float(share == 1) for budget, share in shares.items()}
