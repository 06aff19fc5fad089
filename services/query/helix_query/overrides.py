"""A ranking profile with other constants by dotted key, as `why_not` tries and advises them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from helix_query.profile import RankingProfile
from helix_shared.errors import InvalidInputError


def overridden(profile: RankingProfile, constants: Mapping[str, Any]) -> RankingProfile:
    """`profile` with these constants, checked as a whole like one that is read from a file.

    Raises:
        InvalidInputError: a key is no constant, or a value is out of its bounds.
    """
    if not constants:
        return profile
    values = profile.model_dump()
    for key, value in constants.items():
        *path, name = key.split(".")
        part: Any = values
        for step in path:
            part = part.get(step) if isinstance(part, dict) else None
        if not isinstance(part, dict):
            raise InvalidInputError(key, "is no constant of a ranking profile")
        part[name] = value
    try:
        return RankingProfile.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InvalidInputError(".".join(map(str, first["loc"])), first["msg"]) from error


def constant_of(profile: RankingProfile, key: str) -> Any:
    """The value at `key`, as JSON spells it; None where there is none."""
    value: Any = profile.model_dump(mode="json")
    for step in key.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value
