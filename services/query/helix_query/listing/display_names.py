"""Names of entities as people write them: the graph knows an entity by its canonical name alone.

The form is that of most of the latest memories that the caller sees, so it tells nothing of memories of
others, and one that was forgotten or erased has no part in it. It follows from texts and from positions in
the log, not from the order in which a writer was told of them: a rebuild gives the same forms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_shared.artifacts.graph.base import ENTITIES_FROM
from helix_shared.naming import written_form

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.visibility import Mask
    from helix_shared.artifacts.graph.snapshot import GraphSnapshot
    from helix_shared.artifacts.signals.reader import Signals

NEWEST_READ: Final = 5
"""Newest visible memories of an entity whose form of its name counts. Odd, so that ties are rare."""
FIRST_BLOCK: Final = 64
"""Latest memories of an entity that are checked first; each next block is four times as large."""
LARGEST_BLOCK: Final = 65_536
"""Size of the last block: a thousand callers may have memories of one entity, each of their own."""
BATCH_ENTITIES: Final = 256
"""Entities whose memories are read together."""
_FIELDS: Final = ("text", "title", "speaker")
"""Where a memory may name an entity; the first that does counts."""


@dataclass(frozen=True, slots=True)
class DisplayNames:
    """Display names of the entities of one graph, by the memories that are visible."""

    graph: GraphSnapshot
    signals: Signals
    is_visible: Mask
    admits: Callable[[Mapping[str, Any]], bool]
    """Whether a record, which is read last, may be seen."""

    def of(self, nodes: NDArray[np.int64]) -> list[str]:
        """For each entity node the form of its name; the canonical name where no memory has it in words."""
        return [
            name
            for start in range(0, len(nodes), BATCH_ENTITIES)
            for name in self._of(nodes[start:][:BATCH_ENTITIES])
        ]

    def _of(self, nodes: NDArray[np.int64]) -> list[str]:
        names = self.graph.entity_names(nodes)
        latest = self._latest(nodes)
        needed = np.unique(np.concatenate(latest))
        records = {one["ordinal"]: one for one in self.signals.records(needed) if self.admits(one)}
        return [
            _most_written(name, [records[one] for one in ordinals.tolist() if one in records])
            for name, ordinals in zip(names, latest, strict=True)
        ]

    def _latest(self, nodes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The latest visible memories of each node, by their events in the log, the last one first."""
        counts, targets = self.graph.targets_of(nodes)
        found = []
        for part in np.split(targets, np.cumsum(counts)[:-1]):
            seen = np.empty(0, np.int64)
            for some in self._from_the_last(part[part < ENTITIES_FROM]):
                seen = np.concatenate([seen, some[self.is_visible(some)]])[:NEWEST_READ]
                if len(seen) == NEWEST_READ:
                    break
            found.append(seen)
        return found

    def _from_the_last(self, ordinals: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Blocks of `ordinals`, each once, in the order of their events from the last one on."""
        left, sequences, size = ordinals, self.signals.stream_sequence[ordinals], FIRST_BLOCK
        while len(left) and size <= LARGEST_BLOCK:
            start = max(0, len(left) - size)
            is_later = sequences >= np.partition(sequences, start)[start]
            block = np.unique(left[is_later])
            yield block[np.lexsort((block, self.signals.stream_sequence[block]))[::-1]]
            left, sequences, size = left[~is_later], sequences[~is_later], 4 * size


def _most_written(name: str, records: Sequence[Mapping[str, Any]]) -> str:
    """The form of most records, the latest of which is first; of equals one that says more than the name."""
    forms = Counter(filter(None, (_form_in(name, one) for one in records)))
    return max(forms, key=lambda form: (forms[form], form != name), default=name)


def _form_in(name: str, record: Mapping[str, Any]) -> str:
    return next(filter(None, (written_form(name, record[field]) for field in _FIELDS)), "")
