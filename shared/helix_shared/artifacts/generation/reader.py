"""The reader of a generation: vectors, lexicon, graph, signals, relations of one moment, opened together."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from helix_shared.artifacts.erasures.receipts import Receipts
from helix_shared.artifacts.generation.folders import GRAPH, LEXICON, SIGNALS, folder_of
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.artifacts.graph.snapshot import GraphSnapshot
from helix_shared.artifacts.lexicon.reader import LexiconReader
from helix_shared.artifacts.relations.relation_files import RelationReader
from helix_shared.artifacts.signals.reader import Signals
from helix_shared.artifacts.vectors.reader import VectorReader
from helix_shared.errors import CorruptArtifactError
from helix_shared.shard_map import ONLY_SHARD, SHARD_FILE, ShardPlace

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, eq=False)
class Generation:
    """The readers of one generation: all of them show the same moment."""

    manifest: Manifest
    vectors: VectorReader
    lexicon: LexiconReader
    graph: GraphSnapshot
    signals: Signals
    relations: RelationReader
    erasures: Receipts
    place: ShardPlace = ONLY_SHARD
    """Which shard of the instance it is."""

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
        """Open a generation that `verify` has checked. Files shared with `previous` are not read again.

        `manifest` is the result of `verify`. With `scratch`, a local writable folder, every file stays
        readable until `close`, even when the folder of the generation is removed. Without it the vector
        table is read in place.

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
                folder / GRAPH, previous=None if previous is None else previous.graph.base
            )
            if vectors.dimensions != manifest.model.dimensions or len(signals) != manifest.counts.signals:
                raise CorruptArtifactError(f"generation {number} does not fit its manifest")
            relations = RelationReader.open(folder)
            erasures = Receipts.open(folder)
            place = place_of(folder, manifest)
            lexicon = LexiconReader(folder / LEXICON, scratch=scratch)
            opened.pop_all()
        return cls(manifest, vectors, lexicon, graph, signals, relations, erasures, place)

    def close(self) -> None:
        """Close the engines' files; a mapped file is closed with the last reference to it."""
        self.lexicon.close()
        self.vectors.close()


def place_of(folder: Path, manifest: Manifest) -> ShardPlace:
    """The shard that the generation in `folder` is of.

    Raises:
        CorruptArtifactError: its file is damaged.
    """
    if all(entry.path != SHARD_FILE for entry in manifest.files):
        return ONLY_SHARD
    return ShardPlace.decoded((folder / SHARD_FILE).read_bytes())
