"""Intents: what kind of answer a question wants. A question has any number of them, also none.

`recall.routing` finds them; ranking profiles set constants by intent; replies name them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import TypeVar

_Chosen = TypeVar("_Chosen")


class Intent(StrEnum):
    """The values are the names in profiles, in `examples.toml` and on the wire."""

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
