"""What one batch of messages changes, by ordinal: output of `fold`, input of `stores.apply`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from helix_consolidation.ledger.lifecycle.tombstones import Usage

if TYPE_CHECKING:
    import pyarrow as pa

    from helix_shared.artifacts.graph.snapshot import Link


@dataclass(frozen=True, slots=True)
class Relation:
    """A typed edge between two memories; weight 0 removes it."""

    source: int
    target: int
    edge: str
    weight: float


@dataclass(slots=True)
class Changes:
    """Filled by `fold` in the order of events; the last change of an ordinal counts."""

    stored_before: int
    """Ordinals below are in the stores already, unless erased."""
    batches: list[pa.RecordBatch] = field(default_factory=list)
    rows: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Ordinal -> index into `batches`, and the row there, of its new columns."""
    expansions: dict[int, list[str]] = field(default_factory=dict)
    links: dict[int, list[Link]] = field(default_factory=dict)
    relations: dict[tuple[int, int, str], Relation] = field(default_factory=dict)
    usage: dict[int, Usage] = field(default_factory=dict)
    rewritten: set[int] = field(default_factory=set)
    """Rows whose record changes."""
    reindexed: set[int] = field(default_factory=set)
    """Rows whose text or visibility changes, so the lexicon changes as well."""
    erased: set[int] = field(default_factory=set)
    blanked: dict[int, list[str]] = field(default_factory=dict)
    """Rows that lose their context because it quotes an erased event -> the events that they still quote."""

    def set_row(self, ordinal: int, batch: int, row: int) -> None:
        """The row is replaced by one of a message."""
        self.rows[ordinal] = (batch, row)
        self.blanked.pop(ordinal, None)
        self.reindex(ordinal)

    def set_expansions(self, ordinal: int, expansions: list[str]) -> None:
        """The row has these expansions, and no others."""
        self.expansions[ordinal] = expansions
        if expansions:
            self.reindex(ordinal)

    def set_links(self, ordinal: int, links: list[Link]) -> None:
        """The memory has these links, and no others."""
        self.links[ordinal] = links

    def relate(self, relation: Relation) -> None:
        """Set an edge between two memories; a repeat changes nothing."""
        self.relations[relation.source, relation.target, relation.edge] = relation

    def add_usage(self, ordinal: int, usage: Usage) -> None:
        """Add feedback on the row."""
        self.usage[ordinal] = self.usage.get(ordinal, Usage()) + usage
        self.rewritten.add(ordinal)

    def reindex(self, ordinal: int) -> None:
        """The record and the lexicon entry of the row change."""
        self.rewritten.add(ordinal)
        self.reindexed.add(ordinal)

    def blank(self, ordinal: int, quotes: list[str]) -> None:
        """The row loses its context; `quotes` are the events that its vector still quotes."""
        self.blanked[ordinal] = quotes
        self.reindex(ordinal)

    def erase(self, ordinal: int) -> None:
        """The row is removed; nothing else about it is written."""
        for values in (self.rows, self.expansions, self.links, self.usage, self.blanked):
            values.pop(ordinal, None)
        for ordinals in (self.rewritten, self.reindexed):
            ordinals.discard(ordinal)
        self.erased.add(ordinal)

    @property
    def is_empty(self) -> bool:
        """Whether no store changes."""
        return not (self.rewritten or self.erased or self.links or self.relations or self.expansions)
