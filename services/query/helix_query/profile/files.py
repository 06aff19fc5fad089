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
    bases = {file.name.removesuffix(".toml"): file for file in built_in}
    return {profile.name: profile for profile in (_load(file, bases) for file in [*built_in, *own])}


def _files(folder: Traversable) -> list[Traversable]:
    if not folder.is_dir():
        raise InvalidInputError(str(folder), "is not a folder of ranking profiles")
    return sorted(
        (file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name
    )


def _load(file: Traversable, bases: Mapping[str, Traversable]) -> RankingProfile:
    values = _extended(file, _values(file), bases)
    try:
        profile = validated(values)
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


def _extended(file: Traversable, values: dict[str, Any], bases: Mapping[str, Traversable]) -> dict[str, Any]:
    """`values` over those of the profile that they extend, table by table; lists are replaced."""
    if EXTENDS not in values:
        return values
    name = values.pop(EXTENDS)
    extensible = {one: read for one, base in bases.items() if EXTENDS not in (read := _values(base))}
    if not isinstance(name, str) or name not in extensible:
        known = ", ".join(sorted(extensible))
        raise InvalidInputError(str(file), f"{EXTENDS}: must be one of {known}, is {name!r}")
    return _over(extensible[name], values)


def _over(base: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    both = {
        key for key, value in values.items() if isinstance(value, dict) and isinstance(base.get(key), dict)
    }
    return base | values | {key: _over(base[key], values[key]) for key in both}
