"""What one batch of messages changes, by ordinal: the edge between `fold` and `apply`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from helix_consolidation.ledger.tombstones import Usage

if TYPE_CHECKING:
    import pyarrow as pa

    from helix_shared.artifacts.graph.snapshot import Link


@dataclass(frozen=True, slots=True)
class Relation:
    """A typed edge between two memories; with weight 0 there is none any more."""

    source: int
    target: int
    edge: str
    weight: float


@dataclass(slots=True)
class Changes:
    """Filled by `fold` in the order of events; the last word on an ordinal wins."""

    stored_before: int
    """Ordinals below are in the stores already, unless erased."""
    batches: list[pa.RecordBatch] = field(default_factory=list)
    incoming_rows: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Ordinal -> batch and row of its new edge columns."""
    expansions: dict[int, list[str]] = field(default_factory=dict)
    links: dict[int, list[Link]] = field(default_factory=dict)
    relations: dict[tuple[int, int, str], Relation] = field(default_factory=dict)
    usage: dict[int, Usage] = field(default_factory=dict)
    rewritten: set[int] = field(default_factory=set)
    """Rows whose record changes."""
    reindexed: set[int] = field(default_factory=set)
    """Rows whose words or visibility change, so that the lexicon must follow."""
    erased: set[int] = field(default_factory=set)

    def arrive(self, ordinal: int, batch: int, row: int) -> None:
        """The row comes whole from a message."""
        self.incoming_rows[ordinal] = (batch, row)
        self.rewritten.add(ordinal)
        self.reindexed.add(ordinal)

    def expand(self, ordinal: int, expansions: list[str]) -> None:
        """The row answers these questions, and no others."""
        self.expansions[ordinal] = expansions
        if expansions:
            self.rewritten.add(ordinal)
            self.reindexed.add(ordinal)

    def link(self, ordinal: int, links: list[Link]) -> None:
        """The memory has these links, and no others."""
        self.links[ordinal] = links

    def relate(self, relation: Relation) -> None:
        """An edge between two memories; a repeat changes nothing."""
        self.relations[relation.source, relation.target, relation.edge] = relation

    def use(self, ordinal: int, usage: Usage) -> None:
        """The row was served, and helped or did not."""
        self.usage[ordinal] = self.usage.get(ordinal, Usage()) + usage
        self.rewritten.add(ordinal)

    def update_status(self, ordinal: int) -> None:
        """The row stands otherwise than before."""
        self.rewritten.add(ordinal)
        self.reindexed.add(ordinal)

    def erase(self, ordinal: int) -> None:
        """The row goes; nothing else about it is written."""
        for known in (self.incoming_rows, self.expansions, self.links, self.usage):
            known.pop(ordinal, None)
        for ordinals in (self.rewritten, self.reindexed):
            ordinals.discard(ordinal)
        self.erased.add(ordinal)

    @property
    def is_empty(self) -> bool:
        """Whether no store has to be touched."""
        return not (self.rewritten or self.erased or self.links or self.relations or self.expansions)
