from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from helix_lab.channel_share.assessment import Options, assess, mean_over_kinds
from helix_lab.channel_share.command import _comment, _print
from helix_lab.channel_share.curves import SHARES, Curves
from helix_lab.channel_share.fit import FEATURES, fit, read, shares
from helix_lab.channel_share.kinds import set_weights
from helix_lab.measures.metrics import METRICS

ALONE = ("coverage",)


def drawn(name: str, *, best: str, count: int = 200, seed: int = 1) -> Curves:
    """A set whose questions gain 1 - |share - best share|; `best` says which share that is.

    `covered`: 1 - coverage, `dense`: always 1, `flat`: every share gains the same.
    """
    coverage = np.random.default_rng(seed).uniform(0.05, 0.95, count)
    wanted = {"covered": 1 - coverage, "dense": np.ones(count)}.get(best)
    gains = (
        np.full((count, len(SHARES)), 0.5)
        if wanted is None
        else 1 - np.abs(np.array(SHARES) - wanted[:, None])
    )
    features = dict.fromkeys(FEATURES, [0.0] * count)
    features["coverage"] = np.log(coverage / (1 - coverage)).tolist()
    return Curves(name, features, dict.fromkeys(METRICS, gains.tolist()))


def test_a_share_that_coverage_tells_is_found() -> None:
    """The share of each question comes near the one that gains most."""
    one = drawn("a", best="covered")
    model = fit([one], names=ALONE, penalty=1e-6)
    found = read(one.gains("R@10"), shares(one, model))[0]
    assert found.mean() > 0.95
    assert model.coefficients["coverage"] == pytest.approx(-1.0, abs=0.3)


def test_without_evidence_the_share_is_what_is_not_covered() -> None:
    """Curves that are flat say nothing, so the penalty decides."""
    one = drawn("a", best="flat")
    model = fit([one])
    assert (model.intercept, model.coefficients["coverage"]) == (0.0, -1.0)
    assert not any(value for name, value in model.coefficients.items() if name != "coverage")


def test_a_kind_of_text_is_judged_by_a_model_that_never_saw_it() -> None:
    """Fitted without the set on which dense is always best, the model lacks what that one needs."""
    curves = [drawn("covered", best="covered"), drawn("dense", best="dense", seed=2)]
    options = Options(ALONE, 1e-6)
    model = fit(curves, names=ALONE, penalty=1e-6)
    rows = assess(curves, None, model, options)
    dense = rows["dense"]["main"]
    assert dense["dense"] == 100.0
    assert dense["best_fixed_share"] == 1.0
    assert dense["held_out"] < dense["fitted"] < dense["dense"]
    assert (rows["dense"]["main"]["before"], rows["dense"]["questions"]) == (None, 200)
    assert mean_over_kinds(rows, "held_out") < mean_over_kinds(rows, "fitted")


def test_one_kind_of_text_has_no_figure_of_a_model_that_never_saw_it() -> None:
    """The model fitted to it is none; the comment of the profile says that it is not known."""
    curves = [drawn("a", best="covered")]
    rows = assess(curves, None, fit(curves, names=ALONE, penalty=1e-6), Options(ALONE, 1e-6))
    assert rows["a"]["main"]["held_out"] is None
    assert "left out in turn not known (one kind)" in _comment(rows, 1e-6)
    _print(rows, Console(file=StringIO()))


def test_every_kind_of_text_weighs_the_same() -> None:
    """Two sets of code share one weight; a small set has less of it."""
    found = set_weights({"code_change": 600, "cosqa": 50, "life": 200, "mine": 10})
    assert found == pytest.approx({"code_change": 2 / 3, "cosqa": 1 / 3, "life": 1.0, "mine": 1.0})
    assert set_weights({"code_change": 600, "life": 200}, without=("code",)) == {"life": 1.0}


def test_a_gain_between_two_shares_is_read_from_both() -> None:
    """Half way between .2 and .3, with the slope of that piece; the ends are included."""
    gains = np.array([[step * step / 100 for step in range(11)]] * 3)
    found, slope = read(gains, np.array([0.25, 0.0, 1.0]))
    assert found.tolist() == pytest.approx([0.065, 0.0, 1.0])
    assert slope.tolist() == pytest.approx([0.5, 0.1, 1.9])
