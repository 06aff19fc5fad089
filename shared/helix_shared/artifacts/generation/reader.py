"""A generation: the four artifacts of one moment, published whole or not at all, and opened together.

    <root>/generations/000000000012/   manifest.json, memories.lance, lexicon, graph, signals
    <root>/CURRENT                     text: 12
    <root>/staging/                    what a crash may leave behind; emptied by the next publish

Published files are never changed: everything is a hard link or new. Consolidation publishes, clones
and retires; the query service verifies and opens.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_shared.artifacts.generation.integrity import verify
from helix_shared.artifacts.generation.live_stores import GRAPH, LEXICON, SIGNALS
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.artifacts.generation.publishing import current, folder_of, publish, published, staging_of
from helix_shared.artifacts.graph.builder import GraphSnapshot
from helix_shared.artifacts.lexicon.files import REPLACED
from helix_shared.artifacts.lexicon.reader import LexiconReader
from helix_shared.artifacts.signals.reader import Signals
from helix_shared.artifacts.vectors.reader import VectorReader
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

__all__ = [
    "Generation",
    "clone",
    "current",
    "folder_of",
    "publish",
    "published",
    "retire",
    "verify",
]

KEPT_GENERATIONS: Final = 3
LEAST_AGE_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True, eq=False)
class Generation:
    """The readers of one generation; every search sees the same moment."""

    manifest: Manifest
    vectors: VectorReader
    lexicon: LexiconReader
    graph: GraphSnapshot
    signals: Signals

    @classmethod
    def open(
        cls,
        root: Path,
        number: int,
        *,
        manifest: Manifest | None = None,
        previous: Generation | None = None,
        scratch: Path | None = None,
    ) -> Generation:
        """Open a generation; `verify` it first. What it shares with `previous` is not read again.

        `manifest` is the one that `verify` read, `scratch` a local writable folder. With it every file
        stays readable until `close`, also when the folder of the generation is removed; without it the
        vector table is read in place.

        Raises:
            CorruptArtifactError: an artifact cannot be read, or is not the one of the manifest.
        """
        folder = folder_of(root, number)
        manifest = manifest or Manifest.read(folder)
        signals = Signals.open(folder / SIGNALS, previous=None if previous is None else previous.signals)
        with ExitStack() as opened:
            vectors = VectorReader(
                folder,
                cosines=signals.cosines,
                latest=signals.latest,
                previous=None if previous is None else previous.vectors,
                scratch=scratch,
            )
            opened.callback(vectors.close)
            graph = GraphSnapshot.open(
                folder / GRAPH, known=None if previous is None else previous.graph.base
            )
            if vectors.dimensions != manifest.model.dimensions or len(signals) != manifest.counts.signals:
                raise CorruptArtifactError(f"generation {number} does not fit its manifest")
            lexicon = LexiconReader(folder / LEXICON, scratch=scratch)
            opened.pop_all()
        return cls(manifest, vectors, lexicon, graph, signals)

    def close(self) -> None:
        """Let go of the engines' files; mapped files go with the last reference."""
        self.lexicon.close()
        self.vectors.close()


def clone(root: Path, generation: int, into: Path) -> Manifest:
    """Make `into` a writable copy of a generation by hard links; what was there is gone.

    Files an engine replaces in place are copied.

    Raises:
        CorruptArtifactError: the generation is not complete.
    """
    folder = folder_of(root, generation)
    manifest = Manifest.read(folder)
    staging = staging_of(root, f"clone-{generation}")
    shutil.rmtree(staging, ignore_errors=True)
    for entry in manifest.files:
        source, target = folder / entry.path, staging / entry.path
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            if source.name in REPLACED:
                shutil.copyfile(source, target)
            else:
                target.hardlink_to(source)
        except FileNotFoundError as error:
            raise CorruptArtifactError(f"generation {generation} lacks a file: {entry.path}") from error
    shutil.rmtree(into, ignore_errors=True)
    staging.rename(into)
    return manifest


def retire(
    root: Path,
    *,
    now: datetime,
    keep: int = KEPT_GENERATIONS,
    min_age_seconds: float = LEAST_AGE_SECONDS,
) -> list[int]:
    """Remove generations that are neither among the last `keep` nor younger than `min_age_seconds`.

    CURRENT always stays, and so does what may be being published above it. Returns what was removed.
    """
    newest = current(root)
    if newest is None:
        return []
    old = [
        number
        for number in published(root, up_to=newest)[max(1, keep) :]
        if now.timestamp() - folder_of(root, number).stat().st_mtime >= min_age_seconds
    ]
    for number in old:
        # Moved away first, so that no reader ever sees half a generation.
        grave = staging_of(root, f"retired-{number}")
        shutil.rmtree(grave, ignore_errors=True)
        folder_of(root, number).rename(grave)
        shutil.rmtree(grave)
    return old
