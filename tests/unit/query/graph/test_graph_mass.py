from typing import Any, Literal

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from numpy.typing import NDArray

from helix_query.profile.sections.graph import Expand
from helix_query.recall.candidates import GRAPH, Candidates
from helix_query.recall.graph import graph_mass
from helix_query.recall.graph.walk import GraphWalk

from .adjacency import Adjacency

MEMORIES = 6


def undirected(edges: list[tuple[int, int]], nodes: int) -> Adjacency:
    """A graph of edges of weight 1."""
    graph: nx.Graph[int] = nx.empty_graph(nodes)
    graph.add_edges_from(edges)
    return Adjacency.of(graph)


# memories 0..5, entities 6 and 7: 0 -6- 1, 1 -7- 2, memory 5 unconnected
GRAPH_OF_SIX = undirected([(0, 6), (1, 6), (1, 7), (2, 7), (3, 7)], 8)


def candidates_of(ordinals: list[int], fused: list[float]) -> Candidates:
    """Candidates with these fused scores."""
    count = len(ordinals)
    return Candidates(
        np.array(ordinals, np.int64),
        np.array(fused, np.float64),
        np.full(count, 0.5),
        np.zeros(count),
        np.ones(count, np.uint8),
    )


def cosines(ordinals: NDArray[np.int64]) -> NDArray[np.float32]:
    """A tenth of the ordinal."""
    return (ordinals / 10).astype(np.float32)


