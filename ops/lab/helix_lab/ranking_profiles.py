"""The ranking profiles of a run: the service's own, the lab's single channels, and the user's.

`dense`, `bm25`, `lexical` and `fused` each leave out everything but what they are named after: the
parts the whole is compared with.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path

from helix_query.profile.files import load_profiles
from helix_query.profile.profile import RankingProfile
from helix_shared.errors import InvalidInputError


@contextlib.contextmanager
def profile_folder(own: Path | None) -> Iterator[Path]:
    """One folder with the lab's profiles and those of `own`, as the query service takes it.

    Raises:
        InvalidInputError: `own` is no folder.
    """
    if own is not None and not own.is_dir():
        raise InvalidInputError(str(own), "is not a folder of ranking profiles")
    with tempfile.TemporaryDirectory(prefix="helix-lab-") as folder:
        for file in (resources.files("helix_lab") / "profiles").iterdir():
            (Path(folder) / file.name).write_bytes(file.read_bytes())
        for path in sorted(own.glob("*.toml")) if own is not None else ():
            shutil.copy(path, folder)
        yield Path(folder)


def known_profiles(own: Path | None) -> Mapping[str, RankingProfile]:
    """All profiles by name. Raises: as `profile_folder`."""
    with profile_folder(own) as folder:
        return load_profiles(folder)


def named_profiles(names: str, own: Path | None) -> dict[str, RankingProfile]:
    """The profiles of a comma-separated list, in its order.

    Raises:
        InvalidInputError: one is unknown, and those that are known are named; or `own` is no folder.
    """
    known = known_profiles(own)
    wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    unknown = [name for name in wanted if name not in known]
    if unknown or not wanted:
        raise InvalidInputError(
            "profile", f"unknown: {', '.join(unknown)}; known: {', '.join(sorted(known))}"
        )
    return {name: known[name] for name in wanted}


def one_profile(name: str, own: Path | None) -> RankingProfile:
    """The one profile of this name, of `own` or of those that there are.

    Raises:
        InvalidInputError: it is unknown, there are several names, or `own` is no folder.
    """
    found = list(named_profiles(name, own).values())
    if len(found) != 1:
        raise InvalidInputError("profile", f"names {len(found)} ranking profiles; name one")
    return found[0]
