"""Coefficients of the share of the dense channel: the mean gain of all questions, by L-BFGS (scipy).

The share of a query is 1 / (1 + exp(-(intercept + features @ coefficients))). A question gains what its curve
(`curves`) says at that share, read linearly between the shares that were asked. Curves are smoothed first:
a question's recall has steps, and a step has no slope.

The penalty pulls towards share = 1 - coverage, which needs no fit, and not towards a fixed share: what no set
of the fit shows is then decided by coverage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from helix_lab.channel_share.curves import SHARES, Curves
from helix_lab.channel_share.kinds import set_weights
from helix_query.profile.sections.fusion import Adaptive

Matrix = NDArray[np.float64]

FEATURES: Final = (
    "coverage", "rarest_held", "words", "exact_tokens", "exact_lookup", "lexical_drop", "cosine_drop",
    "agreement", "code", "length",
)  # fmt: skip
PRIOR: Final[Mapping[str, float]] = {"coverage": -1.0}
"""Coefficients without evidence; 0 for the others."""
PENALTY: Final = 0.003
"""Of the squared standardised distance from `PRIOR`, against the mean gain (0 to 1)."""
WIDTH: Final = 0.08
"""Standard deviation of the smoothing, in shares."""
DIGITS: Final = 3
_LEAST_SPREAD: Final = 1e-9


def fit(
    curves: Sequence[Curves],
    *,
    names: Sequence[str] = FEATURES,
    penalty: float = PENALTY,
    without: Sequence[str] = (),
) -> Adaptive:
    """The model fitted to all sets but those of the kinds `without`; every kind weighs the same."""
    weighed = set_weights({one.set_name: len(one) for one in curves}, without=without)
    used = [one for one in curves if one.set_name in weighed]
    rows = np.concatenate([one.rows(names) for one in used])
    gains = _smoothed(np.concatenate([one.target for one in used]))
    weights = np.concatenate([np.full(len(one), weighed[one.set_name] / len(one)) for one in used])
    weights /= weights.sum()
    middle = weights @ rows
    spread = np.sqrt(weights @ (rows - middle) ** 2)
    # a feature with one value keeps its prior
    varied = spread > _LEAST_SPREAD
    spread = np.where(varied, spread, 1.0)
    standard = np.where(varied, (rows - middle) / spread, 0.0)
    prior = np.array([PRIOR.get(name, 0.0) for name in names])

    def loss(values: Matrix) -> tuple[float, Matrix]:
        share = 1.0 / (1.0 + np.exp(-np.clip(values[0] + standard @ values[1:], -30, 30)))
        gain, slope = read(gains, share)
        steps = weights * slope * share * (1.0 - share)
        away = values[1:] - prior * spread
        lost = -(weights @ gain) + penalty / 2 * (away @ away)
        return float(lost), np.concatenate([[-steps.sum()], penalty * away - standard.T @ steps])

    start = np.concatenate([[middle @ prior], prior * spread])
    found = minimize(loss, start, jac=True, method="L-BFGS-B").x
    coefficients = found[1:] / spread
    intercept = float(found[0] - middle[varied] @ coefficients[varied])
    return Adaptive.model_validate(
        {
            "intercept": round(intercept, DIGITS),
            "coefficients": {
                name: round(float(value), DIGITS) for name, value in zip(names, coefficients, strict=True)
            },
        }
    )


def shares(one: Curves, model: Adaptive) -> Matrix:
    """Share of the dense channel that `model` gives each question [questions]."""
    names = list(model.coefficients)
    z = model.intercept + one.rows(names) @ np.array([model.coefficients[name] for name in names])
    found: Matrix = 1.0 / (1.0 + np.exp(-np.clip(z, -30, 30)))
    return found


def read(gains: Matrix, share: Matrix) -> tuple[Matrix, Matrix]:
    """Gain of each question at its share, linear between `SHARES`, and its slope; both [questions]."""
    step = len(SHARES) - 1
    at = np.clip(share, 0.0, 1.0) * step
    left = np.minimum(at.astype(np.int64), step - 1)
    every = np.arange(len(gains))
    rise = gains[every, left + 1] - gains[every, left]
    return gains[every, left] + rise * (at - left), rise * step


def _smoothed(gains: Matrix) -> Matrix:
    at = np.array(SHARES)
    kernel = np.exp(-(((at[:, None] - at) / WIDTH) ** 2) / 2)
    smooth: Matrix = gains @ (kernel / kernel.sum(axis=1, keepdims=True)).T
    return smooth
