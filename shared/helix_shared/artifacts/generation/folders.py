"""Paths of generations in the data folder, and which one is current.

    <root>/generations/000000000012/   manifest.json, memories.lance, lexicon, graph, signals
    <root>/CURRENT                     text: 12
    <root>/staging/                    leftovers of a crash; emptied by the next publish

Every file of a generation is new or a hard link, and none is changed after publication.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_shared.errors import REBUILD, CorruptArtifactError

if TYPE_CHECKING:
    from pathlib import Path

GENERATIONS: Final = "generations"
STAGING: Final = "staging"
CURRENT: Final = "CURRENT"
LEXICON: Final = "lexicon"
GRAPH: Final = "graph"
SIGNALS: Final = "signals"


def current_number(root: Path) -> int | None:
    """Number of the current generation; None before the first.

    Raises:
        CorruptArtifactError: CURRENT holds no number.
    """
    try:
        text = (root / CURRENT).read_text(encoding="ascii").strip()
        return int(text)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise CorruptArtifactError(f"CURRENT holds no number: {root / CURRENT}; {REBUILD}") from error


def published_numbers(root: Path, *, up_to: int | None = None) -> list[int]:
    """Numbers of all generations on the disk, newest first; one above CURRENT was never made current."""
    folder = root / GENERATIONS
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    # a folder that somebody else made there is no generation
    own = (name for name in names if name.isdecimal() and name == folder_of(root, int(name)).name)
    numbers = sorted(map(int, own), reverse=True)
    return [number for number in numbers if up_to is None or number <= up_to]


def highest_number(root: Path) -> int:
    """The highest number that CURRENT or a folder on the disk has, whether it can be read or not; 0: none."""
    try:
        current = current_number(root) or 0
    except CorruptArtifactError:
        current = 0
    return max(current, *published_numbers(root)[:1], 0)


def folder_of(root: Path, number: int) -> Path:
    """Folder of a generation, whether it exists or not."""
    return root / GENERATIONS / f"{number:012d}"


def staging_of(root: Path, name: str) -> Path:
    """A folder for work in progress on the same file system; its parent exists afterwards."""
    (root / STAGING).mkdir(parents=True, exist_ok=True)
    return root / STAGING / name
