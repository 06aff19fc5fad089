"""The live stores: the four writers together, and what publishing remembers between generations.

Recreated from the last generation at every start (`generation.clone`); consolidation holds the only
instance. `generation.publish` reads it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from helix_shared.artifacts.graph import GraphBuilder
from helix_shared.artifacts.integrity import Checksums
from helix_shared.artifacts.lexicon import LexiconWriter
from helix_shared.artifacts.signals import SignalsWriter
from helix_shared.artifacts.vector_storage import DEFAULT_FORM, VectorForm
from helix_shared.artifacts.vectors import VectorWriter

if TYPE_CHECKING:
    from pathlib import Path

LEXICON: Final = "lexicon"
GRAPH: Final = "graph"
SIGNALS: Final = "signals"


@dataclass(slots=True)
class Live:
    """The writers of one data folder."""

    vectors: VectorWriter
    lexicon: LexiconWriter
    graph: GraphBuilder
    signals: SignalsWriter
    checksums: Checksums = field(default_factory=Checksums)
    written_graph: tuple[int, int, int] = (0, 0, 0)
    """Generation, memories and builder revision of the graph published last."""

    @classmethod
    def create(cls, folder: Path, *, dimensions: int, form: VectorForm = DEFAULT_FORM) -> Live:
        """Empty stores in a new folder."""
        folder.mkdir(parents=True)
        return cls(
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
            vectors=VectorWriter.open(folder, form=form),
            graph=GraphBuilder.load(folder / GRAPH),
            signals=SignalsWriter.open(folder / SIGNALS, storage=form.storage),
            lexicon=LexiconWriter.open(folder / LEXICON),
        )

    def close(self) -> None:
        """Release the lexicon's lock; what is not committed there is dropped."""
        self.lexicon.close()
