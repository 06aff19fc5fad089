"""Gold pairs against random pairs, on a graph of six memories that is drawn by hand."""

import numpy as np
import pytest

from helix_lab.measures.linkage import linkage
from helix_lab.sets.data import Document, EvaluationSet, Question
from helix_shared.artifacts.graph.builder import GraphBuilder
from helix_shared.artifacts.graph.snapshot import GraphSnapshot, Link

NAMES = "abcdef"
DOCUMENTS = [Document(name, "text", "", "", "", "", "") for name in NAMES]
PAIRS = {"typed": "ab", "shared": "bc", "far": "ac", "apart": "af", "hub": "de"}
DATA = EvaluationSet(
    "drawn",
    DOCUMENTS,
    [Question(name, "text?", "", "", "") for name in PAIRS],
    {name: dict.fromkeys(pair, 1.0) for name, pair in PAIRS.items()},
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> GraphSnapshot:
    """Memories a and b have a typed link; b and c mention Ada; d, e and f mention a hub of three."""
    builder = GraphBuilder.empty()
    for ordinal, name in enumerate(NAMES):
        mentioned = {"b": "ada", "c": "ada", "d": "hub", "e": "hub", "f": "hub"}.get(name)
        links = [Link("MENTIONS", "name", mentioned, mentioned, 1.0)] if mentioned else []
        builder.set_links(ordinal, "t", links)
    builder.relate(0, 1, "EXTENDS", 1.0)
    folder = tmp_path_factory.mktemp("graph") / "graph"
    builder.write(folder, memories=len(NAMES))
    return GraphSnapshot.open(folder)


def gold(graph: GraphSnapshot, question: str, *, hub_cap: int = 2) -> list[float]:
    """Typed link, one step and two steps between the two documents of one question."""
    only = EvaluationSet("drawn", DOCUMENTS, [q for q in DATA.questions if q.id == question], DATA.relevant)
    found = linkage(only, graph, np.arange(len(NAMES)), hub_cap=hub_cap)
    assert found is not None
    return list(found.gold.values())


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("typed", [1.0, 1.0, 1.0]),
        ("shared", [0.0, 1.0, 1.0]),
        ("far", [0.0, 0.0, 1.0]),
        ("apart", [0.0, 0.0, 0.0]),
        ("hub", [0.0, 0.0, 0.0]),
    ],
)
def test_a_pair_is_connected_by_the_shortest_path(
    graph: GraphSnapshot, question: str, expected: list[float]
) -> None:
    """By a link, by a shared entity, by a memory between them, or not at all."""
    assert gold(graph, question) == expected


def test_the_hub_cap_decides_whether_a_common_entity_connects(graph: GraphSnapshot) -> None:
    """An entity of three memories is passed when the cap is three."""
    assert gold(graph, "hub", hub_cap=3) == [0.0, 1.0, 1.0]


def test_a_document_is_connected_by_any_of_its_memories(graph: GraphSnapshot) -> None:
    """Memories b and f of one document: what f is linked to counts for b's pairs as well."""
    document_of = np.array([0, 1, 2, 3, 4, 1])
    pair = EvaluationSet("drawn", DOCUMENTS, [Question("q", "?", "", "", "")], {"q": {"b": 1.0, "d": 1.0}})
    through = linkage(pair, graph, document_of, hub_cap=3)
    assert through is not None
    assert list(through.gold.values()) == [0.0, 1.0, 1.0]


def test_random_pairs_are_of_the_tenant_of_the_question(graph: GraphSnapshot) -> None:
    """A tenant of two linked memories has one pair, which is always connected."""
    tenants = [Document(d.id, d.text, "", "", "", "", "own" if d.id in "ab" else "") for d in DOCUMENTS]
    data = EvaluationSet("drawn", tenants, [Question("q", "?", "", "", "own")], {"q": {"a": 1.0, "b": 1.0}})
    found = linkage(data, graph, np.arange(len(NAMES)), hub_cap=2)
    assert found is not None
    assert (found.questions, found.pairs) == (1, 1)
    assert list(found.random.values()) == [1.0, 1.0, 1.0]
    assert {worth.difference for worth in found.difference.values()} == {0.0}


def test_without_a_question_of_two_documents_there_is_nothing_to_measure(graph: GraphSnapshot) -> None:
    """A set of single answers has no pairs."""
    single = EvaluationSet("drawn", DOCUMENTS, [Question("q", "?", "", "", "")], {"q": {"a": 1.0}})
    assert linkage(single, graph, np.arange(len(NAMES)), hub_cap=2) is None
