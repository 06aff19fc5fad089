import networkx as nx
import numpy as np
import pytest

from helix_query.recall.graph.local_subgraph import Mass
from helix_query.recall.graph.pagerank import personalized_pagerank

from .adjacency import Adjacency

NO_CAP = 10**9


def random_graph(seed: int) -> "nx.Graph[int]":
    """Forty nodes, ninety edges of three weights."""
    graph: nx.Graph[int] = nx.gnm_random_graph(40, 90, seed=seed)
    random = np.random.default_rng(seed)
    for _, _, attributes in graph.edges(data=True):
        attributes["weight"] = float(random.choice([0.5, 1.0, 2.0]))
    return graph


@pytest.mark.parametrize("seed", range(12))
def test_mass_equals_networkx_on_random_graphs(seed: int) -> None:
    """An isolated node, whose mass returns to the seeds, is among them."""
    graph = random_graph(seed)
    graph.add_node(len(graph))  # isolated, and a seed
    seeds, shares = np.array([3, 11, len(graph) - 1]), np.array([0.5, 0.3, 0.2])
    personalization = dict(zip(seeds.tolist(), shares.tolist(), strict=True))
    expected = nx.pagerank(
        graph, alpha=0.7, personalization=personalization, weight="weight", tol=1e-12, max_iter=1000
    )
    mass = personalized_pagerank(
        Adjacency.of(graph), seeds, shares, restart=0.3, epsilon=1e-9, max_rounds=500, hub_cap=NO_CAP
    )
    got = mass.of(np.arange(len(graph)))
    assert got == pytest.approx([expected[node] for node in range(len(graph))], abs=1e-6)


def test_default_epsilon_stays_close_to_the_exact_mass() -> None:
    """Epsilon bounds the residual per edge, so the error of a node is at most epsilon x its edges."""
    graph = random_graph(99)
    expected = nx.pagerank(
        graph, alpha=0.7, personalization={0: 1.0}, weight="weight", tol=1e-12, max_iter=1000
    )
    mass = personalized_pagerank(
        Adjacency.of(graph), np.array([0]), np.array([1.0]), restart=0.3, epsilon=1e-5, hub_cap=NO_CAP
    )
    got = mass.of(np.arange(len(graph)))
    assert got == pytest.approx([expected[node] for node in range(len(graph))], abs=1e-3)


def test_two_nodes_by_hand() -> None:
    """Seed a - b, restart .3: a = .3 / (1 - .49) = .588235, b = .7 a = .411765."""
    graph: nx.Graph[int] = nx.path_graph(2)
    mass = personalized_pagerank(
        Adjacency.of(graph), np.array([0]), np.array([1.0]), restart=0.3, epsilon=1e-10, max_rounds=500
    )
    assert mass.of(np.array([0, 1])) == pytest.approx([0.588235, 0.411765], abs=1e-6)


def test_a_hub_passes_nothing_on() -> None:
    """Seed 1 is a leaf of hub 0 with 5 edges; with a cap of 4 the other leaves get nothing."""
    graph: nx.Graph[int] = nx.star_graph(5)
    mass = personalized_pagerank(Adjacency.of(graph), np.array([1]), np.array([1.0]), hub_cap=4)
    assert mass.nodes.tolist() == [0, 1]
    assert mass.of(np.array([0]))[0] > 0
    open_mass = personalized_pagerank(Adjacency.of(graph), np.array([1]), np.array([1.0]), hub_cap=5)
    assert (open_mass.of(np.array([2, 3, 4, 5])) > 0).all()


def test_edges_of_a_kind_with_factor_zero_pass_nothing() -> None:
    """Path 0 - 1 - 2 whose second edge is of kind 1: with factor 0 node 2 is out of reach."""
    typed = Adjacency.of(nx.path_graph(3), kinds=[0, 0, 1, 1])  # rows: 0->1, 1->0, 1->2, 2->1
    mass = personalized_pagerank(typed, np.array([0]), np.array([1.0]), kind_factors=np.array([1.0, 0.0]))
    assert mass.of(np.array([2]))[0] == 0.0
    assert mass.of(np.array([0, 1])).sum() == pytest.approx(1.0)


def test_only_reached_nodes_are_held() -> None:
    """A walk in one component holds no node of the other."""
    graph = nx.disjoint_union(nx.path_graph(3), nx.path_graph(5000))
    mass = personalized_pagerank(Adjacency.of(graph), np.array([1]), np.array([1.0]))
    assert mass.nodes.tolist() == [0, 1, 2]


def test_mass_of_other_nodes_is_zero() -> None:
    """`Mass.of` looks nodes up by value, not by position."""
    mass = Mass(np.array([2, 5]), np.array([0.25, 0.75]))
    assert mass.of(np.array([5, 3, 2, 9])).tolist() == [0.75, 0.0, 0.25, 0.0]
