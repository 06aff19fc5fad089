import math
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from helix_lab.calibration.assessment import (
    auroc,
    calibration_error,
    figures,
    held_out,
    rates,
    rates_by_size,
    reliability,
    threshold_of,
)
from helix_lab.calibration.fit import fit
from helix_lab.calibration.models import FEWEST_OF_A_KIND, Models, check_enough
from helix_lab.calibration.observations import Observation, load, save
from helix_lab.calibration.sample_weights import nearest_donors, weights
from helix_lab.calibration.small_stores import SUFFIX
from helix_lab.calibration.tenants_left_out import interval, tenants_left_out
from helix_lab.calibration.unanswerable_questions import Kind
from helix_query.profile.sections.abstention import AnswerModel, MemoryModel
from helix_query.recall.stages.abstain import LOG_SIZE
from helix_shared.errors import InvalidInputError

COSINE = ("cosine",)


def drawn(count: int, *, name: str = "s", seed: int = 1) -> list[Observation]:
    """Questions with one memory each: relevant with P = 1/(1 + e^(3 - 6 x cosine)), else a foreign one."""
    random = np.random.default_rng(seed)
    found = []
    for number, cosine in enumerate(random.uniform(0.0, 1.0, count).tolist()):
        relevant = bool(random.random() < 1 / (1 + np.exp(3 - 6 * cosine)))
        kind: Kind = "answerable" if relevant or number % 2 else "stranger"
        one = observed(name, kind, cosine, relevant=relevant)
        found.append(replace(one, text=f"{number}?"))
    return found


def observed(
    name: str,
    kind: Kind,
    cosine: float,
    *,
    relevant: bool = False,
    donor: str = "other",
    tenant: str = "t",
) -> Observation:
    """One question with one memory that has a cosine and no other feature."""
    memories = {"cosine": np.array([cosine]), "reciprocal_rank": np.ones(1)}
    return Observation(name, kind, donor, "?", tenant, memories, (relevant,), {"cosine": cosine})


def sized(memories: int, kind: Kind, cosine: float, *, relevant: bool = False) -> Observation:
    """One question asked of a store of so many memories."""
    one = observed("s", kind, cosine, relevant=relevant)
    return replace(one, answer={**one.answer, "size": math.log1p(memories) / LOG_SIZE})


COEFFICIENTS = {"intercept": -4.0, "coefficients": {"cosine": 8.0}}
BY_COSINE = Models(MemoryModel.model_validate(COEFFICIENTS), AnswerModel.model_validate(COEFFICIENTS))


def test_known_coefficients_are_recovered() -> None:
    """Truth drawn with log odds -1 + 2 a - 3 b: the fit finds them from 20,000 rows."""
    random = np.random.default_rng(7)
    rows = random.normal(size=(20_000, 2)) * [1.0, 5.0] + [0.0, 2.0]
    odds = -1.0 + rows @ np.array([2.0, -0.3])
    truth = (random.random(len(rows)) < 1 / (1 + np.exp(-odds))).astype(float)
    found = fit(rows, truth, np.ones(len(rows)), penalty=1e-6)
    assert found.intercept == pytest.approx(-1.0, abs=0.1)
    assert found.coefficients.tolist() == pytest.approx([2.0, -0.3], abs=0.1)


def test_a_feature_that_never_differs_gets_no_coefficient() -> None:
    """It says nothing, and must not divide by zero."""
    rows = np.column_stack([np.linspace(-1, 1, 100), np.full(100, 3.0)])
    found = fit(rows, (rows[:, 0] > 0).astype(float), np.ones(100))
    assert found.coefficients[1] == 0.0
    assert np.isfinite(found.intercept)


