import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from helix_query.recall.graph.bounded_walk import bounded_walk
from helix_query.recall.graph.pagerank import personalized_pagerank

from .adjacency import Adjacency

START = np.array([0])
WHOLE = np.array([1.0])


def test_mass_is_the_inverse_of_the_distance() -> None:
    """Path 0-1-2-3 from 0: 1 at 0, 1/2 at 1, 1/6 at 0 and at 2; the sum is 11/6."""
    mass = bounded_walk(Adjacency.of(nx.path_graph(4)), START, WHOLE, hops=2)
    assert mass.nodes.tolist() == [0, 1, 2]
    assert mass.shares.tolist() == pytest.approx([7 / 11, 3 / 11, 1 / 11])


def test_one_hop_ends_at_the_neighbours() -> None:
    """1 at the seed, 1/2 at its neighbour: two thirds and one third."""
    mass = bounded_walk(Adjacency.of(nx.path_graph(4)), START, WHOLE, hops=1)
    assert mass.of(np.arange(4)).tolist() == pytest.approx([2 / 3, 1 / 3, 0.0, 0.0])


def test_heavier_edges_pass_more() -> None:
    """Weights 3 and 1: the neighbours get 3/4 and 1/4 of 1/2; the sum is 3/2."""
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(3))
    graph.add_edge(0, 1, weight=3.0)
    graph.add_edge(0, 2, weight=1.0)
    mass = bounded_walk(Adjacency.of(graph), START, WHOLE, hops=1)
    assert mass.of(np.arange(3)).tolist() == pytest.approx([2 / 3, 1 / 4, 1 / 12])


def test_edges_of_a_kind_with_factor_zero_pass_nothing() -> None:
    """The second edge of the path 0-1-2 is of kind 1 with factor 0, so all mass returns to 0."""
    typed = Adjacency.of(nx.path_graph(3), kinds=[0, 0, 1, 1])  # rows: 0->1, 1->0, 1->2, 2->1
    mass = bounded_walk(typed, START, WHOLE, kind_factors=np.array([1.0, 0.0]))
    assert mass.of(np.arange(3)).tolist() == pytest.approx([(4 / 3) / (11 / 6), (1 / 2) / (11 / 6), 0.0])


def test_a_hub_gets_mass_and_passes_nothing_on() -> None:
    """From leaf 1 of a star with 5 edges and a cap of 4, the centre gets 1/2 and the other leaves nothing."""
    star = Adjacency.of(nx.star_graph(5))
    mass = bounded_walk(star, np.array([1]), WHOLE, hub_cap=4)
    assert mass.of(np.arange(6)).tolist() == pytest.approx([1 / 3, 2 / 3, 0.0, 0.0, 0.0, 0.0])
    assert bounded_walk(star, np.array([1]), WHOLE, hub_cap=5).of(np.array([2]))[0] > 0


def test_the_edge_budget_goes_to_nodes_with_the_most_mass() -> None:
    """Two stars of 3 edges, seeds .6 and .4 at their centres: 3 edges suffice for the first only."""
    stars = Adjacency.of(nx.disjoint_union(nx.star_graph(3), nx.star_graph(3)))
    centres, shares = np.array([0, 4]), np.array([0.6, 0.4])
    mass = bounded_walk(stars, centres, shares, hops=1, edge_budget=3)
    assert mass.of(np.arange(8)).tolist() == pytest.approx(
        [0.6 / 1.3, 0.1 / 1.3, 0.1 / 1.3, 0.1 / 1.3, 0.4 / 1.3, 0.0, 0.0, 0.0]
    )


@settings(deadline=None)
@given(
    seed=some.integers(0, 10_000),
    seeds=some.sets(some.integers(0, 39), min_size=1, max_size=6),
    hops=some.integers(1, 2),
    hub_cap=some.integers(1, 40),
    edge_budget=some.integers(0, 200),
)
def test_a_walk_keeps_to_its_bounds(
    seed: int, seeds: set[int], hops: int, hub_cap: int, edge_budget: int
) -> None:
    """Mass sums to 1, no node is beyond the hops, and no more edges are read than the budget."""
    graph: nx.Graph[int] = nx.gnm_random_graph(40, 120, seed=seed)
    read = Adjacency.of(graph)
    mass = bounded_walk(
        read,
        np.array(sorted(seeds)),
        np.random.default_rng(seed).uniform(0.1, 1.0, len(seeds)),
        hops=hops,
        hub_cap=hub_cap,
        edge_budget=edge_budget,
    )
    assert mass.shares.sum() == pytest.approx(1.0)
    assert (mass.shares >= 0).all()
    near = nx.multi_source_dijkstra_path_length(graph, seeds, cutoff=hops, weight=None)
    assert set(mass.nodes.tolist()) <= set(near)
    assert sum(read.read) <= edge_budget


@settings(deadline=None)
@given(seed=some.integers(0, 10_000), edge_budget=some.integers(0, 3_000))
def test_pagerank_gives_up_before_it_reads_too_much(seed: int, edge_budget: int) -> None:
    """It returns mass that sums to 1, or None; both within the budget."""
    read = Adjacency.of(nx.gnm_random_graph(40, 120, seed=seed))
    mass = personalized_pagerank(read, START, WHOLE, edge_budget=edge_budget)
    assert sum(read.read) <= edge_budget
    assert mass is None or mass.shares.sum() == pytest.approx(1.0)


def test_the_budget_of_pagerank_counts_every_round() -> None:
    """Two nodes: the first round passes 1 edge, the second 2, so a budget of 2 is too small."""
    pair = Adjacency.of(nx.path_graph(2))
    enough = [
        personalized_pagerank(pair, START, WHOLE, max_rounds=2, epsilon=1e-9, edge_budget=budget)
        for budget in (2, 3)
    ]
    assert [mass is not None for mass in enough] == [False, True]
