"""Weighted logistic regression with an L2 penalty, by L-BFGS (scipy).

Features are standardised for the fit, so the penalty treats them alike; coefficients come back in the
features' own units, as `helix_query.recall.stages.abstain` reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Column = NDArray[np.float64]

PENALTY: Final = 1e-3
"""Of the squared standardised coefficients, against the mean log loss."""

LEAST_SPREAD: Final = 1e-9
"""Differences below this are rounding."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """P = 1 / (1 + exp(-(intercept + rows @ coefficients)))."""

    intercept: float
    coefficients: Column

    def probabilities(self, rows: NDArray[np.float64]) -> Column:
        """P of each row of features."""
        z = self.intercept + rows @ self.coefficients
        small = np.exp(-np.abs(z))
        return np.where(z >= 0, 1.0, small) / (1.0 + small)


def fit(rows: NDArray[np.float64], truth: Column, weights: Column, *, penalty: float = PENALTY) -> Fitted:
    """The most likely coefficients for `truth` (0 or 1) given the features in `rows`."""
    weights = weights / weights.sum()
    middle = weights @ rows
    spread = np.sqrt(weights @ (rows - middle) ** 2)
    # a feature with one value gets the coefficient 0
    spread = np.where(spread > LEAST_SPREAD, spread, np.inf)
    standard = (rows - middle) / spread

    def loss(values: Column) -> tuple[float, Column]:
        z = values[0] + standard @ values[1:]
        errors = weights * (1.0 / (1.0 + np.exp(-np.clip(z, -500, 500))) - truth)
        lost = weights @ (np.logaddexp(0.0, z) - truth * z) + penalty / 2 * (values[1:] @ values[1:])
        slope: Column = np.concatenate([[errors.sum()], standard.T @ errors + penalty * values[1:]])
        return float(lost), slope

    found = minimize(loss, np.zeros(rows.shape[1] + 1), jac=True, method="L-BFGS-B")
    coefficients = found.x[1:] / spread
    return Fitted(float(found.x[0] - middle @ coefficients), coefficients)
