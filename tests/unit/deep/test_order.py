"""The order of the model, and what stays whatever it says."""

from __future__ import annotations

import random

import pytest

from helix_deep.stages.fuse import Fused
from helix_deep.stages.order import blend, distinct, keep_plain, unblended

FUSED = [Fused("a", 0.9), Fused("b", 0.6), Fused("c", 0.5), Fused("d", 0.1)]


def test_the_models_order_counts_seven_tenths() -> None:
    """.7 / rank + .3 x fused score; what the model does not name keeps the second part."""
    placed = blend(FUSED, [3, 1])
    assert [(one.memory_id, one.model_rank) for one in placed] == [("c", 1), ("a", 2), ("b", 0), ("d", 0)]
    assert [one.score for one in placed] == pytest.approx([0.7 + 0.15, 0.35 + 0.27, 0.18, 0.03])


def test_without_the_model_the_fused_order_stays() -> None:
    """Scores are the fused ones."""
    assert [(one.memory_id, one.score) for one in unblended(FUSED)] == [(f.memory_id, f.score) for f in FUSED]


def test_the_first_half_of_the_plain_recall_is_kept() -> None:
    """In the last places, in its order, and marked."""
    placed = unblended([Fused(name, 1.0 - place / 100) for place, name in enumerate("uvwxyzabcdef")])
    kept = keep_plain(placed, "abcdef", top_k=5)
    assert "".join(one.memory_id for one in kept) == "uvabc"
    assert [one.is_kept for one in kept] == [False, False, True, True, True]


def test_what_is_there_already_takes_no_second_place() -> None:
    """Only the missing one is added, and pushes out the last that is not owed."""
    placed = unblended([Fused(name, 1.0 - place / 100) for place, name in enumerate("aubvwxc")])
    assert "".join(one.memory_id for one in keep_plain(placed, "abcdef", top_k=5)) == "aubvc"
    assert "".join(one.memory_id for one in keep_plain(placed, "a", top_k=3)) == "aub"


@pytest.mark.parametrize("seed", range(20))
def test_no_order_loses_the_first_half_of_the_plain_recall(seed: int) -> None:
    """Any order of the model, any number of foreign memories."""
    chance = random.Random(seed)
    plain = [f"p{number}" for number in range(chance.randint(0, 12))]
    strangers = [f"s{number}" for number in range(chance.randint(0, 60))]
    everything = [*plain, *strangers]
    chance.shuffle(everything)
    fused = [Fused(name, chance.random()) for name in everything]
    order = chance.sample(range(1, len(fused) + 1), k=chance.randint(0, len(fused)))
    top_k = chance.randint(1, 12)
    kept = [one.memory_id for one in keep_plain(blend(fused, order), plain, top_k=top_k)]
    assert len(kept) == len(set(kept)) == min(top_k, len(everything))
    assert set(plain[: (top_k + 1) // 2]) <= set(kept)


def test_what_says_the_same_as_a_better_one_is_left_out() -> None:
    """A statement and the turn that it was derived from have a common key."""
    keys = {"a": {"turn"}, "b": {"turn", "b"}, "c": {"c"}, "d": {"d"}}
    left = distinct(unblended(FUSED), lambda name: frozenset(keys[name]))
    assert [one.memory_id for one in left] == ["a", "c", "d"]


def test_what_the_plain_recall_owes_stays_behind_one_that_says_the_same() -> None:
    """And the other one goes."""
    keys = {"a": {"turn", "a"}, "b": {"turn", "b"}, "c": {"c"}}
    kept = distinct(unblended(FUSED[:3]), lambda name: frozenset(keys[name]), owed=["b"])
    assert [one.memory_id for one in kept] == ["b", "c"]
