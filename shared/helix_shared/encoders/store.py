"""Finds encoders and rerankers: one folder each, named like it, under the root that the caller gives.

The root is `<HELIX_HOME>/models`; this module does not read the environment. A folder is complete when it
appears, because `helix_cli.model_build.publish` renames it into place; names with a leading dot are
unfinished builds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from helix_shared.encoders.model import CARD_FILE, NAME_PATTERN, RERANKER_FILE, ModelCard, read_card
from helix_shared.errors import CorruptArtifactError, InvalidInputError, NotFoundError
from helix_shared.machine.whole_file import write_whole

if TYPE_CHECKING:
    from pathlib import Path

BGE_SMALL = "bge-small-en-v1.5"
MINILM = "all-MiniLM-L6-v2"
_NAME = re.compile(NAME_PATTERN)
# The better encoder first; MiniLM can be built without a network.
DEFAULT_ORDER = (BGE_SMALL, MINILM)
CHOICE_FILE = ".default"
"""Holds the name of the model that was chosen; without it the first of `DEFAULT_ORDER` is the default."""


def folder_path(root: Path, name: str) -> Path:
    """Folder of the model `name`, which need not exist; InvalidInputError if `name` is not a valid name."""
    if not _NAME.fullmatch(name):
        raise InvalidInputError("name", f"must match {NAME_PATTERN}, is {name!r}")
    return root / name


def model_folders(root: Path) -> list[Path]:
    """All folders under `root` that hold an encoder, sorted by name; empty when there is no root yet."""
    return _folders(root, CARD_FILE)


def reranker_folders(root: Path) -> list[Path]:
    """The same of rerankers."""
    return _folders(root, RERANKER_FILE)


def list_models(root: Path) -> list[ModelCard]:
    """Read the cards of all models under `root`, sorted by name; files are not checked (`load_card` does).

    Raises:
        CorruptArtifactError: a card is unreadable.
    """
    return [read_card(folder) for folder in model_folders(root)]


def model_folder(root: Path, name: str) -> Path:
    """Find the model `name`.

    Raises:
        InvalidInputError: `name` cannot be a model's name.
        NotFoundError: there is no such model.
    """
    return _found(root, name, CARD_FILE, kind="model", made_by="`helix models build` or `import`")


def reranker_folder(root: Path, name: str) -> Path:
    """Find the reranker `name`.

    Raises:
        InvalidInputError: `name` cannot be a model's name.
        NotFoundError: there is no such reranker.
    """
    return _found(root, name, RERANKER_FILE, kind="reranker", made_by="`helix models import`")


def default_model(root: Path) -> Path:
    """Find the model that memories are embedded with: the chosen one, else bge-small, else MiniLM.

    Raises:
        NotFoundError: it is not there.
    """
    if name := chosen_model(root):
        return model_folder(root, name)
    for name in DEFAULT_ORDER:
        if (root / name / CARD_FILE).is_file():
            return root / name
    raise NotFoundError(f"no model under {root}: run `helix models build`")


def chosen_model(root: Path) -> str:
    """Name of the chosen model, which may be gone; empty: none was chosen.

    Raises:
        InvalidInputError: the file holds no name.
    """
    try:
        name = (root / CHOICE_FILE).read_text(encoding="utf-8", errors="replace").strip()
    except FileNotFoundError:
        return ""
    return folder_path(root, name).name


def choose_model(root: Path, name: str) -> None:
    """Make the model `name` the default; atomic.

    Raises: as `model_folder`.
    """
    write_whole(model_folder(root, name).parent / CHOICE_FILE, f"{name}\n".encode())


def folder_with_checksum(root: Path, checksum: str) -> Path | None:
    """The model whose card has `checksum`; None where it is not installed. Damaged cards are skipped."""
    for folder in model_folders(root):
        try:
            if read_card(folder).checksum == checksum:
                return folder
        except CorruptArtifactError:
            continue
    return None


def _found(root: Path, name: str, card: str, *, kind: str, made_by: str) -> Path:
    folder = folder_path(root, name)
    if not (folder / card).is_file():
        present = ", ".join(found.name for found in _folders(root, card)) or "none"
        raise NotFoundError(f"no {kind} {name!r} under {root} (present: {present}): run {made_by}")
    return folder


def _folders(root: Path, card: str) -> list[Path]:
    if not root.is_dir():
        return []
    return sorted(found.parent for found in root.glob(f"[!.]*/{card}"))
