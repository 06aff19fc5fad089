"""What all parts of a ranking profile are made of: their base, their bounds, and choosing by intent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from helix_query.profile.intent import Intent

Channel = Literal["dense", "lexical", "entity", "associative"]

Share = Annotated[float, Field(ge=0, le=1)]
Factor = Annotated[float, Field(ge=0, le=10)]
Multiplier = Annotated[float, Field(gt=0, le=10)]

_Chosen = TypeVar("_Chosen")


class Part(BaseModel):
    """Never changes, and refuses keys that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def of_intents(by_intent: Mapping[Intent, _Chosen], intents: Iterable[Intent]) -> Iterator[_Chosen]:
    """What is set for any of `intents`, in the order of the profile."""
    asked = set(intents)
    return (chosen for intent, chosen in by_intent.items() if intent in asked)