def test_a_weight_counts_like_repetition() -> None:
    """One row of weight 3 is three rows of weight 1."""
    rows, truth = np.array([[0.0], [1.0], [0.4]]), np.array([0.0, 1.0, 1.0])
    once = fit(rows, truth, np.array([1.0, 1.0, 3.0]))
    thrice = fit(np.vstack([rows, rows[2:], rows[2:]]), np.append(truth, [1.0, 1.0]), np.ones(5))
    assert once.intercept == pytest.approx(thrice.intercept, abs=1e-3)
    assert once.coefficients.tolist() == pytest.approx(thrice.coefficients.tolist(), abs=1e-3)


@pytest.mark.parametrize(
    ("observations", "said_of"),
    [
        ([observed("s", "answerable", 0.9, relevant=True)] * 200, "questions without an answer"),
        (
            [observed("s", "answerable", 0.9, relevant=True)] * (FEWEST_OF_A_KIND - 1)
            + [observed("s", "stranger", 0.1)] * 200,
            "questions answered right",
        ),
    ],
)
def test_too_few_of_a_kind_are_refused(observations: list[Observation], said_of: str) -> None:
    """From one kind alone no probability can be learnt; the error says of which there are too few."""
    with pytest.raises(InvalidInputError, match=said_of):
        check_enough(observations)


def test_probabilities_are_true_on_sets_that_were_left_out() -> None:
    """Three sets drawn alike: models fitted to two predict the third within five points."""
    sets = [one for seed in range(3) for one in drawn(600, name=f"s{seed}", seed=seed)]
    held = held_out(sets, of_memories=COSINE, of_answers=COSINE, false_abstention=0.01)
    found = figures(held)
    assert list(found) == ["all", "s0", "s1", "s2"]
    assert found["all"]["answer"]["auroc_near"] > 0.65
    assert found["all"]["memory"]["auroc"] > 0.8
    # The mixture is weighed, so the intercept is not the one they were drawn with: the bins decide.
    assert found["all"]["answer"]["ece"] < 0.05
    assert found["all"]["memory"]["ece"] < 0.05


def test_one_set_is_judged_by_its_fifths() -> None:
    """No other set there: every fifth question is left out in its turn, and all get a probability."""
    held = held_out(drawn(400), of_memories=COSINE, of_answers=COSINE, false_abstention=0.01)
    assert (held.answers > 0).all()
    assert len(np.unique(held.thresholds)) > 1


def test_a_question_of_a_set_and_of_its_small_stores_is_left_out_at_once() -> None:
    """Else it is judged by models that were fitted to the same words."""
    asked = drawn(201)
    stores = [replace(one, set_name=f"s{SUFFIX}") for one in asked]
    held = held_out([*asked, *stores], of_memories=COSINE, of_answers=COSINE, false_abstention=0.01)
    assert (held.thresholds[:201] == held.thresholds[201:]).all()


def test_the_threshold_holds_back_no_more_than_was_allowed() -> None:
    """Of 200 cosines .005 to 1 at most 1 % may fall below: the third least is the threshold."""
    good = [observed("s", "answerable", n / 200, relevant=True) for n in range(1, 201)]
    threshold = threshold_of(good, BY_COSINE, false_abstention=0.01)
    assert (BY_COSINE.answers(good) < threshold).sum() == 1
    few = [observed("few", "answerable", 0.0, relevant=True)] * 19
    assert threshold_of([*good, *few], BY_COSINE, false_abstention=0.01) == threshold
    assert threshold_of([*good, *few, *few], BY_COSINE, false_abstention=0.01) < threshold


def test_the_threshold_counts_only_questions_whose_answer_is_among_the_first() -> None:
    """A question whose answer comes fourth or later does not count as lost by abstention."""
    good = [observed("s", "answerable", 0.9, relevant=True)] * 100
    late = [observed("s", "answerable", 0.1) for _ in range(50)]
    assert threshold_of([*good, *late], BY_COSINE, false_abstention=0.01) > BY_COSINE.answers(late).max()


