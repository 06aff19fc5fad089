from typing import Any, Literal

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from numpy.typing import NDArray

from helix_query.recall.candidates import GRAPH, Candidates
from helix_query.recall.graph.expand import expand

from .adjacency import Adjacency

MEMORIES = 6


def undirected(edges: list[tuple[int, int]], nodes: int) -> Adjacency:
    """A graph of edges of weight 1."""
    graph: nx.Graph[int] = nx.empty_graph(nodes)
    graph.add_edges_from(edges)
    return Adjacency.of(graph)


# memories 0..5, entities 6 and 7: 0 -6- 1, 1 -7- 2, memory 5 unconnected
GRAPH_OF_SIX = undirected([(0, 6), (1, 6), (1, 7), (2, 7), (3, 7)], 8)


def pool_of(ordinals: list[int], fused: list[float]) -> Candidates:
    """A pool with these fused scores."""
    count = len(ordinals)
    return Candidates(
        np.array(ordinals, np.int64),
        np.array(fused, np.float64),
        np.full(count, 0.5),
        np.zeros(count),
        np.ones(count, np.uint8),
    )


def cosines(ordinals: NDArray[np.int64]) -> NDArray[np.float32]:
    """A cosine that tells the ordinal."""
    return (ordinals / 10).astype(np.float32)


