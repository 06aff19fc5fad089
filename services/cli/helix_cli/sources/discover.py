"""Finds the files of an import and their formats.

From a folder, takes the files with a known ending, and those without an ending whose first bytes tell their
format, in the order of their paths. Skips files and folders whose names start with a dot, and folders of
installed packages and caches, unless they are named. Skips pipes, sockets and devices. `documents.formats`
tells the format of a file.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from helix_cli.sources.documents.formats import Format, detected, has_ending, is_recognised
from helix_shared.errors import InvalidInputError

INSTALLED: Final = ("node_modules", "site-packages", "__pycache__")
"""Names of folders that a program filled."""
MARKERS: Final = ("pyvenv.cfg", "CACHEDIR.TAG")
"""Files that mark a folder as a Python environment, or as a cache (bford.info/cachedir)."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file; `format` is None if it is unknown; `name` is its path from the named folder on."""

    path: Path
    name: str
    format: Format | None


@dataclass(frozen=True, slots=True)
class Found:
    """The files in the named paths."""

    sources: list[Source]
    """Files to import, folder by folder."""
    left_out: Counter[str]
    """Number of files in the folders with another ending, by ending in lower case."""
    installed: int
    """Number of folders of installed packages and caches."""


def discover(
    paths: Sequence[Path], *, source_format: Format | None = None, root: Path | None = None
) -> Found:
    """Find the files to import and count those left out.

    `root` is the folder whose name the names of all files begin with; by default the named folder, and for a
    named file its own folder.

    Raises:
        InvalidInputError: a path does not exist or is not in `root`, or a named file has no known format and
            none is given.
    """
    found: dict[Path, Source] = {}
    others: set[Path] = set()
    walk = _Walk()
    for path in paths:
        whole = Path(os.path.normpath(path.expanduser().absolute()))
        if not whole.exists():
            raise InvalidInputError("PATHS", f"{path} does not exist")
        top = _top(whole, root)
        for file in walk.files(whole):
            name = file.relative_to(top.parent).as_posix()
            if whole.is_dir() and not _is_wanted(file, source_format):
                others.add(file)
            elif file not in found:
                found[file] = Source(file, name, source_format or _format_of(file))
                if not whole.is_dir() and found[file].format is None and not has_ending(file, None):
                    raise InvalidInputError(
                        "PATHS", f"{path} is nothing that Helix knows; name its format with --from"
                    )
    left_out = Counter(map(_ending, others - found.keys()))
    return Found(list(found.values()), left_out, walk.installed)


def _top(path: Path, root: Path | None) -> Path:
    """The folder whose name the names of the files in `path` begin with."""
    if root is None:
        return path if path.is_dir() else path.parent
    top = Path(os.path.normpath(root.expanduser().absolute()))
    if not path.is_relative_to(top):
        raise InvalidInputError("--root", f"{path} is not in {root}")
    return top


class _Walk:
    """Walks folders and counts those of installed packages and caches, which it skips."""

    def __init__(self) -> None:
        self.installed = 0

    def files(self, path: Path) -> Iterator[Path]:
        """The files below a folder in order; a file itself."""
        if not path.is_dir():
            yield path
            return
        for folder, folders, files in os.walk(path):
            shown = sorted(name for name in folders if not name.startswith("."))
            folders[:] = [name for name in shown if not _is_installed(Path(folder, name))]
            self.installed += len(shown) - len(folders)
            found = (Path(folder, name) for name in sorted(files) if not name.startswith("."))
            yield from (file for file in found if not _is_special(file))


def _is_special(file: Path) -> bool:
    """Whether it is a pipe, a socket or a device, which may never end; not what cannot be looked at."""
    try:
        return not stat.S_ISREG(file.stat().st_mode)
    except OSError:
        return False


def _is_installed(folder: Path) -> bool:
    return folder.name in INSTALLED or any((folder / marker).is_file() for marker in MARKERS)


def _is_wanted(file: Path, source_format: Format | None) -> bool:
    """Whether a file of a folder is taken."""
    if has_ending(file, source_format):
        return True
    return source_format is None and not file.suffix and is_recognised(file)


def _format_of(file: Path) -> Format | None:
    """Format of a file; None if it cannot be read, which its reader reports."""
    try:
        return detected(file)
    except OSError:
        return None


def _ending(path: Path) -> str:
    return path.suffix.lower() or "no ending"