def test_rates_by_size_by_hand() -> None:
    """Threshold .5, one memory: one of two well answered questions is held back, one of two others not."""
    observations = [
        sized(1, "answerable", 0.9, relevant=True),
        sized(1, "answerable", 0.4, relevant=True),
        sized(1, "answerable", 0.1),
        sized(1, "unanswerable", 0.6),
        sized(1, "unanswerable", 0.2),
        sized(500, "answerable", 0.8, relevant=True),
    ]
    answers = np.array([one.answer["cosine"] for one in observations])
    found = rates_by_size(observations, answers, 0.5)
    assert found["up to 1"] == {
        "well_answered": 2, "near": 2, "held_back": 0.5, "false_answer_near": 0.5, "auroc": 0.75,
        "said": pytest.approx(0.65), "said_near": pytest.approx(0.4),
    }  # fmt: skip
    assert found["up to 1,000"]["well_answered"] == 1
    assert found["up to 1,000"]["auroc"] is None


def test_small_stores_are_left_out_together_with_the_set_they_were_cut_from() -> None:
    """Otherwise a model would be judged on questions that it was fitted to."""
    sets = [one for seed in range(3) for one in drawn(200, name=f"s{seed}", seed=seed)]
    small = [one for seed in range(3) for one in drawn(60, name=f"s{seed}{SUFFIX}", seed=9 + seed)]
    held = held_out([*sets, *small], of_memories=COSINE, of_answers=COSINE, false_abstention=0.01)
    thresholds = {one.set_name: value for one, value in zip([*sets, *small], held.thresholds, strict=True)}
    assert all(thresholds[f"s{seed}"] == thresholds[f"s{seed}{SUFFIX}"] for seed in range(3))


def test_rates_by_hand() -> None:
    """Threshold .5: one of two answerable held back; own and far foreign ones held back, the near not."""
    observations = [
        observed("s", "answerable", 0.9, relevant=True),
        observed("s", "answerable", 0.4),
        observed("s", "unanswerable", 0.1),
        observed("s", "stranger", 0.6, donor="near"),
        observed("s", "stranger", 0.2, donor="far"),
    ]
    answers = np.array([one.answer["cosine"] for one in observations])
    assert rates(observations, answers, 0.5)["s"] == {
        "answerable": 2,
        "false_abstention": 0.5,
        "false_answer_own": 0.0,
        "false_answer_near": 1.0,
        "false_answer_far": 0.0,
    }


def test_reliability_and_calibration_error_by_hand() -> None:
    """.15 and .15, one of them true: |.15 - .5| for half the weight; .95 true: .05 for the other half."""
    rows = reliability(np.array([0.15, 0.15, 0.95]), np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 2.0]))
    assert [(row["from"], row["share"], row["true"]) for row in rows] == [(0.1, 0.5, 0.5), (0.9, 0.5, 1.0)]
    assert calibration_error(rows) == pytest.approx(0.5 * 0.35 + 0.5 * 0.05)


def test_auroc_by_hand() -> None:
    """Of four pairs three are in order, one is a tie: 3.5 of 4."""
    assert auroc(np.array([0.9, 0.5]), np.array([0.5, 0.1])) == pytest.approx(0.875)
    assert auroc(np.array([0.9]), np.empty(0)) is None


def test_easy_strangers_never_count_most() -> None:
    """Answerable .5, the rest .2 to .15 near and far, however many there are; a small set counts less."""
    mixture = [
        *[observed("s", "answerable", 0.9, relevant=True)] * 100,
        *[observed("s", "stranger", 0.5, donor="near")] * 10,
        *[observed("s", "stranger", 0.1, donor="far")] * 1000,
        *[observed("small", "answerable", 0.9, relevant=True)] * 50,
        *[observed("small", "stranger", 0.5, donor="s")] * 10,
    ]
    weighed = weights(mixture)
    assert weighed[:100].sum() == pytest.approx(0.5)
    assert weighed[100:110].sum() == pytest.approx(0.5 * 0.2 / 0.35)
    assert weighed[110:1110].sum() == pytest.approx(0.5 * 0.15 / 0.35)
    assert weighed[1110:].sum() == pytest.approx(0.5)
    assert nearest_donors(mixture) == {"s": "near", "small": "s"}