def everyone(ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
    """All may be seen."""
    return np.ones(len(ordinals), bool)


NOBODY = np.empty(0, np.int64)


def test_the_graph_brings_in_what_shares_an_entity() -> None:
    """Memory 1 shares entity 6 with memory 0, memories 2 and 3 are one hop further; 5 stays out."""
    grown = expand(
        pool_of([0], [1.0]), NOBODY, graph=GRAPH_OF_SIX, memories=MEMORIES, cosines=cosines, visible=everyone
    )
    assert grown.ordinals.tolist() == [0, 1, 2, 3]
    assert grown.mass[1] > grown.mass[2] == pytest.approx(grown.mass[3])
    assert grown.cosine[1:].tolist() == pytest.approx([0.1, 0.2, 0.3])
    assert grown.channels_of(1) == (GRAPH,)


def test_what_is_not_visible_never_joins() -> None:
    """The predicate of the channels holds for newcomers too."""
    grown = expand(
        pool_of([0], [1.0]),
        NOBODY,
        graph=GRAPH_OF_SIX,
        memories=MEMORIES,
        cosines=cosines,
        visible=lambda ordinals: ordinals != 1,
    )
    assert 1 not in grown.ordinals.tolist()
    assert 2 in grown.ordinals.tolist()


def test_newcomers_are_capped_to_those_with_the_most_mass() -> None:
    """Of three reachable memories one may join: the nearest."""
    grown = expand(
        pool_of([0], [1.0]),
        NOBODY,
        graph=GRAPH_OF_SIX,
        memories=MEMORIES,
        cosines=cosines,
        visible=everyone,
        graph_candidates=1,
    )
    assert grown.ordinals.tolist() == [0, 1]


def test_named_entities_are_seeds_of_their_own() -> None:
    """The query names entity 7; its memories gain mass even though the pool is far away."""
    named = expand(
        pool_of([5], [1.0]),
        np.array([7]),
        graph=GRAPH_OF_SIX,
        memories=MEMORIES,
        cosines=cosines,
        visible=everyone,
    )
    assert set(named.ordinals.tolist()) >= {1, 2, 3, 5}
    alone = expand(
        pool_of([5], [1.0]), NOBODY, graph=GRAPH_OF_SIX, memories=MEMORIES, cosines=cosines, visible=everyone
    )
    assert alone.ordinals.tolist() == [5]


def test_the_mass_of_one_memory_is_capped() -> None:
    """Memory 5 has no edges and would hold all mass; the cap leaves it .4."""
    grown = expand(
        pool_of([5], [1.0]),
        NOBODY,
        graph=GRAPH_OF_SIX,
        memories=MEMORIES,
        cosines=cosines,
        visible=everyone,
        mass_cap=0.4,
    )
    assert grown.mass.tolist() == pytest.approx([0.4])


def test_sharpened_scores_decide_where_the_walk_starts() -> None:
    """Fused 1 and .5 to the 4th power are 16 to 1, so nearly all mass sits at the better seed."""
    grown = expand(
        pool_of([4, 5], [1.0, 0.5]),
        NOBODY,
        graph=GRAPH_OF_SIX,
        memories=MEMORIES,
        cosines=cosines,
        visible=everyone,
        mass_cap=1.0,
    )
    assert grown.mass.tolist() == pytest.approx([16 / 17, 1 / 17])


def test_an_empty_pool_without_names_stays_empty() -> None:
    """Nothing to start from."""
    empty = pool_of([], [])
    assert (
        expand(empty, NOBODY, graph=GRAPH_OF_SIX, memories=MEMORIES, cosines=cosines, visible=everyone)
        is empty
    )


def test_a_newcomer_gets_the_least_fused_score() -> None:
    """It matched no channel, so it may not outrank by fusion anyone who did."""
    grown = expand(
        pool_of([0, 5], [0.9, 0.2]),
        NOBODY,
        graph=GRAPH_OF_SIX,
        memories=MEMORIES,
        cosines=cosines,
        visible=everyone,
    )
    assert grown.fused[2:].tolist() == pytest.approx([0.2] * (len(grown) - 2))
    assert len(grown) == 5


def test_a_profile_may_ask_for_the_bounded_walk() -> None:
    """0 -6- 1 from memory 0: hop 2 gives 1/6 each to 0 and 1, an eighth of 1 + 1/6 + 1/6."""
    grown = expand(
        pool_of([0], [1.0]),
        NOBODY,
        graph=GRAPH_OF_SIX,
        memories=MEMORIES,
        cosines=cosines,
        visible=everyone,
        method="walk",
        mass_cap=1.0,
    )
    assert grown.ordinals.tolist() == [0, 1]
    assert grown.mass.tolist() == pytest.approx([7 / 8, 1 / 8])
    assert (grown.walked, grown.degraded) == ("walk", ())


def test_the_bounded_walk_stands_in_where_pagerank_would_pass_too_many_edges() -> None:
    """Six edges are enough for two hops, not for the rounds of PageRank; the pool says so."""
    common: dict[str, Any] = {
        "graph": GRAPH_OF_SIX, "memories": MEMORIES, "cosines": cosines, "visible": everyone,
    }  # fmt: skip
    dense = expand(pool_of([0], [1.0]), NOBODY, edge_budget=6, **common)
    walked = expand(pool_of([0], [1.0]), NOBODY, edge_budget=6, method="walk", **common)
    assert (dense.walked, dense.degraded) == ("walk", ("pagerank",))
    assert dense.mass.tolist() == walked.mass.tolist()
    affordable = expand(pool_of([0], [1.0]), NOBODY, **common)
    assert (affordable.walked, affordable.degraded) == ("pagerank", ())


@given(
    fused=some.lists(some.floats(0, 1), min_size=1, max_size=MEMORIES),
    method=some.sampled_from(["pagerank", "walk"]),
    cap=some.floats(0.05, 1),
)
def test_mass_is_a_share_of_the_pool_and_never_above_the_cap(
    fused: list[float], method: Literal["pagerank", "walk"], cap: float
) -> None:
    """Whichever method walks: shares sum to 1 before they are capped."""
    grown = expand(
        pool_of(list(range(len(fused))), fused),
        NOBODY,
        graph=GRAPH_OF_SIX,
        memories=MEMORIES,
        cosines=cosines,
        visible=everyone,
        method=method,
        mass_cap=cap,
    )
    whole = float(grown.mass.sum())
    assert (grown.mass <= cap).all()
    assert whole <= 1.0 + 1e-9
    assert whole == pytest.approx(1.0) or grown.mass.max() == cap
