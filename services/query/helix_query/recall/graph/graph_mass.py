"""Walks the graph around the candidates: gives them graph mass, and adds memories that only the graph found.

The walk starts from the candidates, by fused score to a power, and from the entities in the query. It is
Personalized PageRank, or the bounded walk, which also replaces PageRank on a graph with too many edges.
The number of added memories and the mass of any memory are capped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.profile.sections.section import PAGERANK
from helix_query.recall.candidates import Candidates, Cosines
from helix_query.recall.graph.local_subgraph import Mass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.profile.sections.graph import Expand
    from helix_query.recall.graph.walk import GraphWalk
    from helix_query.recall.visibility import Mask


Bridge = Callable[["NDArray[np.int64]"], tuple["NDArray[np.int64]", "NDArray[np.float64]"]]

MAX_CHECKED: Final = 16_384
"""Memories with the most mass whose visibility is checked at most: chosen to take a millisecond."""


def with_graph_mass(
    candidates: Candidates,
    named: NDArray[np.int64],
    walk: GraphWalk,
    *,
    memories: int,
    cosines: Cosines,
    visible: Mask,
    graph_candidates: int,
    bridge: Bridge | None = None,
) -> Candidates:
    """The candidates with graph mass, and up to `graph_candidates` visible memories that the walk reached.

    `named` are the graph's nodes of entities in the query; nodes below `memories` are ordinals. Mass is a
    memory's share among all candidates returned, at most `mass_cap`. An added memory gets its cosine and the
    least fused score. `walked` of the result is the method used; `degraded` names PageRank if the bounded
    walk replaced it. The other constants are those of `walk`.

    With `bridge` there are two walks. It returns nodes and weights for the `bridge_memories` memories with
    the most mass after the first; these nodes get `bridge_share` of the second walk's restart.
    """
    constants = walk.constants
    seeds, shares = _seeds(candidates, named, constants)
    if not len(seeds):
        return candidates

    def walked(walk: GraphWalk, seeds: NDArray[np.int64], shares: NDArray[np.float64]) -> Candidates:
        found, used = walk.mass(seeds, shares)
        mass = _of_memories(found, memories=memories)
        added = _graph_candidates(candidates, mass, visible=visible, count=graph_candidates)
        with_mass = _with_mass(candidates, added, mass, cosines=cosines, cap=constants.mass_cap)
        return replace(with_mass, walked=used)

    last = first = walked(walk, seeds, shares)
    if bridge is not None and constants.bridge_share:
        # Only candidates are read, which the caller may see.
        evidence = first.ordinals[np.lexsort((first.ordinals, -first.mass))[: constants.bridge_memories]]
        nodes, weights = bridge(evidence)
        if len(nodes):
            # PageRank is not tried again after it failed.
            second = walk.by(first.walked or constants.method)
            bridged = _with_bridges(seeds, shares, nodes, weights, share=constants.bridge_share)
            last = walked(second, *bridged)
    return last if last.walked == constants.method else replace(last, degraded=(*last.degraded, PAGERANK))


def _seeds(
    candidates: Candidates, named: NDArray[np.int64], constants: Expand
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    on_entities = constants.entity_restart_share
    most = float(candidates.fused.max()) if len(candidates) else 0.0
    weights = (candidates.fused / most) ** constants.seed_exponent if most > 0 else np.ones(len(candidates))
    if len(candidates):
        weights = weights / weights.sum() * ((1.0 - on_entities) if len(named) else 1.0)
    entities = np.full(len(named), (on_entities if len(candidates) else 1.0) / max(len(named), 1))
    return np.concatenate([candidates.ordinals, named]), np.concatenate([weights, entities])


def _with_bridges(
    seeds: NDArray[np.int64],
    shares: NDArray[np.float64],
    nodes: NDArray[np.int64],
    weights: NDArray[np.float64],
    *,
    share: float,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Seeds of the second walk: those of the first, and `share` on `nodes` by their squared weights."""
    squared = weights**2
    together = np.concatenate([shares / shares.sum() * (1.0 - share), squared / squared.sum() * share])
    union, places = np.unique(np.concatenate([seeds, nodes]), return_inverse=True)
    summed = np.bincount(places, weights=together, minlength=len(union)).astype(np.float64)
    return union.astype(np.int64), summed


def _of_memories(mass: Mass, *, memories: int) -> Mass:
    count = int(np.searchsorted(mass.nodes, memories))
    return Mass(mass.nodes[:count], mass.shares[:count])


def _graph_candidates(candidates: Candidates, mass: Mass, *, visible: Mask, count: int) -> NDArray[np.int64]:
    """At most `count` visible memories with the most mass that are not yet candidates, best first."""
    fresh = (mass.shares > 0) & ~np.isin(mass.nodes, candidates.ordinals)
    nodes, shares = mass.nodes[fresh], mass.shares[fresh]
    best = nodes[np.lexsort((nodes, -shares))[:MAX_CHECKED]]
    found, checked = best[:0], 0
    while len(found) < count and checked < len(best):
        some = best[checked : max(count, 2 * checked)]
        found, checked = np.concatenate([found, some[visible(some)]]), checked + len(some)
    return found[:count]


def _with_mass(
    candidates: Candidates, added: NDArray[np.int64], mass: Mass, *, cosines: Cosines, cap: float
) -> Candidates:
    """The candidates and the `added` memories, with their shares of the mass."""
    together = candidates.with_found_by_graph(added, cosines)
    # Shares among the candidates only: the mass of hidden memories must not affect them.
    shares = mass.of(together.ordinals)
    total = float(shares.sum())
    shares = np.minimum(shares / total, cap) if total > 0 else shares
    return replace(together, mass=shares, fusion_inputs=())
