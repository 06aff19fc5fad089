"""Gold-pair linkage: does the graph connect the documents that a question needs together?

Pairs of relevant documents of one question, against random pairs of the same tenant:

    typed link  an edge between a memory of one and a memory of the other
    one step    such an edge, or an entity that both have an edge to
    two steps   one step, or a third memory within one step of both

No path goes through a node with more than `hub_cap` edges: the walk of stage 5 passes none either. At most
`QUESTIONS` questions and `PAIRS` pairs of each are read, chosen by a fixed seed.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import sparse

from helix_lab.measures.intervals import Difference, differences, intervals
from helix_lab.measures.metrics import Scores, mean
from helix_shared.artifacts.graph.base import ENTITIES_FROM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_lab.sets.data import EvaluationSet
    from helix_shared.artifacts.graph.snapshot import GraphSnapshot

    Pairs = NDArray[np.int64]
    """Positions of documents [n, 2]."""

LINKS: Final = ("typed link", "one step", "two steps")
QUESTIONS: Final = 300
PAIRS: Final = 6
RANDOM_PAIRS: Final = 2
"""Random pairs drawn for each pair of relevant documents."""
ROWS: Final = 512
"""Pairs compared at once; bounds memory."""
SEED: Final = 20_260_101


@dataclass(frozen=True, slots=True)
class Linkage:
    """Shares of connected pairs, 0 to 1, by the names in `LINKS`; every question counts the same."""

    questions: int
    pairs: int
    gold: dict[str, float]
    gold_intervals: dict[str, tuple[float, float]]
    random: dict[str, float]
    random_intervals: dict[str, tuple[float, float]]
    difference: dict[str, Difference]


def linkage(
    data: EvaluationSet, graph: GraphSnapshot, document_of: NDArray[np.int64], *, hub_cap: int
) -> Linkage | None:
    """Measure it; None where no question has two relevant documents.

    `document_of` has the position in `data.documents` of every ordinal, -1 for none.
    """
    drawn = np.random.default_rng(SEED)
    gold = _gold_pairs(data, drawn)
    if not gold:
        return None
    random = _random_pairs(data, gold, drawn)
    connected = _Connections(graph, document_of, hub_cap=hub_cap)
    found, chance = (_scores(pairs, connected) for pairs in (gold, random))
    return Linkage(
        questions=len(gold),
        pairs=sum(map(len, gold.values())),
        gold=mean(found),
        gold_intervals=intervals(found),
        random=mean(chance),
        random_intervals=intervals(chance),
        difference=differences(found, chance),
    )


def _gold_pairs(data: EvaluationSet, drawn: np.random.Generator) -> dict[str, Pairs]:
    places = {document.id: place for place, document in enumerate(data.documents)}
    several = [question for question in data.answerable if len(data.relevant[question.id]) > 1]
    found = {}
    for question in several[:: max(1, -(-len(several) // QUESTIONS))]:
        relevant = sorted(places[name] for name in data.relevant[question.id])
        pairs = np.array([*itertools.combinations(relevant, 2)], np.int64)
        found[question.id] = drawn.permutation(pairs)[:PAIRS]
    return found


def _random_pairs(
    data: EvaluationSet, gold: dict[str, Pairs], drawn: np.random.Generator
) -> dict[str, Pairs]:
    """Two different documents of the tenant of each question."""
    members: dict[str, list[int]] = {}
    for place, document in enumerate(data.documents):
        members.setdefault(document.tenant, []).append(place)
    return {
        question: np.array(
            [
                drawn.choice(members[data.documents[first].tenant], 2, replace=False)
                for first in np.repeat(pairs[:, 0], RANDOM_PAIRS)
            ],
            np.int64,
        )
        for question, pairs in gold.items()
    }


def _scores(pairs: dict[str, Pairs], connected: _Connections) -> Scores:
    together = np.concatenate([*pairs.values()])
    shares = np.concatenate(
        [connected.of(together[start : start + ROWS]) for start in range(0, len(together), ROWS)]
    )
    ends = np.cumsum([len(some) for some in pairs.values()])
    rows = np.split(shares, ends[:-1])
    return {
        question: dict(zip(LINKS, row.mean(axis=0).tolist(), strict=True))
        for question, row in zip(pairs, rows, strict=True)
    }


class _Connections:
    """Answers which pairs of documents the graph connects."""

    def __init__(self, graph: GraphSnapshot, document_of: NDArray[np.int64], *, hub_cap: int) -> None:
        self._graph = graph
        self._hub_cap = hub_cap
        self._document_of = document_of
        everyone = np.arange(len(document_of))
        self._passed = sparse.diags_array((graph.degrees(everyone) <= hub_cap).astype(np.float64))

    def of(self, pairs: Pairs) -> NDArray[np.bool_]:
        """Which of `LINKS` connect each of `pairs`, [n, 3]."""
        documents, places = np.unique(pairs, return_inverse=True)
        first, second = places.reshape(pairs.shape).T
        members = self._members(documents)
        typed, near = self._one_step(members)
        through = near @ self._passed
        link, one, met = (
            np.asarray(mine[first].multiply(theirs[second]).sum(axis=1)).ravel() > 0
            for mine, theirs in ((typed, members), (near, members), (through, near))
        )
        return np.stack([link, one, one | met], axis=1)

    def _members(self, documents: NDArray[np.int64]) -> sparse.csr_array:
        """Memories of each of `documents`, which ascend: [documents, memories]."""
        memories = np.flatnonzero(np.isin(self._document_of, documents))
        rows = np.searchsorted(documents, self._document_of[memories])
        return _matrix(rows, memories, (len(documents), len(self._document_of)))

    def _one_step(self, members: sparse.csr_array) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Memories that a typed link, and that any step, leads to from those of each document."""
        size = len(self._document_of)
        memories = np.unique(members.indices).astype(np.int64)
        edges = self._graph.edges_of(memories)
        owners = np.repeat(np.arange(len(memories)), edges.counts)
        to_memory = edges.targets < ENTITIES_FROM
        shape = (len(memories), size)
        typed = members[:, memories] @ _matrix(owners[to_memory], edges.targets[to_memory], shape)
        entities, numbers = np.unique(edges.targets[~to_memory], return_inverse=True)
        mentions = _matrix(owners[~to_memory], numbers, (len(memories), len(entities)))
        is_passed = self._graph.degrees(entities) <= self._hub_cap
        back = self._graph.edges_of(entities[is_passed])
        sharing = _matrix(
            np.repeat(np.flatnonzero(is_passed), back.counts), back.targets, (len(entities), size)
        )
        return typed, typed + members[:, memories] @ mentions @ sharing


def _matrix(rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]) -> sparse.csr_array:
    """1 at every place; places that are named several times add up."""
    return sparse.csr_array((np.ones(len(rows), np.int32), (rows, columns)), shape=shape)