def all_visible(ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
    """All are visible."""
    return np.ones(len(ordinals), bool)


NO_ENTITIES = np.empty(0, np.int64)


def expand(candidates: Candidates, named: NDArray[np.int64], *, graph: Any, **constants: Any) -> Candidates:
    """As `with_graph_mass` of a query with several hops, with the constants of stage 5 beside its own."""
    own = {name: constants.pop(name) for name in Expand.model_fields if name in constants}
    stage = Expand().model_copy(update=own)  # some are smaller here than a profile may have them
    count = stage.candidates_for(multi_hop=True)
    walk = GraphWalk(graph, stage)
    return graph_mass.with_graph_mass(candidates, named, walk, graph_candidates=count, **constants)


def test_memories_that_share_an_entity_are_added() -> None:
    """Memory 1 shares entity 6 with memory 0; memories 2 and 3 are one more hop away; 5 is unconnected."""
    grown = expand(
        candidates_of([0], [1.0]),
        NO_ENTITIES,
        graph=GRAPH_OF_SIX,
        memories=MEMORIES,
        cosines=cosines,
        visible=all_visible,
    )
    assert grown.ordinals.tolist() == [0, 1, 2, 3]
    assert grown.mass[1] > grown.mass[2] == pytest.approx(grown.mass[3])
    assert grown.cosine[1:].tolist() == pytest.approx([0.1, 0.2, 0.3])
    assert grown.channels_of(1) == (GRAPH,)


def test_memories_of_others_take_no_place_of_those_that_are_visible() -> None:
    """Memory 0 shares an entity with two hundred, of which the caller sees the last two."""
    count, memories = 2, 201
    entity = memories
    grown = expand(
        candidates_of([0], [1.0]),
        NO_ENTITIES,
        graph=undirected([(one, entity) for one in range(memories)], memories + 1),
        memories=memories,
        cosines=cosines,
        visible=lambda ordinals: ordinals >= memories - count,
        hub_cap=memories,
        graph_candidates=count,
    )
    assert grown.ordinals.tolist() == [0, memories - 2, memories - 1]


def test_a_memory_that_is_not_visible_is_not_added() -> None:
    """Memories beyond it are."""
    grown = expand(
        candidates_of([0], [1.0]),
        NO_ENTITIES,
        graph=GRAPH_OF_SIX,
        memories=MEMORIES,
        cosines=cosines,
        visible=lambda ordinals: ordinals != 1,
    )
    assert 1 not in grown.ordinals.tolist()
    assert 2 in grown.ordinals.tolist()


def test_memories_with_the_most_mass_are_added_first() -> None:
    """Of three reachable memories one is added, the nearest."""
    grown = expand(
        candidates_of([0], [1.0]),
        NO_ENTITIES,
        graph=GRAPH_OF_SIX,
        memories=MEMORIES,
        cosines=cosines,
        visible=all_visible,
        graph_candidates=1,
    )
    assert grown.ordinals.tolist() == [0, 1]


def test_entities_in_the_query_are_seeds() -> None:
    """The query names entity 7, so its memories are reached without an edge to the candidates."""
    named = expand(
        candidates_of([5], [1.0]),
        np.array([7]),
        graph=GRAPH_OF_SIX,
        memories=MEMORIES,
        cosines=cosines,
        visible=all_visible,
    )
    assert set(named.ordinals.tolist()) >= {1, 2, 3, 5}
    alone = expand(
        candidates_of([5], [1.0]),
        NO_ENTITIES,
        graph=GRAPH_OF_SIX,
        memories=MEMORIES,
        cosines=cosines,
        visible=all_visible,
    )
    assert alone.ordinals.tolist() == [5]


def test_the_mass_of_one_memory_is_capped() -> None:
    """Memory 5 has no edges and would have all mass; the cap is .4."""
    grown = expand(
        candidates_of([5], [1.0]),
        NO_ENTITIES,
        graph=GRAPH_OF_SIX,
        memories=MEMORIES,
        cosines=cosines,
        visible=all_visible,
        mass_cap=0.4,
    )
    assert grown.mass.tolist() == pytest.approx([0.4])


def test_the_walk_starts_from_fused_scores_to_a_power() -> None:
    """Fused 1 and .5 to the 4th power are 16 to 1."""
    grown = expand(
        candidates_of([4, 5], [1.0, 0.5]),
        NO_ENTITIES,
        graph=GRAPH_OF_SIX,
        memories=MEMORIES,
        cosines=cosines,
        visible=all_visible,
        mass_cap=1.0,
    )
    assert grown.mass.tolist() == pytest.approx([16 / 17, 1 / 17])


def test_without_candidates_and_entities_nothing_is_added() -> None:
    """The walk has no seeds."""
    empty = candidates_of([], [])
    assert (
        expand(
            empty, NO_ENTITIES, graph=GRAPH_OF_SIX, memories=MEMORIES, cosines=cosines, visible=all_visible
        )
        is empty
    )


def test_an_added_memory_gets_the_least_fused_score() -> None:
    """No channel found it, so its fused score exceeds that of no candidate."""
    grown = expand(
        candidates_of([0, 5], [0.9, 0.2]),
        NO_ENTITIES,
        graph=GRAPH_OF_SIX,
        memories=MEMORIES,
        cosines=cosines,
        visible=all_visible,
    )
    assert grown.fused[2:].tolist() == pytest.approx([0.2] * (len(grown) - 2))
    assert len(grown) == 5


def test_a_profile_may_ask_for_the_bounded_walk() -> None:
    """0 -6- 1 from memory 0: hop 2 gives 1/6 to 0 and to 1; the sum of both is 4/3."""
    grown = expand(
        candidates_of([0], [1.0]),
        NO_ENTITIES,
        graph=GRAPH_OF_SIX,
        memories=MEMORIES,
        cosines=cosines,
        visible=all_visible,
        method="walk",
        mass_cap=1.0,
    )
    assert grown.ordinals.tolist() == [0, 1]
    assert grown.mass.tolist() == pytest.approx([7 / 8, 1 / 8])
    assert (grown.walked, grown.degraded) == ("walk", ())


def test_the_bounded_walk_replaces_pagerank_beyond_the_edge_budget() -> None:
    """Six edges suffice for two hops, not for PageRank; `degraded` names it."""
    common: dict[str, Any] = {
        "graph": GRAPH_OF_SIX, "memories": MEMORIES, "cosines": cosines, "visible": all_visible,
    }  # fmt: skip
    dense = expand(candidates_of([0], [1.0]), NO_ENTITIES, edge_budget=6, **common)
    walked = expand(candidates_of([0], [1.0]), NO_ENTITIES, edge_budget=6, method="walk", **common)
    assert (dense.walked, dense.degraded) == ("walk", ("pagerank",))
    assert dense.mass.tolist() == walked.mass.tolist()
    affordable = expand(candidates_of([0], [1.0]), NO_ENTITIES, **common)
    assert (affordable.walked, affordable.degraded) == ("pagerank", ())


@settings(deadline=None)
@given(
    fused=some.lists(some.floats(0, 1), min_size=1, max_size=MEMORIES),
    method=some.sampled_from(["pagerank", "walk"]),
    cap=some.floats(0.05, 1),
)
def test_mass_is_a_share_and_at_most_the_cap(
    fused: list[float], method: Literal["pagerank", "walk"], cap: float
) -> None:
    """By both methods shares sum to 1 before they are capped."""
    grown = expand(
        candidates_of(list(range(len(fused))), fused),
        NO_ENTITIES,
        graph=GRAPH_OF_SIX,
        memories=MEMORIES,
        cosines=cosines,
        visible=all_visible,
        method=method,
        mass_cap=cap,
    )
    whole = float(grown.mass.sum())
    assert (grown.mass <= cap).all()
    assert whole <= 1.0 + 1e-9
    assert whole == pytest.approx(1.0) or grown.mass.max() == cap
