import numpy as np
import pytest
from numpy.typing import NDArray

from helix_query.recall.channels.entity import linked_memories
from helix_shared.artifacts.graph.snapshot import EdgeRows
from helix_shared.artifacts.hits import Hits

MEMORIES = 8
ANN, TOKYO, NOTES, ALONE = 8, 9, 10, 11


class Edges:
    """Weighted edges in both directions, with the methods of `GraphSnapshot` that the channel calls."""

    def __init__(self, edges: list[tuple[int, int, float]]) -> None:
        both = sorted(edges + [(target, source, weight) for source, target, weight in edges])
        self.sources, self.targets = np.array([edge[:2] for edge in both], np.int64).T
        self.weights = np.array([weight for _, _, weight in both], np.float32)

    def degrees(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many edges each of `nodes` has."""
        return np.array([np.count_nonzero(self.sources == node) for node in nodes], np.int64)

    def edges_of(self, nodes: NDArray[np.int64]) -> EdgeRows:
        """The edges of `nodes`, in their order."""
        rows = np.array([row for node in nodes for row in np.flatnonzero(self.sources == node)], np.int64)
        kinds = np.zeros(len(rows), np.uint8)
        return EdgeRows(self.degrees(nodes), self.targets[rows], self.weights[rows], kinds, kinds == 0)


# Ann is in memories 0 and 1; 0 also names Tokyo, as 2 and 3 do (3 in passing); 1 is in the notes (.5) with
# 4; 5 replaced 1; 6 is one hop from 2, so two from Ann
PEOPLE = Edges(
    [
        (0, ANN, 1.0), (1, ANN, 1.0), (0, TOKYO, 3.0), (2, TOKYO, 3.0), (3, TOKYO, 0.4),
        (1, NOTES, 0.5), (4, NOTES, 1.0), (1, 5, 0.8), (2, 6, 1.0),
    ]
)  # fmt: skip


def cosines(ordinals: NDArray[np.int64]) -> NDArray[np.float32]:
    """Higher ordinals are closer to the question."""
    return (ordinals / 10).astype(np.float32)


def everyone(ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
    """All may be seen."""
    return np.ones(len(ordinals), bool)


def found(named: list[int], **constants: object) -> Hits:
    """What the channel finds for these entities."""
    asked = {
        "graph": PEOPLE, "memories": MEMORIES, "cosines": cosines, "is_visible": everyone, "limit": 10,
    } | constants  # fmt: skip
    return linked_memories(np.array(named, np.int64), **asked)  # type: ignore[arg-type] # a mapping of its arguments


def scores(hits: Hits) -> dict[int, float]:
    """Score by ordinal."""
    return dict(zip(hits.ordinals.tolist(), hits.scores.tolist(), strict=True))


def test_names_score_one_and_one_hop_half_the_strength() -> None:
    """Direct 1; through Tokyo .5 x min(1, 1, 3, 3); in passing .5 x .4; notes .5 x .5; replaced .5 x .8."""
    assert scores(found([ANN])) == pytest.approx({0: 1.0, 1: 1.0, 2: 0.5, 3: 0.2, 4: 0.25, 5: 0.4})


def test_two_hops_are_too_far() -> None:
    """Memory 6 is related to 2, which only shares Tokyo with a memory of Ann; 7 is nowhere."""
    assert {6, 7}.isdisjoint(found([ANN]).ordinals.tolist())


def test_equal_scores_go_by_cosine() -> None:
    """Both memories of Ann score 1; 1 is closer to the question."""
    assert found([ANN]).ordinals.tolist() == [1, 0, 2, 5, 4, 3]


def test_the_hop_is_a_constant_of_the_profile() -> None:
    """0 leaves those one hop away with nothing, .25 halves them."""
    assert scores(found([ANN], hop=0.25))[2] == pytest.approx(0.25)


def test_a_hub_is_not_expanded() -> None:
    """Tokyo has three edges: above a cap of 2 it neither finds its memories nor leads on."""
    assert len(found([TOKYO], hub_cap=2)) == 0
    assert 2 not in found([ANN], hub_cap=2).ordinals


def test_only_the_visible_ones_leave() -> None:
    """What the caller may not see is neither returned nor counted against the limit."""
    hits = found([ANN], is_visible=lambda ordinals: ordinals != 1, limit=3)
    assert hits.ordinals.tolist() == [0, 2, 5]


def test_an_invisible_memory_still_leads_to_visible_ones() -> None:
    """As in the walk of stage 5, the filter holds for what is returned."""
    assert found([ANN], is_visible=lambda ordinals: ordinals == 2).ordinals.tolist() == [2]


def test_the_limit_bounds_the_list() -> None:
    """The best of them."""
    assert found([ANN], limit=2).ordinals.tolist() == [1, 0]


@pytest.mark.parametrize("named", [[], [ALONE]])
def test_no_entity_finds_nothing(named: list[int]) -> None:
    """A question without names, and a name without memories."""
    assert len(found(named)) == 0


def test_an_entity_of_many_memories_stays_bounded() -> None:
    """100 memories share an entity with each other and 100 more: no more than the limit is returned."""
    star = Edges([(memory, 300, 1.0) for memory in range(100)])
    hits = found([300], graph=star, memories=300, limit=20)
    assert hits.ordinals.tolist() == list(range(99, 79, -1))
