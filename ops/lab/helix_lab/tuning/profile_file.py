"""Writes a ranking profile as the TOML file the query service reads, with how it was found on top."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import tomli_w

from helix_query.profile.profile import RankingProfile
from helix_shared.machine.whole_file import write_whole


def write_profile(profile: RankingProfile, folder: Path, *, heading: Sequence[str]) -> Path:
    """`folder`/NAME.toml with `heading` as comment; readable by `helix_query.profile.files.load_profiles`.

    Every constant is written, so that the profile stays what it is when a default changes.
    """
    values = profile.model_dump(mode="json", exclude_none=True)
    lines = [f"# {line}".rstrip() for text in heading for line in text.splitlines() or [""]]
    path = folder / f"{profile.name}.toml"
    write_whole(path, "\n".join([*lines, tomli_w.dumps(values)]).encode())
    return path
