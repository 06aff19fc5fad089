"""Intervals and tests agree with numbers worked out by hand, and with scipy's slower ones."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helix_lab.measures.intervals import SEED, differences, intervals
from helix_shared.errors import InvalidInputError


def scores_of(**columns: list[float]) -> dict[str, dict[str, float]]:
    """Scores of questions q0, q1, ... from one list per metric."""
    rows = zip(*columns.values(), strict=True)
    return {f"q{n}": dict(zip(columns, row, strict=True)) for n, row in enumerate(rows)}


def drawn(questions: int, *, seed: int = 3) -> NDArray[np.float64]:
    """Scores a retrieval metric might have: many zeros and ones, some between."""
    numbers = np.random.default_rng(seed).random(questions)
    return np.clip(numbers * 2 - 0.5, 0, 1)


@pytest.fixture(scope="module")
def stats() -> Any:
    """Imported here and not above: each process of `make test` collects this file, and one runs it."""
    return import_module("scipy.stats")


@pytest.mark.parametrize("questions", [2, 37, 3_000])
def test_an_interval_is_the_percentile_bootstrap_of_scipy(questions: int, stats: Any) -> None:
    """The same draws give the same ends, in one batch or (3,000 questions) in two."""
    values = drawn(questions)
    expected = stats.bootstrap(
        (values,), np.mean, n_resamples=2_000, batch=500, method="percentile", rng=SEED
    ).confidence_interval
    assert intervals(scores_of(R=list(values)))["R"] == pytest.approx(tuple(expected), abs=1e-12)


def test_an_interval_of_coin_flips_is_two_standard_errors_wide() -> None:
    """400 questions, half right: standard error is 0.5 / sqrt(400) = 0.025, the ends 1.96 of them away."""
    low, high = intervals(scores_of(Hit=[0.0, 1.0] * 200))["Hit"]
    assert (low, high) == pytest.approx((0.451, 0.549), abs=0.006)


def test_the_same_scores_give_the_same_interval() -> None:
    """Other metrics beside them have no effect."""
    values = list(drawn(50))
    alone = intervals(scores_of(R=values))
    assert intervals(scores_of(Other=values[::-1], R=values))["R"] == alone["R"]


def test_a_metric_only_some_questions_have_is_resampled_over_those() -> None:
    """Stale@k is about the questions with superseded documents, not zero for the others."""
    some = scores_of(R=[0.0, 1.0, 1.0, 0.0], Stale=[1.0, 0.0, 1.0, 1.0])
    more = some | {"q4": {"R": 0.5}, "q5": {"R": 0.5}}
    assert intervals(more)["Stale"] == intervals(some)["Stale"]
    assert intervals(more)["R"] != intervals(some)["R"]


def test_scores_without_spread_have_an_interval_without_width() -> None:
    """With one question, or all alike, resampling gives no interval."""
    assert intervals(scores_of(R=[0.5])) == {"R": (0.5, 0.5)}
    assert intervals(scores_of(R=[1.0] * 9)) == {"R": (1.0, 1.0)}
    assert intervals({}) == {}


def test_four_gains_of_one_have_an_exact_p_of_one_eighth() -> None:
    """Of 16 sign patterns only all plus and all minus are as extreme."""
    found = differences(scores_of(R=[1.0] * 4), scores_of(R=[0.0] * 4))["R"]
    assert (found.difference, found.low, found.high, found.p) == (1.0, 1.0, 1.0, 0.125)


def test_an_exact_p_is_the_one_scipy_enumerates(stats: Any) -> None:
    """Ten questions have 1,024 sign patterns: all of them are counted."""
    better, worse = drawn(10, seed=1), drawn(10, seed=2)
    expected = stats.permutation_test(
        (better - worse,), np.mean, permutation_type="samples", n_resamples=np.inf
    ).pvalue
    found = differences(scores_of(R=list(better)), scores_of(R=list(worse)))["R"]
    assert found.p == pytest.approx(expected)
    assert 0.05 < found.p < 1


def test_a_drawn_p_is_close_to_the_exact_one() -> None:
    """12 of 16 questions better by one, 4 worse: a sign test, p = 2 * 2517 / 65536 = 0.0768."""
    found = differences(scores_of(R=[1.0] * 12 + [0.0] * 4), scores_of(R=[0.0] * 12 + [1.0] * 4))["R"]
    assert found.difference == 0.5
    assert found.p == pytest.approx(0.0768, abs=0.008)


def test_a_drawn_p_is_never_zero() -> None:
    """Ten thousand draws cannot show less than one in 10,001."""
    assert differences(scores_of(R=[1.0] * 40), scores_of(R=[0.0] * 40))["R"].p == 1 / 10_001


@pytest.mark.parametrize("questions", [5, 40])
def test_equal_runs_differ_by_nothing(questions: int) -> None:
    """Exact or drawn: p is 1."""
    scores = scores_of(R=list(drawn(questions)))
    found = differences(scores, scores)["R"]
    assert (found.difference, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)


def test_equally_extreme_patterns_count_for_any_order_of_adding() -> None:
    """Thirds do not add up exactly in binary; p must not hang on the last bit."""
    third = 1 / 3
    better = scores_of(R=[third, third, third, 0.0, 0.0])
    worse = scores_of(R=[0.0, 0.0, 0.0, third, third])
    # at least one third either way: 5 signs never add up to 0, so every pattern is as extreme
    assert differences(better, worse)["R"].p == 1.0


def test_swapping_the_runs_turns_the_difference_round() -> None:
    """The test itself has no side."""
    one, two = scores_of(R=list(drawn(60, seed=1))), scores_of(R=list(drawn(60, seed=2)))
    there, back = differences(one, two)["R"], differences(two, one)["R"]
    assert (there.difference, there.low, there.high) == pytest.approx(
        (-back.difference, -back.high, -back.low)
    )
    assert there.p == back.p
    assert there.low < there.difference < there.high


def test_pairing_finds_a_small_steady_gain() -> None:
    """Every question better by 0.05, while questions differ by far more than that."""
    values = drawn(100) * 0.9
    better, worse = scores_of(R=list(values + 0.05)), scores_of(R=list(values))
    found = differences(better, worse)["R"]
    assert (found.low, found.high, found.p) == pytest.approx((0.05, 0.05, 1 / 10_001))
    assert intervals(better)["R"][0] < intervals(worse)["R"][1]


@pytest.mark.parametrize(
    ("baseline", "said"),
    [
        ({"q0": {"R": 1.0}}, "only one of the two runs has question 'q1'"),
        ({"q0": {"R": 1.0}, "q1": {"R": 1.0, "Stale": 0.0}}, "only one of the two runs has Stale of 'q1'"),
    ],
)
def test_runs_over_different_questions_are_not_compared(
    baseline: dict[str, dict[str, float]], said: str
) -> None:
    """A paired test needs pairs."""
    with pytest.raises(InvalidInputError, match=said):
        differences(scores_of(R=[1.0, 0.0]), baseline)
