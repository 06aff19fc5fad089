"""Constants of a ranking profile by dotted key, whatever parts the profile has.

`why_not` advises changes this way, and the lab switches and tunes with it, so a new constant costs each of
them one line at most. A `*` in a key stands for every entry there (`rank.weights.*.recency`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from helix_query.profile.profile import RankingProfile, validated
from helix_shared.errors import InvalidInputError

EVERY: Final = "*"


def constant(profile: RankingProfile, key: str, *, mode: Literal["json", "python"] = "python") -> Any:
    """The value at `key`, of the first entry where `*` stands for several; None where there is no entry.

    `mode` json gives it as JSON spells it.
    """
    value: Any = profile.model_dump(mode=mode)
    for step in key.split("."):
        if not isinstance(value, dict):
            return None
        value = next(iter(value.values()), None) if step == EVERY else value.get(step)
    return value


def with_constants(profile: RankingProfile, changes: Mapping[str, Any]) -> RankingProfile:
    """`profile` with other values, checked as a whole like a profile that is read from a file.

    Raises:
        InvalidInputError: a key is no constant of a ranking profile, or a value is out of its bounds.
    """
    if not changes:
        return profile
    values = profile.model_dump()
    for key, value in changes.items():
        _put(values, key.split("."), value, key)
    return validated(values)


def _put(values: Any, steps: list[str], value: Any, key: str) -> None:
    if not isinstance(values, dict):
        raise InvalidInputError(key, "is no constant of a ranking profile")
    step, *rest = steps
    for name in list(values) if step == EVERY else [step]:
        if rest:
            # an entry of a mapping may be new: fuse.by_intent.exact_lookup.dense
            _put(values.setdefault(name, {}), rest, value, key)
        else:
            values[name] = value
