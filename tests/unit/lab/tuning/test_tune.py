from collections.abc import Sequence
from dataclasses import replace

import optuna
import pytest

from helix_lab.sets.answers import Run
from helix_lab.sets.data import EvaluationSet
from helix_lab.tuning.nested import held_out, held_out_overall, judged, tuned
from helix_lab.tuning.objective import Objective, read_objective
from helix_lab.tuning.search import search
from helix_lab.tuning.space import SPACE, Knob, chosen_space, own_values, proposed
from helix_lab.tuning.splits import FEWEST_IN_A_FOLD, folds_of, outer_splits
from helix_query.profile.overrides import with_constants
from helix_query.profile.profile import RankingProfile
from helix_shared.errors import InvalidInputError

from .tuning_cases import HELIX, MRR, PROFILES, made, plan, steep


def ids(parts: Sequence[EvaluationSet]) -> set[str]:
    """Questions by set and id."""
    return {f"{part.name} {question.id}" for part in parts for question in part.questions}


def test_every_question_is_held_out_once_and_never_in_its_own_training() -> None:
    """Of all sets together, independent of their sizes."""
    sets = [made("a", questions=20), made("b", questions=31)]
    splits = outer_splits(sets, folds=3, seed=0)
    for split in splits:
        assert not ids(split.training) & ids(split.held_out)
        assert ids(split.training) | ids(split.held_out) == ids(sets)
    assert sum(len(ids(split.held_out)) for split in splits) == 51


def test_a_part_holds_no_judgement_of_other_questions() -> None:
    """Relevant and superseded documents of what is held out are not in the training part."""
    for split in outer_splits([made()], folds=3, seed=0):
        (training,) = split.training
        asked = {question.id for question in training.questions}
        assert training.relevant.keys() == asked
        assert training.stale.keys() == asked


def test_questions_of_a_tenant_stay_together() -> None:
    """They share one conversation; six tenants in three folds: two each."""
    folds = folds_of(made(tenants=6), folds=3, salt="")
    tenants = [{question.tenant for question in fold.questions} for fold in folds]
    assert [len(fold) for fold in tenants] == [2, 2, 2]
    assert len(set.union(*tenants)) == 6


def test_fewer_tenants_than_folds_are_dealt_question_by_question() -> None:
    """Two tenants cannot fill three folds."""
    folds = folds_of(made(tenants=2), folds=3, salt="")
    assert [len(fold.questions) for fold in folds] == [8, 8, 8]


def test_folds_do_not_depend_on_the_order_of_the_questions() -> None:
    """They follow from ids; another salt gives other folds."""
    data = made()
    turned = replace(data, questions=data.questions[::-1])
    first, second = folds_of(data, folds=2, salt="x"), folds_of(turned, folds=2, salt="x")
    assert [ids([fold]) for fold in first] == [ids([fold]) for fold in second]
    assert ids([first[0]]) not in [ids([fold]) for fold in folds_of(data, folds=2, salt="y")]


def test_a_fold_of_too_few_questions_is_refused() -> None:
    """14 questions make two folds of 7, but not three of 5."""
    assert len(folds_of(made(questions=14), folds=2, salt="")) == 2
    with pytest.raises(
        InvalidInputError, match=rf"s: a fold of 3 would have 4 .* at least {FEWEST_IN_A_FOLD}"
    ):
        folds_of(made(questions=14), folds=3, salt="")


def test_too_few_inner_questions_are_refused_before_anything_is_asked() -> None:
    """15 questions make three outer folds, but the 10 that are left do not make three inner ones."""

    def unasked(profile: RankingProfile, part: EvaluationSet) -> Run:
        raise AssertionError(f"asked {part.name} with {profile.name}")

    with pytest.raises(InvalidInputError, match="a fold of 3 would have 3 questions"):
        tuned([made(questions=15)], unasked, HELIX, plan(inner=3), outer=3)


def test_the_search_never_asks_a_held_out_question() -> None:
    """Asking a held-out question during the search fails; judging asks all, once with each profile."""
    sets = [made("a"), made("b", questions=30, tenants=6)]
    for split in outer_splits(sets, folds=3, seed=3):
        planted = ids(split.held_out)

        def guarded(profile: RankingProfile, part: EvaluationSet, planted: set[str] = planted) -> Run:
            assert not ids([part]) & planted
            assert not {f"{part.name} {question}" for question in part.relevant} & planted
            return steep(profile, part)

        assert search(split.training, guarded, HELIX, plan()).constants
        with pytest.raises(AssertionError):
            judged(split, guarded, HELIX, plan())


def test_held_out_questions_are_asked_only_after_the_search() -> None:
    """In `judged`: every call with training questions comes before the first with held-out ones."""
    (split, *_) = outer_splits([made()], folds=3, seed=0)
    calls: list[bool] = []

    def noted(profile: RankingProfile, part: EvaluationSet) -> Run:
        calls.append(bool(ids([part]) & ids(split.held_out)))
        return steep(profile, part)

    judged(split, noted, HELIX, plan())
    assert calls == sorted(calls)
    assert calls.count(True) == 2


def test_the_search_finds_what_helps_and_leaves_the_rest() -> None:
    """rank.quality_weight must pass .2; expand.restart does nothing here, so it goes back to the start."""
    found = search([made()], steep, HELIX, plan())
    assert found.constants.keys() == {"rank.quality_weight"}
    assert found.profile.rank.quality_weight > 0.2
    assert found.profile == with_constants(HELIX, found.constants)
    assert (found.start_value, found.value) == (0.5, 1.0)


