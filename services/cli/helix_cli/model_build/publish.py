"""How a model appears: whole, or not at all, however many processes make it at once.

Work happens in a hidden folder beside the others, under a lock the kernel releases when its holder
dies, and the finished folder is renamed into place. What a killed process left is swept by the next one.
`helix_shared.encoders.store` finds the result.
"""

from __future__ import annotations

import fcntl
import shutil
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from helix_shared.encoders.model import load_card
from helix_shared.encoders.store import folder_path
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What to do with a model of that name that is already there.
Existing = Literal["keep", "refuse", "replace"]
UNFINISHED = ".unfinished-"


def publish(root: Path, name: str, fill: Callable[[Path], None], *, existing: Existing) -> Path:
    """Make the model `name` under `root`: `fill` writes it into the empty folder it is given.

    A second caller waits for the first and then finds the model there. When `fill` raises, nothing is left.

    Raises:
        InvalidInputError: `name` is taken and `existing` is "refuse", or is no name for a model.
        CorruptArtifactError: `existing` is "keep" and what is there is damaged.
    """
    target = folder_path(root, name)
    root.mkdir(parents=True, exist_ok=True)
    with _only_one(root):
        if target.exists() and existing == "refuse":
            raise InvalidInputError("name", f"{name!r} is taken in {root}: give --replace or another --name")
        if target.exists() and existing == "keep":
            load_card(target)
            return target
        _sweep(root)
        with TemporaryDirectory(prefix=UNFINISHED, dir=root) as scratch:
            stage = Path(scratch) / name
            stage.mkdir()
            fill(stage)
            _swap(stage, target, retired=Path(scratch) / "retired")
    return target


@contextmanager
def _only_one(root: Path) -> Iterator[None]:
    with (root / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _sweep(root: Path) -> None:
    """Remove what killed processes left; with the lock held, nothing unfinished is in use."""
    for leftover in root.glob(f"{UNFINISHED}*"):
        shutil.rmtree(leftover, ignore_errors=True)


def _swap(stage: Path, target: Path, *, retired: Path) -> None:
    """Rename `stage` to `target`; what was there goes to `retired`, and back should the rename fail."""
    if not target.exists():
        stage.rename(target)
        return
    target.rename(retired)
    try:
        stage.rename(target)
    except OSError:
        retired.rename(target)
        raise
