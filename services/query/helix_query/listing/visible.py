"""The memories of a caller that lists show, and the rows of a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from helix_query.listing.display_names import DisplayNames
from helix_query.recall.packing.rows import stored_rows
from helix_query.recall.visibility import Visibility

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from helix_query.generations.snapshot import Snapshot
    from helix_query.generations.sorted_run import SortedRun
    from helix_query.recall.visibility import Mask
    from helix_shared.artifacts.filter.selection import Selection
    from helix_shared.artifacts.signals.reader import Signals


class ListedMemory(NamedTuple):
    """The row of a memory, and the names of its entities."""

    row: Mapping[str, Any]
    entities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VisibleMemories:
    """The memories of one generation that a recall of one caller could return."""

    snapshot: Snapshot
    visibility: Visibility

    @classmethod
    def of(cls, snapshot: Snapshot, selection: Selection, now: datetime, *, until: float) -> Self:
        """Those of `selection` at `now`, or at its past moment.

        Raises:
            OverdueError: what a past moment needs was not loaded by `until` (monotonic clock).
        """
        if selection.past:
            snapshot.prepare_as_of(until)
        return cls(snapshot, Visibility.of(snapshot.generation, selection, now))

    @property
    def signals(self) -> Signals:
        """The columns of the generation."""
        return self.snapshot.generation.signals

    @property
    def selection(self) -> Selection:
        """What the caller asked for."""
        return self.visibility.selection

    def is_visible(self, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of `ordinals` [n] are listed."""
        return self.visibility.is_visible(ordinals)

    def said_by(self, speakers: Sequence[str]) -> Mask:
        """Which ordinals [n] are listed and said by one of `speakers`, by their records; no column has it."""
        names = {name.casefold() for name in speakers}

        def are(ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
            passing = self.is_visible(ordinals)
            found = self.signals.records(ordinals[passing])
            said = [one["ordinal"] for one in found if one["speaker"].casefold() in names]
            return passing & np.isin(ordinals, np.array(said, np.int64))

        return are

    def runs(self) -> list[SortedRun]:
        """All memories of the caller's owners by time, listed or not."""
        owners = self.selection.access.owners
        return self.snapshot.time_order.value.runs(self.signals, self.selection.tenant_id, owners)

    def runs_with(self, texts: Sequence[str]) -> list[SortedRun]:
        """Those of `runs` whose text is one of these, whatever the case of letters and the white space."""
        vectors = self.snapshot.generation.vectors
        found = vectors.find_texts(texts, self.selection.tenant_id, ["ordinal"])["ordinal"].to_numpy()
        return [run.only(found) for run in self.runs()]

    def display_names(self) -> DisplayNames:
        """Names of entities as these memories write them."""
        graph, admits = self.snapshot.generation.graph, self.selection.access.admits
        return DisplayNames(graph, self.signals, self.is_visible, admits)

    def listed(self, ordinals: NDArray[np.int64]) -> list[ListedMemory]:
        """Rows of listed memories with their entities, in order; checked again by their records."""
        rows = [
            row for row in stored_rows(self.snapshot, ordinals, self.visibility) if self.selection.admits(row)
        ]
        found = np.array([row["ordinal"] for row in rows], np.int64)
        entities: Sequence[tuple[str, ...]] = self.snapshot.generation.graph.entities_of(found)
        return list(map(ListedMemory, rows, entities))
