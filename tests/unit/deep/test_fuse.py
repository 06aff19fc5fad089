"""Fusing lists with the constants of the CEMS recipe, against values worked out by hand."""

from __future__ import annotations

import pytest

from helix_deep.stages.fuse import QUESTION_WEIGHT, Fused, Listed, RankedList, fuse


def ranked(*names: str, weight: float = 1.0, cosine: float = 0.0) -> RankedList:
    """A list of memories with falling scores."""
    listed = [Listed(name, cosine, 1.0 - place / 10) for place, name in enumerate(names)]
    return RankedList(listed, weight)


def test_a_list_counts_its_weight_by_rank_and_a_bonus_for_its_top() -> None:
    """2/61 + .05 against 2/62 + .02 + 1/61 + .05; without cosines half of the normalised sum is left."""
    fused = fuse([ranked("a", "b", "c", "d", weight=QUESTION_WEIGHT), ranked("b")])
    sums = {"a": 2 / 61 + 0.05, "b": 2 / 62 + 0.02 + 1 / 61 + 0.05, "c": 2 / 63 + 0.02, "d": 2 / 64}
    span = sums["b"] - sums["d"]
    expected = {name: 0.5 * (value - sums["d"]) / span for name, value in sums.items()}
    assert [one.memory_id for one in fused] == ["b", "a", "c", "d"]
    assert {one.memory_id: one.score for one in fused} == pytest.approx(expected)
    assert {one.memory_id: one.lists for one in fused} == {"a": 1, "b": 2, "c": 1, "d": 1}


def test_half_of_the_score_is_the_greatest_cosine() -> None:
    """The better of two lists counts; a negative one counts as 0."""
    near = RankedList([Listed("a", 0.3, 1.0)], QUESTION_WEIGHT)
    fused = fuse([near, RankedList([Listed("b", -0.4, 1.0), Listed("a", 0.8, 0.5)])])
    assert fused[0] == Fused("a", pytest.approx(0.5 * 1.0 + 0.5 * 0.8), 2)
    assert fused[1] == Fused("b", 0.0, 1)


def test_a_single_list_keeps_its_order() -> None:
    """The query service knows more than cosines; empty lists do not count."""
    alone = RankedList([Listed("a", 0.1, 4.0), Listed("b", 0.9, 3.0), Listed("c", 0.0, 1.0)], QUESTION_WEIGHT)
    assert fuse([alone, RankedList([])]) == [Fused("a", 1.0), Fused("b", 0.75), Fused("c", 0.25)]
    assert fuse([RankedList([Listed("a", 0.1, 0.0)])]) == [Fused("a", 0.0)]
    assert fuse([]) == []


def test_equal_memories_keep_the_order_of_the_lists() -> None:
    """Two lists that mirror each other, with the same weight."""
    assert [one.memory_id for one in fuse([ranked("a", "b"), ranked("b", "a")])] == ["a", "b"]
