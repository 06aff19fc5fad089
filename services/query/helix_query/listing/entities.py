"""Entities as groups of the memories that mention them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helix_shared.artifacts.graph.base import ENTITIES_FROM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.listing.visible import Visible


@dataclass(frozen=True, slots=True)
class ByEntity:
    """Groups memories by the entities that they are linked to; a group is a node of the graph."""

    visible: Visible

    def groups_of(self, ordinals: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """As `Grouping.groups_of`."""
        edges = self.visible.snapshot.generation.graph.edges_of(ordinals)
        places = np.repeat(np.arange(len(ordinals)), edges.counts)
        linked = edges.targets >= ENTITIES_FROM
        return places[linked], edges.targets[linked]

    def members(self, group: int, ordinal: int) -> NDArray[np.int64]:
        """As `Grouping.members`."""
        del ordinal
        targets = self.visible.snapshot.generation.graph.edges_of(np.array([group])).targets
        return targets[targets < ENTITIES_FROM]
