"""Stage 5: the graph around the pool. Mass for everyone in it, and the few the graph alone finds.

The walk starts from the sharpened fused scores and from the entities the query names: Personalized
PageRank, or the bounded walk, which also stands in where PageRank would pass too many edges. Newcomers
pass the same predicate as every channel; their number and anyone's share of the mass are capped,
so that the graph cannot flood the pool. Stage 6 ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from helix_query.profile.sections.graph import PAGERANK, WALK, GraphMethod
from helix_query.recall.candidates import GRAPH, Candidates, Cosines, bit_of
from helix_query.recall.graph.bounded_walk import bounded_walk
from helix_query.recall.graph.local_subgraph import Mass
from helix_query.recall.graph.pagerank import personalized_pagerank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_shared.artifacts.graph.snapshot import GraphSnapshot


Bridge = Callable[["NDArray[np.int64]"], tuple["NDArray[np.int64]", "NDArray[np.float64]"]]
Visible = Callable[["NDArray[np.int64]"], "NDArray[np.bool_]"]

CHECKS = 3
"""How many times `graph_candidates` candidates are checked at most: reading scopes costs a store access."""


def expand(
    pool: Candidates,
    named: NDArray[np.int64],
    *,
    graph: GraphSnapshot,
    memories: int,
    cosines: Cosines,
    visible: Visible,
    method: GraphMethod = PAGERANK,
    kind_factors: NDArray[np.float64] | None = None,
    restart: float = 0.3,
    epsilon: float = 1e-5,
    max_rounds: int = 50,
    hops: int = 2,
    hub_cap: int = 100,
    edge_budget: int = 2_000_000,
    seed_exponent: float = 4.0,
    entity_restart_share: float = 0.5,
    graph_candidates: int = 30,
    mass_cap: float = 0.5,
    bridge: Bridge | None = None,
    bridge_share: float = 0.0,
    bridge_from: int = 3,
) -> Candidates:
    """The pool with the mass of a walk, and up to `graph_candidates` visible memories that it reached.

    `named` are the graph's nodes of entities in the query; nodes below `memories` are ordinals. Mass
    is a memory's share of the mass of the pool with its newcomers, at most `mass_cap`. A newcomer gets the
    least fused score of the pool and its true cosine. The pool says which method walked, and that PageRank
    is missing where it would have passed more than `edge_budget` edges.

    `bridge` makes it a walk of two: it tells from the `bridge_from` memories with the most mass which nodes
    they point to and how strongly, and `bridge_share` of the second walk's restart is theirs.
    """
    seeds, shares = _seeds(
        pool, named, seed_exponent=seed_exponent, entity_restart_share=entity_restart_share
    )
    if not len(seeds):
        return pool

    pagerank = partial(
        personalized_pagerank,
        graph,
        restart=restart,
        epsilon=epsilon,
        max_rounds=max_rounds,
        hub_cap=hub_cap,
        edge_budget=edge_budget,
        kind_factors=kind_factors,
    )
    walk = partial(
        bounded_walk,
        graph,
        hops=hops,
        hub_cap=hub_cap,
        edge_budget=edge_budget,
        kind_factors=kind_factors,
    )

    def walked(seeds: NDArray[np.int64], shares: NDArray[np.float64], method: GraphMethod) -> Candidates:
        mass = pagerank(seeds, shares) if method == PAGERANK else None
        used: GraphMethod = WALK if mass is None else PAGERANK
        mass = _of_memories(walk(seeds, shares) if mass is None else mass, memories=memories)
        found = _newcomers(pool, mass, visible=visible, count=graph_candidates)
        return replace(_joined(pool, found, mass, cosines=cosines, cap=mass_cap), walked=used)

    first = walked(seeds, shares, method)
    last = first
    if bridge is not None and bridge_share:
        # only what the caller may see is read on: the pool and its newcomers
        evidence = first.ordinals[np.lexsort((first.ordinals, -first.mass))[:bridge_from]]
        nodes, weights = bridge(evidence)
        if len(nodes):
            # a graph that was too dense once is not tried again
            last = walked(
                *_with_bridges(seeds, shares, nodes, weights, share=bridge_share), first.walked or method
            )
    return last if last.walked == method else replace(last, degraded=(*last.degraded, PAGERANK))


def _seeds(
    pool: Candidates, named: NDArray[np.int64], *, seed_exponent: float, entity_restart_share: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    most = float(pool.fused.max()) if len(pool) else 0.0
    sharp = (pool.fused / most) ** seed_exponent if most > 0 else np.ones(len(pool))
    if len(pool):
        sharp = sharp / sharp.sum() * ((1.0 - entity_restart_share) if len(named) else 1.0)
    entities = np.full(len(named), (entity_restart_share if len(pool) else 1.0) / max(len(named), 1))
    return np.concatenate([pool.ordinals, named]), np.concatenate([sharp, entities])


def _with_bridges(
    seeds: NDArray[np.int64],
    shares: NDArray[np.float64],
    nodes: NDArray[np.int64],
    weights: NDArray[np.float64],
    *,
    share: float,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Seeds of the second walk: the first ones, and `share` on the nodes, by the square of their weights."""
    sharp = weights**2
    together = np.concatenate([shares / shares.sum() * (1.0 - share), sharp / sharp.sum() * share])
    union, places = np.unique(np.concatenate([seeds, nodes]), return_inverse=True)
    summed = np.bincount(places, weights=together, minlength=len(union)).astype(np.float64)
    return union.astype(np.int64), summed


def _of_memories(mass: Mass, *, memories: int) -> Mass:
    count = int(np.searchsorted(mass.nodes, memories))
    return Mass(mass.nodes[:count], mass.shares[:count])


def _newcomers(pool: Candidates, mass: Mass, *, visible: Visible, count: int) -> NDArray[np.int64]:
    """Ordinals outside the pool with the most mass, best first, that the caller may see."""
    fresh = (mass.shares > 0) & ~np.isin(mass.nodes, pool.ordinals)
    nodes, shares = mass.nodes[fresh], mass.shares[fresh]
    best = nodes[np.lexsort((nodes, -shares))[: count * CHECKS]]
    found = best[:0]
    while len(found) < count and len(best):
        checked, best = best[:count], best[count:]
        found = np.concatenate([found, checked[visible(checked)]])
    return found[:count]


def _joined(
    pool: Candidates, found: NDArray[np.int64], mass: Mass, *, cosines: Cosines, cap: float
) -> Candidates:
    ordinals = np.concatenate([pool.ordinals, found])
    # shares among what the caller sees: the mass of hidden memories must not show in them
    shares = mass.of(ordinals)
    total = float(shares.sum())
    shares = np.minimum(shares / total, cap) if total > 0 else shares
    bit = bit_of(GRAPH)
    least = float(pool.fused.min()) if len(pool) else 0.0
    true_cosines = cosines(found).astype(np.float64)
    return Candidates(
        ordinals=ordinals,
        fused=np.concatenate([pool.fused, np.full(len(found), least)]),
        cosine=np.concatenate([pool.cosine, true_cosines]),
        mass=shares,
        found_by=np.concatenate([pool.found_by, np.full(len(found), bit)]),
        coverage=None if pool.coverage is None else np.append(pool.coverage, np.zeros(len(found))),
        phrase_match=(
            None if pool.phrase_match is None else np.append(pool.phrase_match, np.zeros(len(found), bool))
        ),
    )