def test_the_same_seed_finds_the_same_constants() -> None:
    """Nothing else decides."""
    first, second = (search([made()], steep, HELIX, plan()) for _ in range(2))
    assert first == second
    assert search([made()], steep, HELIX, plan(seed=2)).constants != first.constants


def test_where_nothing_helps_the_start_stays() -> None:
    """The start is among the candidates."""
    best = with_constants(HELIX, {"rank.quality_weight": 0.4})
    found = search([made()], steep, best, plan())
    assert (found.profile, found.constants) == (best, {})


def test_the_gain_of_a_search_is_measured_on_held_out_questions() -> None:
    """Rank 2 becomes rank 1 for every question: half a point of MRR, in every fold, without doubt."""
    outcome = tuned([made("a"), made("b")], steep, HELIX, plan(), outer=2)
    gains = held_out(outcome.folds, MRR)
    assert {name: (gain.difference, gain.low) for name, gain in gains.items()} == {
        "a": (0.5, 0.5),
        "b": (0.5, 0.5),
    }
    assert held_out_overall(outcome.folds, MRR) == (0.5, 0.5, 0.5)


def test_a_set_that_loses_is_penalised() -> None:
    """.9 and .3 against .5 and .5: mean .6, a mean loss of .1."""
    means, start = {"a": 0.9, "b": 0.3}, {"a": 0.5, "b": 0.5}
    assert Objective(penalty=0.0).value(means, start) == pytest.approx(0.6)
    assert Objective(penalty=1.0).value(means, start) == pytest.approx(0.5)
    assert Objective(penalty=3.0).value(means, start) == pytest.approx(0.3)
    assert Objective(penalty=3.0).value(start, start) == pytest.approx(0.5)


def test_a_set_may_have_a_metric_of_its_own() -> None:
    """One metric for all, exceptions by set."""
    read = read_objective("MRR@10, locomo=R@10", sets=["locomo", "cosqa"], penalty=2.0)
    assert (read.metric_of("locomo"), read.metric_of("cosqa"), read.penalty) == ("R@10", "MRR@10", 2.0)


@pytest.mark.parametrize(
    ("text", "said"), [("nDCG@7", "unknown: 'nDCG@7'; known: R@1"), ("cosqua=R@5", "unknown set: 'cosqua'")]
)
def test_an_unknown_objective_is_refused(text: str, said: str) -> None:
    """The known ones are named."""
    with pytest.raises(InvalidInputError, match=said):
        read_objective(text, sets=["cosqa"], penalty=1.0)


@pytest.mark.parametrize("knob", SPACE, ids=lambda knob: knob.key)
def test_both_ends_of_every_knob_are_valid(knob: Knob) -> None:
    """A constant that was renamed, or bounds wider than the profile's, show here."""
    for value in knob.choices or (knob.low, knob.high):
        whole = int(value) if knob.kind in {"int", "log_int"} else value
        assert with_constants(HELIX, knob.changes(whole))


def test_an_unknown_constant_is_refused() -> None:
    """The known ones are named."""
    with pytest.raises(InvalidInputError, match=r"space: unknown: fuse\.kk; known: fuse\.method, fuse\.k,"):
        chosen_space("fuse.k, fuse.kk")


def test_the_usual_space_leaves_retrieval_alone() -> None:
    """A change of it costs a retrieval for every question."""
    usual = {knob.key for knob in chosen_space("")}
    assert {"fuse.method", "rank.graph_weight_multi_hop", "diversify.mmr_lambda"} <= usual
    assert not [key for key in usual if key.startswith("retrieve.")]


def test_of_two_weights_the_ratio_is_searched() -> None:
    """Dense .25 makes lexical .75, and a start of 1 to 3 counts as .25."""
    (knob,) = chosen_space("fuse.weights.dense")
    assert knob.changes(0.25) == {"fuse.weights.dense": 0.25, "fuse.weights.lexical": 0.75}
    start = with_constants(HELIX, {"fuse.weights.dense": 1.0, "fuse.weights.lexical": 3.0})
    assert own_values([knob], start) == {"fuse.weights.dense": 0.25}


def test_an_unused_constant_is_not_proposed() -> None:
    """fuse.k is for reciprocal ranks alone; floats have three digits."""
    space = chosen_space("fuse.k,fuse.method,expand.restart")
    rrf = {"fuse.method": "rrf", "fuse.k": 10, "expand.restart": 0.123456}
    assert proposed(optuna.trial.FixedTrial(rrf), space, HELIX) == rrf | {"expand.restart": 0.123}
    minmax = {"fuse.method": "minmax", "expand.restart": 0.5}
    assert proposed(optuna.trial.FixedTrial(minmax), space, HELIX) == minmax


def test_weights_by_memory_type_are_proposed_where_a_profile_has_them() -> None:
    """`helix` itself has none, so nothing would read the weight of quality."""
    space = chosen_space("rank.quality_weight,rank.weights.*.recency")
    values = {"rank.quality_weight": 0.2, "rank.weights.*.recency": 0.5}
    assert proposed(optuna.trial.FixedTrial(values), space, HELIX) == values
    assert proposed(optuna.trial.FixedTrial({}), space, PROFILES["helix"]) == {}
