"""The arithmetic of a score, on numbers and on arrays alike.

The query service ranks with these functions, whole pools at a time; `helix_memory.explanation` repeats one
candidate's score with the same ones. Order of operations is part of the contract: equal inputs give equal
bits. No engine and no numpy is needed here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

Value = Any
"""A float, or an array of float64 with one entry a candidate."""

MULTIPLY: Final = "multiply"
ADD: Final = "add"


def normalised(raw: Value, least: Value, span: Value) -> Value:
    """Min-max: 0 at `least`, 1 at `least` + `span`."""
    return (raw - least) / span


def blend(first: Value, second: Value, share: float) -> Value:
    """`share` of the first, the rest of the second."""
    return share * first + (1.0 - share) * second


def weighted(pairs: Iterable[tuple[Value, Value]]) -> Value:
    """Sum of weight x value, from left to right; 0 of nothing."""
    products = [weight * value for weight, value in pairs]
    total = products[0] if products else 0.0
    for part in products[1:]:
        total = total + part
    return total


def lifted(relevance: Value, quality: Value, quality_weight: float) -> Value:
    """Relevance x (1 + quality_weight x quality)."""
    return relevance * (1.0 + quality_weight * quality)


def product(factors: Iterable[Value]) -> Value:
    """All factors multiplied, from left to right; 1 of nothing."""
    result: Value = 1.0
    for factor in factors:
        result = result * factor
    return result


def stepped(score: Value, operation: str, value: Value) -> Value:
    """`score` after one step: multiplied by `value`, or with `value` added."""
    return score * value if operation == MULTIPLY else score + value


def reciprocal(weight: float, k: int, rank: Value, bonus: Value) -> Value:
    """What a list gives in reciprocal rank fusion: weight / (k + rank) + bonus, rank from 1."""
    return weight / (k + rank) + bonus
