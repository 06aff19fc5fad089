"""Names the project of a working directory, so that worktrees and clones of a repository are one project.

The name is the last part of the address of the remote `origin`, else the name of the main repository's
folder, and outside of git that of the working directory. Reads the files of git and starts no process.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final

from helix_memory import limits

_READ_CHARACTERS: Final = 64 * 1024
_POINTER: Final = "gitdir:"
_ORIGIN: Final = '[remote "origin"]'
_SEPARATORS: Final = str.maketrans("\\:", "//")


def project_of(folder: object) -> str:
    """Project of a working directory, which need not exist; "" for anything but a text."""
    return _named(folder) if isinstance(folder, str) else ""


@lru_cache(maxsize=1024)
def _named(folder: str) -> str:
    name = folder.replace("\\", "/").rstrip("/").rpartition("/")[2]
    try:
        path = Path(folder)
        git = _git_folder(path) if path.is_absolute() else None
        if git is not None:
            name = _origin(git) or _main_folder(git) or name
    except (OSError, ValueError):
        pass
    return name[: limits.NAME_CHARACTERS]


def _git_folder(folder: Path) -> Path | None:
    """The git folder that all worktrees share; None outside of git."""
    for above in (folder, *folder.parents):
        git = above / ".git"
        if git.is_dir():
            return git
        if git.is_file():
            pointer = _read(git)
            if not pointer.startswith(_POINTER):
                return None
            own = (above / pointer.removeprefix(_POINTER).strip()).resolve()
            common = own / "commondir"
            return (own / _read(common).strip()).resolve() if common.is_file() else own
    return None


def _origin(git: Path) -> str:
    config = git / "config"
    address = _address(_read(config)) if config.is_file() else ""
    return address.translate(_SEPARATORS).rstrip("/").rpartition("/")[2].removesuffix(".git")


def _address(config: str) -> str:
    """The `url` of the section of `origin`; "" where there is none."""
    is_origin = False
    for line in map(str.strip, config.splitlines()):
        if line.startswith("["):
            is_origin = line == _ORIGIN
        name, _, value = line.partition("=")
        if is_origin and name.strip() == "url" and value.strip():
            return value.strip()
    return ""


def _main_folder(git: Path) -> str:
    """Name of the folder of the main repository; of a bare one, its own without `.git`."""
    return git.parent.name if git.name == ".git" else git.name.removesuffix(".git")


def _read(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(_READ_CHARACTERS)
