"""The live stores: the four writers together, and what publishing remembers between generations.

Recreated from the last generation at every start (`generation.clone`); consolidation holds the only
instance. `generation.publish` reads it.
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
from helix_shared.artifacts.graph.fold import fold
from helix_shared.artifacts.lexicon.writer import LexiconWriter
from helix_shared.artifacts.signals.writer import SignalsWriter
from helix_shared.artifacts.vectors.form import DEFAULT_FORM, VectorForm
from helix_shared.artifacts.vectors.writer import VectorWriter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from helix_shared.artifacts.graph.snapshot import GraphSnapshot

_FOLD: Final = "graph-base-"


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
    folding: BackgroundTask[tuple[GraphBase, dict[str, str]]] = field(default_factory=BackgroundTask)
    """The graph's next base, on its way."""
    folds: int = 0

    @classmethod
    def create(cls, folder: Path, *, dimensions: int, form: VectorForm = DEFAULT_FORM) -> Live:
        """Empty stores in a new folder."""
        folder.mkdir(parents=True)
        return cls(
            folder=folder,
            vectors=VectorWriter.create(folder, dimensions, form=form),
            lexicon=LexiconWriter.create(folder / LEXICON),
            graph=GraphBuilder.empty(),
            signals=SignalsWriter.open(folder / SIGNALS, storage=form.storage),
        )

    @classmethod
    def open(cls, folder: Path, *, form: VectorForm = DEFAULT_FORM) -> Live:
        """The stores of a cloned generation.

        Raises:
            CorruptArtifactError: one of them cannot be read.
            InvalidInputError: the vectors are in a form that cannot become `form`.
        """
        return cls(
            folder=folder,
            vectors=VectorWriter.open(folder, form=form),
            graph=GraphBuilder.load(folder / GRAPH),
            signals=SignalsWriter.open(folder / SIGNALS, storage=form.storage),
            lexicon=LexiconWriter.open(folder / LEXICON),
        )

    def fold_graph(self, *, written: GraphSnapshot) -> None:
        """Begin to write the graph anew if that pays; `written` is what it would write now."""
        if self.graph.is_fold_due:
            home = self._next_home()
            self.graph.begin_fold()
            self.folding.start(lambda: (fold(written, home), sync_and_hash_folder(home)))

    def finish_fold(self, *, wait: bool = False) -> None:
        """Go on from the graph's new base if it is done; with `wait` when it is done."""
        done = self.folding.finished(wait=wait)
        if done is not None:
            base, sums = done
            self.checksums.add(sums)
            self._move_graph(lambda: self.graph.end_fold(base, self.folder / f"{_FOLD}{self.folds}"))

    def fold_graph_now(self) -> None:
        """Write the graph anew at once, so that no byte of what was removed is left."""
        dropped = self.folder / f"{_FOLD}{self.folds}"
        self.folding.drop(tidy_up=lambda: shutil.rmtree(dropped, ignore_errors=True))
        home = self._next_home()
        self._move_graph(lambda: self.graph.fold(home, memories=self.signals.count))

    def _next_home(self) -> Path:
        self.folds += 1
        return self.folder / f"{_FOLD}{self.folds}"

    def _move_graph(self, move: Callable[[], None]) -> None:
        old = self.graph.base_folder
        move()
        if old is not None:
            shutil.rmtree(old)

    def close(self) -> None:
        """Release the lexicon's lock; what is not committed or still at work beside is dropped."""
        self.lexicon.close()
