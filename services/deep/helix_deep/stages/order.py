"""The order of the result: that of the model blended in, the first half of the plain recall kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from helix_deep.stages.fuse import Fused

MODEL_SHARE: Final = 0.7
"""As published: score = .7 / rank + .3 x fused score."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A memory of the result and its score; `model_rank` 0: the model did not name it."""

    fused: Fused
    score: float
    model_rank: int = 0
    is_kept: bool = False
    """Whether it stands here because the plain recall has it in its first half."""

    @property
    def memory_id(self) -> str:
        """Id of the memory."""
        return self.fused.memory_id


def blend(fused: Sequence[Fused], order: Sequence[int]) -> list[Placed]:
    """All of `fused`, best first, with the places that the model gave: `order` has positions from 1.

    The recipe drops what the model does not name. Here it keeps .3 x its fused score, because a model that
    lies must not empty the answer.
    """
    ranks = {position: rank for rank, position in enumerate(order, 1)}
    placed = []
    for position, one in enumerate(fused, 1):
        rank = ranks.get(position, 0)
        named = MODEL_SHARE / rank if rank else 0.0
        placed.append(Placed(one, named + (1 - MODEL_SHARE) * one.score, rank))
    return sorted(placed, key=lambda one: -one.score)


def unblended(fused: Sequence[Fused]) -> list[Placed]:
    """The same where the model was not asked: scores are the fused ones."""
    return [Placed(one, one.score) for one in fused]


def distinct(
    placed: Sequence[Placed], says: Callable[[str], frozenset[str]], *, owed: Collection[str] = ()
) -> list[Placed]:
    """Those that do not say the same as a better one: two memories do if `says` has a common key for them.

    Each list is free of near-duplicates, but one that a list dropped may stand in another. The ids `owed`
    stay whatever is better.
    """
    seen: set[str] = set().union(*map(says, owed))
    kept = []
    for one in placed:
        keys = says(one.memory_id)
        if one.memory_id in owed or not keys & seen:
            seen |= keys
            kept.append(one)
    return kept


def first_half(plain: Sequence[str], top_k: int) -> Sequence[str]:
    """Of the plain recall, what every result of `top_k` memories holds."""
    return plain[: (top_k + 1) // 2]


def keep_plain(placed: Sequence[Placed], plain: Sequence[str], *, top_k: int) -> list[Placed]:
    """The first `top_k`, with the first half of the plain recall among them whatever the model said.

    Memories of `plain` that are missing take the last places, in their order. `plain` are ids, best first.
    """
    by_id = {one.memory_id: one for one in placed}
    owed = [memory_id for memory_id in first_half(plain, top_k) if memory_id in by_id]
    chosen = list(placed[:top_k])
    missing = [memory_id for memory_id in owed if memory_id not in {one.memory_id for one in chosen}]
    for place in range(len(chosen) - 1, -1, -1):
        free = top_k - len(chosen)
        if len(missing) <= free:
            break
        if chosen[place].memory_id not in owed:
            del chosen[place]
    kept = [by_id[memory_id] for memory_id in missing]
    return chosen + [Placed(one.fused, one.score, one.model_rank, is_kept=True) for one in kept]
