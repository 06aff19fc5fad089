"""The arithmetic of a score, for single numbers and for arrays.

The query service ranks all candidates at once with these functions; `helix_memory.explanation` repeats the
score of one candidate with them. The order of operations is part of the contract: equal inputs give equal
bits. This module does not need numpy.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

Value = Any
"""A float, or an array of float64 with one entry per candidate."""

MULTIPLY: Final = "multiply"
ADD: Final = "add"


def normalised(raw: Value, least: Value, span: Value) -> Value:
    """Min-max: 0 at `least`, 1 at `least` + `span`."""
    return (raw - least) / span


def blend(first: Value, second: Value, share: float) -> Value:
    """Weighted mean: `share` of `first`, the rest of `second`."""
    return share * first + (1.0 - share) * second


def weighted(pairs: Iterable[tuple[Value, Value]]) -> Value:
    """Sum of weight x value, from left to right; 0 without pairs."""
    products = [weight * value for weight, value in pairs]
    total = products[0] if products else 0.0
    for part in products[1:]:
        total = total + part
    return total


def lifted(relevance: Value, quality: Value, quality_weight: float) -> Value:
    """Relevance x (1 + quality_weight x quality)."""
    return relevance * (1.0 + quality_weight * quality)


def product(factors: Iterable[Value]) -> Value:
    """All factors multiplied, from left to right; 1 without factors."""
    result: Value = 1.0
    for factor in factors:
        result = result * factor
    return result


def stepped(score: Value, operation: str, value: Value) -> Value:
    """`score` multiplied by `value` (`MULTIPLY`), else `score` plus `value`."""
    return score * value if operation == MULTIPLY else score + value


def reciprocal(weight: float, k: int, rank: Value, bonus: Value) -> Value:
    """Contribution of one list to reciprocal rank fusion: weight / (k + rank) + bonus; ranks start at 1."""
    return weight / (k + rank) + bonus
