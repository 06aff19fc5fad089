"""Replaces the stores of a data folder by stores that were rebuilt in a folder of their own.

`helix rebuild` and `helix models use` build them from the log, while the writer of the data folder goes on or
cannot start. In the end they hold the lease of that writer, and publish the stores as the next generation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_consolidation.stores.publish import PublicationInfo, publish_generation
from helix_shared.artifacts.generation.folders import (
    CURRENT,
    current_number,
    highest_number,
    published_numbers,
)
from helix_shared.artifacts.generation.publishing import set_pointer
from helix_shared.errors import CorruptArtifactError, PermanentError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from helix_consolidation.stores.shard import Shard
    from helix_shared.artifacts.generation.manifest import Manifest

WORKSPACE: Final = "rebuilding"
"""Folder below the data folder in which stores are built anew."""
REPLACED: Final = "replaced"
"""Folder below the data folder with the generations whose place was taken."""


def maintain_now(shard: Shard) -> None:
    """Purge the stores, which compacts them for reading; a million memories take minutes."""
    if shard.live is not None:
        shard.live.purge()


def continue_streams(shard: Shard, *, derived_stream: str, derived_end: int) -> None:
    """Count the messages of HELIX_DERIVED up to `derived_end` as processed.

    The shard was built from the log alone, up to its end: it holds what those messages are derived from. Its
    own messages were numbered while it was built, and may be more than the stream has had: with their numbers
    the next messages of the stream would count as processed.
    `derived_stream` is when the stream was created.
    """
    shard.state.forget_derived()
    shard.state.derived_stream = derived_stream
    shard.state.derived.skip_to(derived_end)


def publish_anew(
    shard: Shard, root: Path, info: PublicationInfo, *, ensure_lease: Callable[[], None]
) -> Manifest:
    """Publish the stores of `shard` in the data folder `root`; they replace those that are there.

    They become the generation after the highest on its disk, which may be damaged or of another format; older
    ones are retired as after an erasure. Nothing may be applied to `shard` afterwards: the writer of `root`
    continues from there.

    Raises: as `publish_generation`.
    """
    if shard.live is None:
        raise PermanentError("there is nothing to publish before the first memories message")
    if shard.purge.is_due:
        maintain_now(shard)
        shard.state.erasures.is_unpurged = False
    follows = highest_number(root)
    _repair_pointer(root)
    shard.state.erasure_generation = 1 + follows
    # the generation that it names is one of another folder
    shard.live.written_graph = (0, 0, 0)
    return publish_generation(
        root,
        shard.live,
        shard.state,
        None,
        info,
        ensure_lease=ensure_lease,
        anew_after=follows,
        place=shard.place,
    )


def _repair_pointer(root: Path) -> None:
    """Let CURRENT name the newest folder where it holds no number: publishing asks it."""
    try:
        current_number(root)
    except CorruptArtifactError:
        numbers = published_numbers(root)
        if numbers:
            set_pointer(root, numbers[0])
        else:
            (root / CURRENT).unlink()