def test_real_questions_without_an_answer_count_most() -> None:
    """Own .35, attributes .3, near strangers .2, far ones .15, of the .5 without an answer."""
    kinds = ["answerable"] * 100 + ["unanswerable"] * 2 + ["attribute"] * 30
    mixture = [observed("s", kind, 0.5) for kind in cast("list[Kind]", kinds)]
    mixture += [observed("s", "stranger", 0.5, donor="near")] * 10
    mixture += [observed("s", "stranger", 0.1, donor="far")] * 10
    weighed = weights(mixture)
    parts = [weighed[a:b].sum() for a, b in ((0, 100), (100, 102), (102, 132), (132, 142), (142, 152))]
    assert parts == pytest.approx([0.5, 0.175, 0.15, 0.1, 0.075])


def test_a_tenant_is_judged_by_models_of_the_others() -> None:
    """Tenant b's cosines say the contrary of all others: models that never saw them are wrong about b."""
    rows = [
        observed(
            "s",
            "answerable" if good else "unanswerable",
            n / 40 + 0.5 * (good == (tenant != "b")),
            relevant=good,
            tenant=tenant,
        )
        for tenant in ("a", "b", "c", "d")
        for good in (True, False)
        for n in range(20)
    ]
    found = tenants_left_out(rows, of_memories=COSINE, of_answers=COSINE)["s"]
    assert found["questions"] == 80.0
    assert found["auroc"] < 0.85
    assert found["low"] < found["auroc"] < found["high"]
    one_tenant = [one for one in rows if one.tenant == "a"]
    assert tenants_left_out(one_tenant, of_memories=COSINE, of_answers=COSINE) == {}


def test_the_interval_of_an_auroc_by_hand() -> None:
    """Hanley and McNeil: area .8 of 20 and 10; Q1 = 2/3, Q2 = .7111, variance .0084."""
    low, high = interval(0.8, 20, 10)
    variance = (0.16 + 19 * (0.8 / 1.2 - 0.64) + 9 * (1.28 / 1.8 - 0.64)) / 200
    assert (low, high) == pytest.approx((0.8 - 1.96 * variance**0.5, 0.8 + 1.96 * variance**0.5))
    assert interval(1.0, 20, 10) == (1.0, 1.0)


def test_observations_come_back_as_they_were_kept(tmp_path: Path) -> None:
    """Fits with other features need no second run."""
    path = tmp_path / "kept" / "s.json"
    assert load(path) is None
    rows = [observed("s", "answerable", 0.9, relevant=True), observed("s", "attribute", 0.1)]
    save(path, rows)
    again = load(path)
    assert again is not None
    for one, other in zip(rows, again, strict=True):
        assert {name: values.tolist() for name, values in one.memories.items()} == {
            name: values.tolist() for name, values in other.memories.items()
        }
        assert replace(one, memories={}) == replace(other, memories={})


def test_a_handful_of_strangers_is_not_the_nearest_donor() -> None:
    """Nine of them come closer by chance; ten of another donor decide, unless there is no other."""
    few = [observed("s", "stranger", 0.9, donor="few")] * 9
    many = [observed("s", "stranger", 0.5, donor="many")] * 10
    assert nearest_donors([*few, *many]) == {"s": "many"}
    assert nearest_donors(few) == {"s": "few"}


def test_other_tenants_of_the_set_are_the_nearest() -> None:
    """Even where another set's questions come closer by cosine: they are what is asked in earnest."""
    mixture = [observed("s", "stranger", 0.2, donor="s"), observed("s", "stranger", 0.9, donor="other")]
    assert nearest_donors(mixture) == {"s": "s"}
