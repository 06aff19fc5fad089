"""Lists of memories become one, with the weights and bonuses of the published CEMS recipe.

Source: github.com/Chocksy/cems, `retrieval.py`, `reciprocal_rank_fusion`: a list counts weight / (60 +
rank), 2.0 for the question and 1.0 for every other text; each list adds .05 at rank 1 and .02 at ranks 2
and 3; the sums are min-max normalised, and half of them and half of the vector score are the fused score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

K: Final = 60
QUESTION_WEIGHT: Final = 2.0
OTHER_WEIGHT: Final = 1.0
BONUSES: Final = (0.05, 0.02, 0.02)
FUSED_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Listed:
    """One memory of a list; the score is comparable inside the list only."""

    memory_id: str
    cosine: float
    """With the text that was searched for, -1 to 1."""
    score: float


@dataclass(frozen=True, slots=True)
class RankedList:
    """What one text found, best first; each memory once."""

    listed: Sequence[Listed]
    weight: float = OTHER_WEIGHT


@dataclass(frozen=True, slots=True)
class Fused:
    """A memory, its fused score, 0 to 1, and the number of lists that have it."""

    memory_id: str
    score: float
    lists: int = 1


def fuse(lists: Sequence[RankedList]) -> list[Fused]:
    """All memories of the lists, best first; of equal scores the one that an earlier list has first.

    A single list keeps its order, as published: its scores are divided by the best of them.
    """
    filled = [one for one in lists if one.listed]
    if len(filled) <= 1:
        return _alone(filled[0]) if filled else []
    sums: dict[str, float] = {}
    cosines: dict[str, float] = {}
    counts: dict[str, int] = {}
    for one in filled:
        for place, found in enumerate(one.listed):
            bonus = BONUSES[place] if place < len(BONUSES) else 0.0
            key = found.memory_id
            sums[key] = sums.get(key, 0.0) + one.weight / (K + place + 1) + bonus
            cosines[key] = max(cosines.get(key, 0.0), found.cosine)
            counts[key] = counts.get(key, 0) + 1
    least = min(sums.values())
    span = max(sums.values()) - least
    fused = [
        Fused(
            key,
            FUSED_SHARE * ((value - least) / span if span > 0 else 1.0) + (1 - FUSED_SHARE) * cosines[key],
            counts[key],
        )
        for key, value in sums.items()
    ]
    return sorted(fused, key=lambda one: -one.score)


def _alone(one: RankedList) -> list[Fused]:
    best = max(found.score for found in one.listed)
    scores = [found.score / best if best > 0 else 0.0 for found in one.listed]
    return [Fused(found.memory_id, score) for found, score in zip(one.listed, scores, strict=True)]
