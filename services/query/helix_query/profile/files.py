"""Reads ranking profiles from TOML files: those of the package and those in a folder of the operator.

An unknown key, a value out of bounds, or a name that differs from the file's stops the start.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import TYPE_CHECKING

from helix_query.profile.profile import RankingProfile, validated
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable
    from pathlib import Path


def load_profiles(folder: Path | None = None) -> Mapping[str, RankingProfile]:
    """Profiles by name: those of the package and `*.toml` in `folder`, which replace them.

    Raises:
        InvalidInputError: `folder` does not exist, or a file is not a profile; names the file and key.
    """
    package = resources.files("helix_query.profile")
    built_in = [*_files(package), *_files(package / "recipes")]
    own = _files(folder) if folder is not None else []
    return {profile.name: profile for profile in map(_load, [*built_in, *own])}


def _files(folder: Traversable) -> list[Traversable]:
    if not folder.is_dir():
        raise InvalidInputError(str(folder), "is not a folder of ranking profiles")
    return sorted(
        (file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name
    )


def _load(file: Traversable) -> RankingProfile:
    try:
        profile = validated(tomllib.loads(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInputError(str(file), f"is not readable as TOML: {error}") from error
    except InvalidInputError as error:
        raise InvalidInputError(str(file), str(error)) from error
    if f"{profile.name}.toml" != file.name:
        raise InvalidInputError(str(file), f"name: is {profile.name!r}, must be the file's name")
    return profile
