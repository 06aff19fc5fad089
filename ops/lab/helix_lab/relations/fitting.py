"""Fits the logistic regressions of `helix_consolidation.relations.model`, and writes them as TOML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import tomli_w
from numpy.typing import NDArray
from scipy.optimize import minimize

from helix_consolidation.relations.features import NAMES, features
from helix_consolidation.relations.model import RelationModel
from helix_lab.relations.labelled import (
    CONTRADICTION,
    EXTENSION,
    RESTATEMENT,
    REVERSAL,
    REVIVED,
    UNJUDGED,
    UPDATE,
    LabelledSet,
)
from helix_lab.relations.pairing import Case
from helix_shared.artifacts.relations.records import RELATION_KINDS, RelationKind

PENALTY: Final = 20.0
"""On the squares of the coefficients of standardised features."""
POSITIVE: Final[Mapping[RelationKind, frozenset[str]]] = {
    "UPDATES": frozenset([UPDATE, REVERSAL]),
    "DUPLICATE": frozenset([RESTATEMENT]),
    "EXTENDS": frozenset([EXTENSION]),
    "CONTRADICTS": frozenset([CONTRADICTION]),
    "RELATES": frozenset([UPDATE, REVERSAL, RESTATEMENT, EXTENSION, CONTRADICTION, REVIVED, UNJUDGED]),
}
UNCERTAIN: Final[Mapping[RelationKind, frozenset[str]]] = {
    "UPDATES": frozenset([UNJUDGED, CONTRADICTION]),
    "DUPLICATE": frozenset([UNJUDGED, REVIVED]),
    "EXTENDS": frozenset([UNJUDGED]),
    "CONTRADICTS": frozenset([UNJUDGED]),
    "RELATES": frozenset(),
}
"""Classes that count neither for nor against a relation."""
OF_VALUES: Final[frozenset[RelationKind]] = frozenset(["UPDATES", "RELATES"])
UNLABELLED_WEIGHT: Final[Mapping[RelationKind, float]] = {"EXTENDS": 0.1, "CONTRADICTS": 0.3, "RELATES": 0.3}
"""Of pairs without a class, many of which extend each other or are about the same."""


@dataclass(frozen=True, slots=True)
class Observations:
    """Every pair of every case; its class is empty where nobody judged it and it counts as unrelated."""

    rows: NDArray[np.float64]
    classes: NDArray[np.str_]
    groups: NDArray[np.str_]
    pairs: list[tuple[str, str]]
    values_only: NDArray[np.bool_]
    """Whether a pair counts for the relations `OF_VALUES` alone."""

    @classmethod
    def of(cls, labelled: LabelledSet, cases: Mapping[str, Sequence[Case]]) -> Observations:
        """Pairs of a set; those that are unjudged by its nature are left out."""
        rows, classes, groups, pairs = [], [], [], []
        for tenant, some in cases.items():
            for case in some:
                matrix = features(case.new, case.candidates)
                for row, older in zip(matrix, case.older, strict=True):
                    found = labelled.classes.get((older, case.newer), labelled.otherwise)
                    if found or not labelled.only_pairs:
                        rows.append(row)
                        classes.append(found)
                        groups.append(labelled.groups.get(case.newer, tenant))
                        pairs.append((older, case.newer))
        return cls(
            np.array(rows),
            np.array(classes, dtype=object),
            np.array(groups, dtype=object),
            pairs,
            np.full(len(rows), labelled.values_only),
        )

    def joined(self, other: Observations) -> Observations:
        """The pairs of both."""
        return Observations(
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.classes, other.classes]),
            np.concatenate([self.groups, other.groups]),
            [*self.pairs, *other.pairs],
            np.concatenate([self.values_only, other.values_only]),
        )

    def best_rows(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """The row of each pair with the highest score; a derived statement gives a document several."""
        best: dict[tuple[str, str], int] = {}
        for at, pair in enumerate(self.pairs):
            if pair not in best or scores[at] > scores[best[pair]]:
                best[pair] = at
        return np.array(sorted(best.values()), dtype=np.int64)

    def where(self, chosen: NDArray[np.bool_]) -> Observations:
        """The pairs where `chosen` [pairs] is true."""
        pairs = [pair for pair, is_chosen in zip(self.pairs, chosen, strict=True) if is_chosen]
        return Observations(
            self.rows[chosen], self.classes[chosen], self.groups[chosen], pairs, self.values_only[chosen]
        )


def fitted(seen: Observations, **thresholds: float) -> RelationModel:
    """The model of all relations, from observations; `thresholds` are those of `RelationModel`."""
    columns = [_logistic(seen, relation) for relation in RELATION_KINDS]
    return RelationModel(
        np.stack([column[:-1] for column in columns], axis=1),
        np.array([column[-1] for column in columns]),
        encoder="",
        **thresholds,
    )


def _logistic(seen: Observations, relation: RelationKind) -> NDArray[np.float64]:
    """Coefficients of raw features and the intercept of one relation."""
    judged = ~np.isin(seen.classes, sorted(UNCERTAIN[relation]))
    if relation not in OF_VALUES:
        judged &= ~seen.values_only
    rows, classes = seen.rows[judged], seen.classes[judged]
    target = np.isin(classes, sorted(POSITIVE[relation])).astype(np.float64)
    weights = np.where(classes == "", UNLABELLED_WEIGHT.get(relation, 1.0), 1.0)
    mean, spread = rows.mean(axis=0), np.maximum(rows.std(axis=0), 0.05)
    scaled = (rows - mean) / spread

    def loss(values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = scaled @ values[:-1] + values[-1]
        errors = weights * (1 / (1 + np.exp(-scores)) - target)
        cost = (weights * (np.logaddexp(0, scores) - target * scores)).sum()
        slope = np.append(scaled.T @ errors + PENALTY * values[:-1], errors.sum())
        return float(cost + PENALTY * (values[:-1] ** 2).sum() / 2), slope

    start = np.zeros(rows.shape[1] + 1)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 300, "ftol": 1e-7})
    values: NDArray[np.float64] = found.x
    coefficients = values[:-1] / spread
    return np.append(coefficients, values[-1] - coefficients @ mean)


def left_out(
    seen: Observations, folds: Sequence[Sequence[str]], **thresholds: float
) -> dict[str, RelationModel]:
    """For each group the model fitted without its fold."""
    models: dict[str, RelationModel] = {}
    for fold in folds:
        model = fitted(seen.where(~np.isin(seen.groups, list(fold))), **thresholds)
        models |= dict.fromkeys(fold, model)
    return models


def model_text(model: RelationModel, head: str) -> str:
    """The model as TOML."""
    tables: dict[str, Any] = {
        "encoder": model.encoder,
        "link": model.link,
        "relate": model.relate,
        "repeat": model.repeat,
        "close": model.close,
    }
    tables["relations"] = {
        relation: {
            "intercept": round(float(model.intercepts[column]), 4),
            **{name: round(float(model.coefficients[row, column]), 4) for row, name in enumerate(NAMES)},
        }
        for column, relation in enumerate(RELATION_KINDS)
    }
    return f"{head}\n{tomli_w.dumps(tables)}"
