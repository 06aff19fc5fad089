"""Stores that were built anew in a folder of their own take the place of those of a data folder.

`helix models use` builds them from the log with another model, while the writer of the data folder goes on.
In the end it holds the lease of that writer, and publishes them as the next generation.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from helix_consolidation.stores.publish import PublicationInfo, publish_generation
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.errors import PermanentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from helix_consolidation.stores.shard import Shard

PACKAGE: Final = Path(__file__).parents[1]
WORKSPACE: Final = "reembedding"
"""Folder below the data folder in which stores are built anew."""


def maintain_now(shard: Shard) -> None:
    """Bring table and graph into the form that is read fastest; a million memories take minutes."""
    if shard.live is not None:
        shard.live.purge()


def package_digest(folder: Path = PACKAGE) -> str:
    """SHA-256 over names and contents of the files of consolidation, in hexadecimal.

    Stores that were begun with other rules are not continued: one half of them would follow from each.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            content = path.read_bytes()
            digest.update(f"{path.relative_to(folder)} {len(content)}\n".encode())
            digest.update(content)
    return digest.hexdigest()


def continue_streams(shard: Shard, *, derived_stream: str, derived_end: int) -> None:
    """Count the messages of HELIX_DERIVED up to `derived_end` as processed.

    The shard was built from the log alone, up to its end: it holds what those messages are derived from.
    `derived_stream` is when the stream was created.
    """
    shard.state.set_derived_stream(derived_stream)
    shard.state.derived.skip_to(derived_end)


def publish_anew(
    shard: Shard, root: Path, info: PublicationInfo, *, ensure_lease: Callable[[], None]
) -> Manifest:
    """Publish the stores of `shard` in the data folder `root`, in the place of those that are there.

    They become the generation after its current one; older ones are retired as after an erasure. Nothing may
    be applied to `shard` afterwards: the writer of `root` continues from there.

    Raises: as `publish_generation`.
    """
    if shard.live is None:
        raise PermanentError("there is nothing to publish before the first memories message")
    if shard.holds_erased:
        maintain_now(shard)
    number = current_number(root)
    before = None if number is None else Manifest.read(folder_of(root, number))
    shard.state.erasure_generation = 1 + (number or 0)
    # the generation that it names is one of another folder
    shard.live.written_graph = (0, 0, 0)
    return publish_generation(
        root, shard.live, shard.state, before, info, ensure_lease=ensure_lease, is_anew=True
    )
