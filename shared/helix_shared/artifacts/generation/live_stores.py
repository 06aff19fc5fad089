"""The live stores: the four writers, and what publishing keeps from one generation to the next.

Opened at every start from a clone of the last generation; consolidation holds the only instance.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from helix_shared.artifacts.files.background_task import BackgroundTask
from helix_shared.artifacts.files.durability import sync_and_hash_folder
from helix_shared.artifacts.generation.folders import GRAPH, LEXICON, SIGNALS
from helix_shared.artifacts.generation.integrity import Checksums
from helix_shared.artifacts.graph.base import GraphBase
from helix_shared.artifacts.graph.builder import GraphBuilder
from helix_shared.artifacts.graph.compaction import compact
from helix_shared.artifacts.graph.snapshot import DELTA_FILE
from helix_shared.artifacts.lexicon.writer import LexiconWriter, entries_of
from helix_shared.artifacts.signals.writer import SignalsWriter
from helix_shared.artifacts.vectors.files import TABLE_FOLDER
from helix_shared.artifacts.vectors.form import DEFAULT_FORM, VectorForm
from helix_shared.artifacts.vectors.writer import VectorWriter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from helix_shared.artifacts.graph.snapshot import GraphSnapshot

_BASE_PREFIX: Final = "graph-base-"


@dataclass(slots=True)
class Live:
    """The writers of one data folder."""

    folder: Path
    vectors: VectorWriter
    lexicon: LexiconWriter
    graph: GraphBuilder
    signals: SignalsWriter
    checksums: Checksums = field(default_factory=Checksums)
    written_graph: tuple[int, int, int] = (0, 0, 0)
    """Generation, memories and builder revision of the graph published last."""
    compacting: BackgroundTask[tuple[GraphBase, dict[str, str]]] = field(default_factory=BackgroundTask)
    """The compaction that writes the next base of the graph."""
    compactions: int = 0

    @classmethod
    def create(cls, folder: Path, *, dimensions: int, form: VectorForm = DEFAULT_FORM) -> Live:
        """Create empty stores in a folder; stores that are there are removed, other files stay."""
        folder.mkdir(parents=True, exist_ok=True)
        stores = (folder / name for name in (TABLE_FOLDER, LEXICON, GRAPH, SIGNALS))
        for path in (*stores, *folder.glob(f"{_BASE_PREFIX}*")):
            shutil.rmtree(path, ignore_errors=True)
        return cls(
            folder=folder,
            vectors=VectorWriter.create(folder, dimensions, form=form),
            lexicon=LexiconWriter.create(folder / LEXICON),
            graph=GraphBuilder.empty(),
            signals=SignalsWriter.open(folder / SIGNALS, storage=form.storage),
        )

    @classmethod
    def open(cls, folder: Path, *, form: VectorForm = DEFAULT_FORM) -> Live:
        """Open the stores of a cloned generation.

        Raises:
            CorruptArtifactError: one of them cannot be read.
            InvalidInputError: the stored vectors cannot be converted to `form`.
        """
        return cls(
            folder=folder,
            vectors=VectorWriter.open(folder, form=form),
            graph=GraphBuilder.load(folder / GRAPH),
            signals=SignalsWriter.open(folder / SIGNALS, storage=form.storage),
            lexicon=LexiconWriter.open(folder / LEXICON),
        )

    def compact_graph(self, *, written: GraphSnapshot) -> None:
        """Start a compaction of the graph if it is due; `written` is the present snapshot."""
        if self.graph.is_compaction_due:
            folder = self._next_base_folder()
            self.graph.begin_compaction()
            self.compacting.start(lambda: (compact(written, folder), sync_and_hash_folder(folder)))

    def finish_compaction(self, *, wait: bool = False) -> None:
        """Continue from the new base if the compaction has finished; `wait` waits for it."""
        done = self.compacting.collect(wait=wait)
        if done is not None:
            base, sums = done
            self.checksums.add(sums)
            self._replace_base(
                lambda: self.graph.end_compaction(base, self.folder / f"{_BASE_PREFIX}{self.compactions}")
            )

    def purge(self) -> None:
        """Remove the bytes of deleted and replaced rows from every store."""
        self.vectors.maintain(force=True)
        self.signals.compact()
        self.lexicon.purge(lambda ordinals: entries_of(self.vectors.take(ordinals)))
        self.compact_graph_now()

    def compact_graph_now(self) -> None:
        """Compact the graph now, so that no byte of removed edges and entities remains."""
        dropped = self.folder / f"{_BASE_PREFIX}{self.compactions}"
        self.compacting.drop(clean_up=lambda: shutil.rmtree(dropped, ignore_errors=True))
        folder = self._next_base_folder()
        self._replace_base(lambda: self.graph.compact(folder, memories=self.signals.count))

    def _next_base_folder(self) -> Path:
        self.compactions += 1
        return self.folder / f"{_BASE_PREFIX}{self.compactions}"

    def _replace_base(self, replace: Callable[[], None]) -> None:
        old = self.graph.base_folder
        replace()
        if old is not None:
            shutil.rmtree(old)
        # of the generation that was cloned at the start; it may name what is erased since
        (self.folder / GRAPH / DELTA_FILE).unlink(missing_ok=True)

    def close(self) -> None:
        """Release the lock of the lexicon; uncommitted changes and running tasks are dropped."""
        self.lexicon.close()
