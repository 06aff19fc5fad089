"""Reads and changes constants of a ranking profile by dotted key, such as `fuse.weights.dense`.

Used by `why_not` and the lab. A `*` in a key stands for every entry (`rank.weights.*.recency`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from helix_query.profile.profile import RankingProfile, validated
from helix_shared.errors import InvalidInputError

EVERY: Final = "*"


def constant(profile: RankingProfile, key: str, *, mode: Literal["json", "python"] = "python") -> Any:
    """The value at `key`, of the first entry for a `*`; None without an entry.

    `mode` is that of pydantic's `model_dump`.
    """
    value: Any = profile.model_dump(mode=mode)
    for step in key.split("."):
        if not isinstance(value, dict):
            return None
        value = next(iter(value.values()), None) if step == EVERY else value.get(step)
    return value


def with_constants(profile: RankingProfile, changes: Mapping[str, Any]) -> RankingProfile:
    """`profile` with these values by dotted key, validated as a whole.

    Raises:
        InvalidInputError: a key is unknown or a value is out of bounds.
    """
    if not changes:
        return profile
    values = profile.model_dump()
    for key, value in changes.items():
        _put(values, key.split("."), value, key)
    return validated(values)


def _put(values: Any, steps: list[str], value: Any, key: str) -> None:
    if not isinstance(values, dict):
        raise InvalidInputError(key, "is not a constant of a ranking profile")
    step, *rest = steps
    for name in list(values) if step == EVERY else [step]:
        if rest:
            # An entry of a mapping may be new, as in fuse.by_intent.exact_lookup.dense.
            _put(values.setdefault(name, {}), rest, value, key)
        else:
            values[name] = value
