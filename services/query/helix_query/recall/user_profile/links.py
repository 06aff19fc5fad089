"""Relations that consolidation decided between the statements of a profile."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from helix_shared.artifacts.graph.snapshot import EDGE_KINDS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from helix_query.recall.user_profile.lines import Statement
    from helix_shared.artifacts.filter.past_moment import PastMoment
    from helix_shared.artifacts.generation.reader import Generation

_UPDATES: Final = EDGE_KINDS.index("UPDATES")


@dataclass(frozen=True, slots=True)
class Links:
    """`UPDATES` links to the statements of a profile, and the relations that somebody undid."""

    updates: Mapping[tuple[int, int], float] = field(default_factory=dict)
    """Probability by the ordinals of the newer and the older memory."""
    undone: Collection[tuple[int, int]] = frozenset()
    """The same pairs, of relations that do not count any more."""

    @classmethod
    def of(cls, generation: Generation, statements: Iterable[Statement], past: PastMoment) -> Self:
        """The links of a generation; at a past moment those from memories that were there by then."""
        ordinals = np.array(sorted({one.ordinal for one in statements}), np.int64)
        edges = generation.graph.edges_of(ordinals)
        older = np.repeat(ordinals, edges.counts)
        # an edge goes from the newer to the older memory; at the older one it is stored as not forward
        chosen = np.flatnonzero((edges.kinds == _UPDATES) & ~edges.forward)
        chosen = chosen[past.reached(generation.signals, edges.targets[chosen])]
        columns = (edges.targets[chosen], older[chosen], np.minimum(edges.weights[chosen], 1.0))
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return cls({(new, old): weight for new, old, weight in rows}, generation.relations.void_pairs)

    def replaced(self) -> Mapping[int, float]:
        """The probability that any later memory replaced a statement, by ordinal."""
        found: dict[int, float] = {}
        for (_, older), weight in self.updates.items():
            found[older] = max(found.get(older, 0.0), weight)
        return found
