"""Figures of a model: how well it ranks labelled pairs, and what `decide` makes of each class."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from helix_consolidation.relations.decide import decide
from helix_consolidation.relations.model import RelationModel
from helix_consolidation.relations.statement import Decision
from helix_lab.measures.roc import area_under_roc
from helix_lab.relations.labelled import LabelledSet
from helix_lab.relations.pairing import Case

RECALLS: Final = (0.1, 0.2, 0.36, 0.5)


def area_under_curve(scores: NDArray[np.float64], truth: NDArray[np.bool_]) -> float:
    """Probability that a true pair scores above a false one; ties count half. NaN without both."""
    return area_under_roc(scores[truth], scores[~truth]) if truth.any() and not truth.all() else math.nan


def precision_at(scores: NDArray[np.float64], truth: NDArray[np.bool_], recall: float, total: int) -> float:
    """Precision where `recall` of `total` true pairs is reached; 0 where it never is."""
    found = np.cumsum(truth[np.argsort(-scores, kind="stable")])
    at = int(np.searchsorted(found, math.ceil(recall * total)))
    return float(found[at] / (at + 1)) if at < len(found) else 0.0


@dataclass(slots=True)
class Verdicts:
    """What was decided about pairs, by class."""

    count: Counter[str] = field(default_factory=Counter)
    linked: Counter[str] = field(default_factory=Counter)
    """With any relation."""
    closed: Counter[str] = field(default_factory=Counter)
    relations: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    closings: list[tuple[str, str]] = field(default_factory=list)
    """Texts (older, newer) of closed pairs that are no updates."""

    def add(self, kind: str, decision: Decision | None, texts: tuple[str, str], *, may_close: bool) -> None:
        """Count one pair."""
        self.count[kind] += 1
        self.relations[kind][decision.relation if decision else "none"] += 1
        if decision is not None:
            self.linked[kind] += 1
            self.closed[kind] += decision.closes
            if decision.closes and not may_close:
                self.closings.append(texts)


def decided(
    labelled: LabelledSet,
    cases: Mapping[str, Sequence[Case]],
    models: Mapping[str, RelationModel],
    closable: frozenset[str],
) -> Verdicts:
    """Run `decide` on every case with the model of its group; pairs without a class count as `unlabelled`.

    Of a pair with several statements the surest decision counts; a labelled pair that no search found counts
    as without relation.
    """
    best: dict[tuple[str, str], tuple[Decision | None, tuple[str, str]]] = {}
    for tenant, some in cases.items():
        for case in some:
            model = models.get(labelled.groups.get(case.newer, tenant))
            if model is None:
                continue
            by_index = {one.older: one for one in decide(case.new, case.candidates, model)}
            for index, older in enumerate(case.older):
                decision, pair = by_index.get(index), (older, case.newer)
                if pair not in best or _sureness(decision) > _sureness(best[pair][0]):
                    best[pair] = decision, (case.candidates[index].statement.text, case.new.text)
    verdicts = Verdicts()
    for pair in {**best, **labelled.classes}:
        decision, texts = best.get(pair, (None, ("", "")))
        kind = labelled.classes.get(pair, labelled.otherwise or "unlabelled")
        verdicts.add(kind, decision, texts, may_close=kind in closable)
    return verdicts


def _sureness(decision: Decision | None) -> tuple[bool, float]:
    return (decision.closes, decision.probability) if decision else (False, 0.0)
