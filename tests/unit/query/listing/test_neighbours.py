"""The walk over whole hops finds what a walk from node to node finds."""

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helix_query.listing import neighbours
from helix_query.listing.neighbours import neighbourhood
from helix_shared.artifacts.graph.base import ENTITIES_FROM
from helix_shared.artifacts.graph.snapshot import EDGE_KINDS, EdgeRows

MEMORIES, ENTITIES, EDGES = 30, 12, 120
HIDDEN_EVERY = 5
"""One memory of so many may not be seen."""

EdgeKey = tuple[int, int, str]


class Graph:
    """Random edges between memories and entities, each at both of its ends."""

    def __init__(self, seed: int) -> None:
        dice = np.random.default_rng(seed)
        nodes = np.concatenate([np.arange(MEMORIES), ENTITIES_FROM + np.arange(ENTITIES)])
        self.at: dict[int, list[tuple[int, float, int, bool]]] = {int(node): [] for node in nodes}
        for source, target in dice.choice(nodes, (EDGES, 2)).tolist():
            weight, kind = float(np.float32(dice.random())), int(dice.integers(len(EDGE_KINDS)))
            self.at[source].append((target, weight, kind, True))
            self.at[target].append((source, weight, kind, False))

    def edges_of(self, nodes: NDArray[np.int64]) -> EdgeRows:
        """As `GraphSnapshot.edges_of`."""
        rows = [row for node in nodes.tolist() for row in self.at[node]]
        targets, weights, kinds, forward = zip(*rows, strict=True) if rows else ((), (), (), ())
        return EdgeRows(
            np.array([len(self.at[node]) for node in nodes.tolist()]),
            np.array(targets, np.int64),
            np.array(weights, np.float32),
            np.array(kinds, np.uint8),
            np.array(forward, np.bool_),
        )


def visible_of(graph: Graph) -> Any:
    """A caller who may not see every memory."""
    generation = SimpleNamespace(graph=graph)
    return SimpleNamespace(
        snapshot=SimpleNamespace(generation=generation), is_visible=lambda some: some % HIDDEN_EVERY != 0
    )


def walked(graph: Graph, start: int, hops: int, most: int) -> tuple[dict[int, int], set[EdgeKey], bool]:
    """Node by node: distances, edges and whether there are more nodes."""
    distances, edges, truncated, frontier = {start: 0}, set[EdgeKey](), False, [start]
    for hop in range(1, hops + 1):
        candidates, reached, weaker = [], [], []
        for node in frontier:
            shown = [row for row in graph.at[node] if _may_be_shown(node, row[0])]
            shown.sort(key=lambda row: -row[1])
            candidates += [(node, *row) for row in shown[: neighbours.MAX_EDGES_OF_NODE]]
            weaker += [row[0] for row in shown[neighbours.MAX_EDGES_OF_NODE :]]
        for node, other, _, kind, forward in sorted(candidates, key=lambda one: -one[2]):
            if other not in distances:
                if len(distances) >= most:
                    truncated = True
                    continue
                distances[other] = hop
                reached.append(other)
            source, target = (node, other) if forward else (other, node)
            edges.add((source, target, EDGE_KINDS[kind]))
        truncated |= not distances.keys() >= set(weaker)
        frontier = reached
    return distances, edges, truncated


def _may_be_shown(node: int, other: int) -> bool:
    return node < ENTITIES_FROM if other >= ENTITIES_FROM else other % HIDDEN_EVERY != 0


@pytest.mark.parametrize("most", [5, 20, 150])
@pytest.mark.parametrize("of_a_node", [3, 4_096])
@pytest.mark.parametrize("seed", range(5))
def test_the_same_nodes_and_edges(
    seed: int, of_a_node: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a memory and from an entity, in the same order, cut at the same place."""
    monkeypatch.setattr(neighbours, "MAX_EDGES_OF_NODE", of_a_node)
    graph = Graph(seed)
    for start in (1, ENTITIES_FROM):
        until = time.monotonic() + 60
        found = neighbourhood(start, visible_of(graph), hops=2, most=most, until=until)
        distances, edges, truncated = walked(graph, start, 2, most)
        assert list(found.hops.items()) == list(distances.items())
        assert found.truncated == truncated
        assert set(found.edges) == edges
