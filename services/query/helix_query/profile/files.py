"""Reads ranking profiles from TOML files: those of the package and those in a folder of the operator.

A file may state `extends`: what it leaves out is then that of another profile of the package. An unknown key,
a value out of bounds, or a name that differs from the file's stops the start.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from helix_query.profile.profile import RankingProfile, validated
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable
    from pathlib import Path

EXTENDS: Final = "extends"


def load_profiles(folder: Path | None = None) -> Mapping[str, RankingProfile]:
    """Profiles by name: those of the package and `*.toml` in `folder`, which replace them.

    Raises:
        InvalidInputError: `folder` does not exist, or a file is not a profile; names the file and key.
    """
    package = resources.files("helix_query.profile")
    built_in = [*_files(package), *_files(package / "recipes")]
    own = _files(folder) if folder is not None else []
    read = [(file, _values(file)) for file in [*built_in, *own]]
    bases = {
        file.name.removesuffix(".toml"): values
        for file, values in read[: len(built_in)]
        if EXTENDS not in values
    }
    profiles = [_load(file, values, bases) for file, values in read]
    return {profile.name: profile for profile in profiles}


def _files(folder: Traversable) -> list[Traversable]:
    if not folder.is_dir():
        raise InvalidInputError(str(folder), "is not a folder of ranking profiles")
    return sorted(
        (file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name
    )


def _load(file: Traversable, values: dict[str, Any], bases: Mapping[str, dict[str, Any]]) -> RankingProfile:
    whole = _extended(file, values, bases)
    try:
        profile = validated(whole)
    except InvalidInputError as error:
        raise InvalidInputError(str(file), str(error)) from error
    if f"{profile.name}.toml" != file.name:
        raise InvalidInputError(str(file), f"name: is {profile.name!r}, must be the file's name")
    return profile


def _values(file: Traversable) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInputError(str(file), f"is not readable as TOML: {error}") from error


def _extended(
    file: Traversable, values: dict[str, Any], bases: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    """`values` over those of the profile that they extend, table by table; lists are replaced."""
    if EXTENDS not in values:
        return values
    name = values[EXTENDS]
    if not isinstance(name, str) or name not in bases:
        known = ", ".join(sorted(bases))
        raise InvalidInputError(str(file), f"{EXTENDS}: must be one of {known}, is {name!r}")
    return _over(bases[name], {key: value for key, value in values.items() if key != EXTENDS})


def _over(base: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    both = {
        key for key, value in values.items() if isinstance(value, dict) and isinstance(base.get(key), dict)
    }
    return base | values | {key: _over(base[key], values[key]) for key in both}
