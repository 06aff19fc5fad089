"""Built data by size, seed, code, base texts and model, so that a million memories are generated once.

Nothing writes into the cache: a run works on a clone of hard links.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Final

import helix_lab.bench.generate
import helix_shared.artifacts
from helix_lab.bench.generate.base_memories import read_base, texts
from helix_lab.bench.generate.load import BUILD_INFO_FILE, Advance, BuildInfo, build, read_build_info
from helix_lab.sets.build import code_digest
from helix_lab.sets.vector_store import VectorStore
from helix_shared import edges
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.model import read_card
from helix_shared.encoders.store import default_model

LANES: Final = 2


def built_folder(home: Path, models: Path, data: Path | None, n: int, *, seed: int) -> Path:
    """Folder of `n` memories below the lab's `home`, built or not."""
    digest = hashlib.blake2b(digest_size=6)
    digest.update(f"{seed} {read_card(default_model(models)).checksum}".encode())
    digest.update(code_digest((helix_lab.bench.generate, helix_shared.artifacts)).encode())
    digest.update(Path(edges.__file__).read_bytes())
    for found in texts(data):
        digest.update(f"{found.name} {found.documents} {found.questions}".encode())
    return home / "bench" / f"{n}-{digest.hexdigest()}"


def ensure_built(
    home: Path, models: Path, data: Path | None, n: int, *, seed: int, advance: Advance = lambda _: None
) -> tuple[Path, BuildInfo]:
    """Folder of `n` memories with its build info; built if it is missing.

    `advance` gets the number of memories written since its last call.
    """
    folder = built_folder(home, models, data, n, seed=seed)
    if (folder / BUILD_INFO_FILE).exists():
        return folder, read_build_info(folder)
    model = default_model(models)
    with VectorStore(home / "vectors", model=read_card(model).checksum) as store:
        encoder = Encoder.load(model, lanes=LANES, cache=store)
        with encoder:
            made = read_base(texts(data), encoder)
    growing = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(growing, ignore_errors=True)
    growing.mkdir(parents=True)
    info = build(made, growing, n, seed=seed, advance=advance)
    shutil.rmtree(growing / "live")
    shutil.rmtree(folder, ignore_errors=True)
    growing.rename(folder)
    return folder, info


def clone_built(folder: Path, into: Path) -> None:
    """Make `into` a data folder of its own by hard links, into which a run may publish."""
    number = current_number(folder) or 0
    target = folder_of(into, number)
    target.parent.mkdir(parents=True)
    shutil.copytree(folder_of(folder, number), target, copy_function=_linked)
    shutil.copyfile(folder / "CURRENT", into / "CURRENT")


def _linked(source: str, target: str) -> None:
    Path(target).hardlink_to(source)
