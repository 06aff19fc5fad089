"""Publishes a model atomically, also when several processes make it at once.

A model is made in a hidden folder beside the others, under a file lock, and the finished folder is renamed
into place, synced. A killed process leaves folders that the next one removes; a model that it had moved aside
and not replaced yet goes back. `helix_shared.encoders.store` finds models.
"""

from __future__ import annotations

import fcntl
import shutil
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from helix_shared.artifacts.files.durability import sync
from helix_shared.encoders.model import CARD_FILE, RERANKER_FILE, load_card
from helix_shared.encoders.store import folder_path
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from helix_shared.encoders.model import ModelCard

# What to do with an existing model of the same name.
Existing = Literal["keep", "refuse", "replace"]
UNFINISHED = ".unfinished-"
RETIRED = "retired"
"""Folder inside an unfinished one: the model that is replaced, under its name."""


def publish(
    root: Path,
    name: str,
    fill: Callable[[Path], None],
    *,
    existing: Existing,
    keeps: Callable[[ModelCard], bool] = lambda _: True,
) -> Path:
    """Make the model `name` under `root`; `fill` writes it into an empty folder.

    If `existing` is "keep", an existing model for which `keeps` is false is replaced.

    A second caller waits for the first and then finds its model. When `fill` raises, no folder remains.

    Raises:
        InvalidInputError: `name` is taken and `existing` is "refuse", it is that of a model of another kind,
            or it is not valid.
        CorruptArtifactError: `existing` is "keep" and the existing model is damaged.
    """
    target = folder_path(root, name)
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root):
        _remove_leftovers(root)
        if target.exists() and existing == "refuse":
            raise InvalidInputError("name", f"{name!r} is taken in {root}: give --replace or another --name")
        if target.exists() and existing == "keep" and keeps(load_card(target)):
            return target
        with TemporaryDirectory(prefix=UNFINISHED, dir=root) as scratch:
            stage = Path(scratch) / name
            stage.mkdir()
            fill(stage)
            _require_same_kind(stage, target)
            _sync(stage)
            _swap(stage, target, retired=Path(scratch) / RETIRED / name)
        sync(root)
    return target


def put_back(root: Path) -> None:
    """Put a model back that a killed process had moved aside to replace it."""
    if any(root.glob(f"{UNFINISHED}*/{RETIRED}/*")):
        with _locked(root):
            _remove_leftovers(root)


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    with (root / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _remove_leftovers(root: Path) -> None:
    """Remove folders of killed processes; the caller holds the lock, so none is in use."""
    for leftover in root.glob(f"{UNFINISHED}*"):
        for retired in leftover.glob(f"{RETIRED}/*"):
            if not (root / retired.name).exists():
                retired.rename(root / retired.name)
        shutil.rmtree(leftover, ignore_errors=True)


def _require_same_kind(stage: Path, target: Path) -> None:
    """An encoder is not replaced by a reranker, nor the other way round: a service may need it."""
    kinds = {CARD_FILE: "an encoder", RERANKER_FILE: "a reranker"}
    for card, kind in kinds.items():
        if (target / card).exists() and not (stage / card).exists():
            raise InvalidInputError("name", f"{target.name!r} is {kind}: give another --name")


def _sync(folder: Path) -> None:
    """Wait until every file and folder below is on the disk: a card must not outlive the files it names."""
    for path in [*folder.rglob("*"), folder]:
        sync(path)


def _swap(stage: Path, target: Path, *, retired: Path) -> None:
    """Rename `stage` to `target`; an existing `target` goes to `retired`, and back if the rename fails."""
    if not target.exists():
        stage.rename(target)
        return
    retired.parent.mkdir()
    target.rename(retired)
    try:
        stage.rename(target)
    except BaseException:  # also Ctrl-C: the scratch folder is removed then
        retired.rename(target)
        raise
