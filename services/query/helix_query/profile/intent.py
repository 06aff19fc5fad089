"""Intents: kinds of information that a query asks for. A query has any number of them.

`recall.routing` finds them, ranking profiles set constants by intent, and replies name them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import TypeVar

_Chosen = TypeVar("_Chosen")


class Intent(StrEnum):
    """Values are the names in profiles, in `examples.toml` and in replies."""

    WHY = "why"
    WHEN = "when"
    WHO = "who"
    HOW = "how"
    WHAT = "what"
    TEMPORAL = "temporal"
    PREFERENCE = "preference"
    AGGREGATION = "aggregation"
    MULTI_HOP = "multi_hop"
    EXACT_LOOKUP = "exact_lookup"
    CURRENT_VALUE = "current_value"


def of_intents(by_intent: Mapping[Intent, _Chosen], intents: Iterable[Intent]) -> Iterator[_Chosen]:
    """What is set for any of `intents`, in the order of the profile."""
    asked = set(intents)
    return (chosen for intent, chosen in by_intent.items() if intent in asked)
