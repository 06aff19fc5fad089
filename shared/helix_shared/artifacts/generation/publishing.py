"""Publishing: makes a generation of the live stores, durably and in one step for readers.

The steps: link all files into a staging folder, check that the artifacts hold the same memories, sync and
hash new files, write the manifest, rename the folder, replace CURRENT. After a crash at any step the
previous generation is current.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from typing import TYPE_CHECKING, Final

from helix_shared.artifacts.files.durability import sync, write_synced
from helix_shared.artifacts.generation.folders import (
    CURRENT,
    GRAPH,
    LEXICON,
    SIGNALS,
    STAGING,
    current_number,
    folder_of,
    staging_of,
)
from helix_shared.artifacts.generation.live_stores import Live
from helix_shared.artifacts.generation.manifest import MANIFEST_NAME, Counts, Manifest
from helix_shared.artifacts.graph.snapshot import GraphSnapshot
from helix_shared.artifacts.lexicon.files import documents_of_commit
from helix_shared.artifacts.signals.segments import open_segments, ordinal_count
from helix_shared.artifacts.vectors.table import rows_of_version
from helix_shared.errors import CorruptArtifactError, PermanentError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_OCCUPIED: Final = (errno.EEXIST, errno.ENOTEMPTY)


def publish(
    root: Path, live: Live, manifest: Manifest, *, extras: Mapping[str, Path | bytes] | None = None
) -> Manifest:
    """Publish the live stores as generation `manifest.generation`; returns the completed manifest.

    The lexicon must be committed. `manifest.counts` holds memories and hidden as the caller counts them; the
    other counts and `files` are filled in. `extras` are more files by relative path: bytes to write, or an
    immutable file to link.

    Raises:
        CorruptArtifactError: the stores hold different memories; nothing was published.
        PermanentError: this generation or a newer one exists, from another writer.
        TemporaryError: the lexicon was merging.
    """
    number = manifest.generation
    _refuse_overtaken(root, manifest)
    shutil.rmtree(root / STAGING, ignore_errors=True)
    staging = staging_of(root, f"{number:012d}.{manifest.epoch}")
    staging.mkdir(parents=True)
    live.finish_compaction()
    live.checksums.add(live.signals.take_checksums())
    _link(root, live, staging, memories=live.signals.count)
    for path, body in (extras or {}).items():
        (staging / path).parent.mkdir(parents=True, exist_ok=True)
        if isinstance(body, bytes):
            (staging / path).write_bytes(body)
        else:
            (staging / path).hardlink_to(body)
    graph = GraphSnapshot.open(staging / GRAPH, previous=live.graph.base)
    counts = _checked_counts(staging, graph, manifest.counts, live)
    if not live.written_graph[0] and manifest.parent and folder_of(root, manifest.parent).is_dir():
        live.checksums.add_generation(
            folder_of(root, manifest.parent), Manifest.read(folder_of(root, manifest.parent))
        )
    whole = manifest.model_copy(update={"counts": counts, "files": live.checksums.entries(staging)})
    write_synced(staging / MANIFEST_NAME, whole.sealed())
    sync(staging)
    _set_current(root, staging, whole)
    live.written_graph = (number, counts.signals, live.graph.revision)
    live.compact_graph(written=graph)
    return whole


def _refuse_overtaken(root: Path, manifest: Manifest) -> None:
    newest, number, epoch = current_number(root), manifest.generation, 0
    if newest is not None and newest >= number:
        raise PermanentError(f"generation {number} cannot follow {newest}: another writer published; give up")
    orphan = folder_of(root, number)
    if not orphan.is_dir():
        return
    # its writer stopped between the rename and CURRENT; only a writer with the same or a later epoch
    # removes it, and any writer removes a damaged one, which nobody could open
    with contextlib.suppress(CorruptArtifactError):
        epoch = Manifest.read(orphan).epoch
    if epoch > manifest.epoch:
        raise PermanentError(f"generation {number} belongs to a writer with a later epoch; give up")
    shutil.rmtree(staging_of(root, f"orphan-{number}"), ignore_errors=True)
    orphan.rename(staging_of(root, f"orphan-{number}"))


def _link(root: Path, live: Live, staging: Path, *, memories: int) -> None:
    live.vectors.link_into(staging)
    live.lexicon.link_into(staging / LEXICON)
    live.signals.link_into(staging / SIGNALS)
    generation, *written = live.written_graph
    unchanged = folder_of(root, generation) / GRAPH
    if written == [memories, live.graph.revision] and unchanged.is_dir():
        shutil.copytree(unchanged, staging / GRAPH, copy_function=os.link)
    else:
        live.graph.write(staging / GRAPH, memories=memories)


def _checked_counts(staging: Path, graph: GraphSnapshot, claimed: Counts, live: Live) -> Counts:
    """Counts of the linked files; refuses artifacts of different moments.

    No rows are scanned: the version of the table and the commit of the lexicon hold counts. Of the documents
    of the lexicon, some are not the first of their memory.
    """
    segments = open_segments(staging / SIGNALS, previous=live.signals.segments)
    counts = Counts(
        memories=rows_of_version(staging),
        hidden=claimed.hidden,
        decayed=claimed.decayed,
        lexicon=documents_of_commit(staging / LEXICON) - live.lexicon.copies,
        signals=ordinal_count(segments),
        nodes=graph.memories + graph.entities,
        entities=graph.entities,
        edges=graph.edge_count,
    )
    agreed = (
        counts.memories == claimed.memories
        and counts.lexicon == counts.memories - counts.hidden
        and counts.signals == graph.memories
        and counts.signals >= counts.memories
    )
    if not agreed:
        raise CorruptArtifactError(
            f"stores disagree, reconcile them: {counts!r}; the writer counts {claimed!r}"
        )
    return counts


def _set_current(root: Path, staging: Path, manifest: Manifest) -> None:
    target = folder_of(root, manifest.generation)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        staging.rename(target)
    except OSError as error:
        if error.errno in _OCCUPIED:
            raise PermanentError(f"generation {manifest.generation} exists already; give up") from error
        raise
    sync(target.parent)
    set_pointer(root, manifest.generation)


def set_pointer(root: Path, number: int) -> None:
    """Replace CURRENT, durably."""
    pointer = root / f"{CURRENT}.new"
    write_synced(pointer, f"{number}\n".encode())
    pointer.replace(root / CURRENT)
    sync(root)
