"""One generation ready to answer: its artifacts, its encoder, and what the stages read of them.

`serving` makes and swaps it; `recall` holds one from start to end. Immutable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helix_query.pagerank import Adjacency
from helix_shared.artifacts.graph import EDGE_KINDS
from helix_shared.artifacts.lexicon import FieldWeights
from helix_shared.artifacts.signals import MEMORY_TYPES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query import profile
    from helix_query.routing.centroids import Centroids
    from helix_shared.artifacts.generation import Generation
    from helix_shared.encoders.encoder import Encoder


@dataclass(frozen=True, slots=True)
class Served:
    """A generation, the encoder that made its vectors, and the router's centroids for that encoder."""

    generation: Generation
    encoder: Encoder
    centroids: Centroids

    @property
    def number(self) -> int:
        """The generation's number, 1 and up."""
        return self.generation.manifest.generation

    @property
    def memories(self) -> int:
        """Ordinals given so far; nodes of the graph below are memories."""
        return self.generation.graph.memories

    @property
    def adjacency(self) -> Adjacency:
        """The graph as the walk reads it; arrays stay memory-mapped."""
        graph = self.generation.graph
        return Adjacency(graph.indptr, graph.indices, graph.weights, graph.edge_kinds)

    @property
    def type_names(self) -> Sequence[str]:
        """Type of each type code."""
        return MEMORY_TYPES

    def field_weights(self, weights: profile.FieldWeights) -> FieldWeights:
        """The lexicon's field weights of a ranking profile."""
        return FieldWeights(**weights.model_dump())

    def kind_factors(self, factors: Mapping[profile.Edge, float]) -> NDArray[np.float64]:
        """Factor by edge kind code."""
        return np.array([factors.get(kind, 1.0) for kind in EDGE_KINDS], np.float64)

    def named_nodes(self, tenant_id: str, names: Sequence[str]) -> NDArray[np.int64]:
        """Entities of the tenant among `names`, without those that only stand inside a longer one."""
        nodes = self.generation.graph.entity_nodes(tenant_id, names)
        if not len(nodes):
            return nodes
        spelt = self.generation.graph.entity_names(nodes)
        whole = [f" {name} " for name in spelt]
        outer = [not any(mine != other and mine in other for other in whole) for mine in whole]
        return np.unique(nodes[np.array(outer, bool)])
