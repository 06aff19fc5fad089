"""The links of memories in the graph, and their decided relations, in two generations.

Ends of links are named by content: memories by id, entities by their key. So two graphs of other ordinals,
other numbers of entities, and another division into base and delta have the same digest.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_cli.rebuilding.parity.result import EXAMPLES, Section
from helix_shared.artifacts.graph.base import ENTITIES_FROM
from helix_shared.artifacts.graph.snapshot import EDGE_KINDS

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from numpy.typing import NDArray

    from helix_shared.artifacts.generation.reader import Generation

LINKS: Final = "links"
RELATIONS: Final = "relations"
NOT_COMPARED: Final = np.uint64(0)
"""Label of a memory that was erased, or that is left out: links to it decide nothing."""
_BATCH: Final = 8_192
_MIXES: Final = tuple(
    np.uint64(value) for value in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0x9E3779B97F4A7C15)
)
"""Constants of splitmix64 (Steele, Lea, Flood 2014)."""


class Labels:
    """Names of the nodes of one generation, the same in every other; `ids` has the compared memories."""

    def __init__(self, generation: Generation, ids: Mapping[int, str]) -> None:
        graph = generation.graph
        self._of_memories = np.zeros(graph.memories, np.uint64)
        for ordinal, memory_id in ids.items():
            self._of_memories[ordinal] = int(memory_id[:16], 16)
        self._of_entities = np.concatenate([graph.base.entity_keys, graph.delta.entity_keys])

    def of(self, nodes: NDArray[np.int64]) -> NDArray[np.uint64]:
        """A number for each node; `NOT_COMPARED` for a memory that is not."""
        is_entity = nodes >= ENTITIES_FROM
        found = np.zeros(len(nodes), np.uint64)
        found[~is_entity] = self._of_memories[nodes[~is_entity]]
        found[is_entity] = self._of_entities[nodes[is_entity] - ENTITIES_FROM]
        return found


def link_digests(
    generation: Generation, labels: Labels, ordinals: NDArray[np.int64], *, to_entities: bool = False
) -> NDArray[np.uint64]:
    """One number for all links of each memory: kind, direction, weight and other end, in any order.

    With `to_entities`, links to other memories are left out.
    """
    digests = np.zeros(len(ordinals), np.uint64)
    for start in range(0, len(ordinals), _BATCH):
        edges = generation.graph.edges_of(ordinals[start : start + _BATCH])
        weights = edges.weights.astype(np.float32).view(np.uint32).astype(np.uint64)
        what = edges.kinds.astype(np.uint64) * np.uint64(2) + edges.forward.astype(np.uint64)
        ends = labels.of(edges.targets)
        mixed = _mixed(_mixed(ends) ^ _mixed(weights << np.uint64(16) | what)) * (ends != NOT_COMPARED)
        if to_entities:
            mixed *= edges.targets >= ENTITIES_FROM
        owners = np.repeat(np.arange(len(edges.counts)), edges.counts) + start
        np.add.at(digests, owners, mixed)
    return digests


def compare_links(
    sides: tuple[Generation, Generation],
    labels: tuple[Labels, Labels],
    ids: list[str],
    places: NDArray[np.int64],
    explained: Container[str] = (),
) -> Section:
    """The section of the graph; its note has the digest of both.

    Of the memories `explained`, other relations are explained, and so are other links to memories.
    """
    section = Section(LINKS, compared=len(ids))
    before, after = (
        link_digests(side, named, places[:, column])
        for column, (side, named) in enumerate(zip(sides, labels, strict=True))
    )
    rows = np.flatnonzero(before != after)
    section.different = len(rows)
    decided = np.array([row for row in rows.tolist() if ids[row] in explained], np.int64)
    old, new = (
        link_digests(side, named, places[decided, column], to_entities=True)
        for column, (side, named) in enumerate(zip(sides, labels, strict=True))
    )
    section.explained = int((old == new).sum())
    for row in rows.tolist()[:EXAMPLES]:
        was, now = (_described(side, int(places[row, column])) for column, side in enumerate(sides))
        section.example(ids[row], "links", was - now or "none", now - was or "none")
    own = np.array([int(one[:16], 16) for one in ids], np.uint64)
    digests = [int(np.bitwise_xor.reduce(_mixed(own) * (one | np.uint64(1)))) for one in (before, after)]
    section.note = f"digest {digests[0]:016x}, then {digests[1]:016x}"
    return section


def _described(generation: Generation, ordinal: int) -> set[str]:
    edges = generation.graph.edges_of(np.array([ordinal], np.int64))
    return {
        f"{EDGE_KINDS[kind]} {weight:.6g} {'to' if forward else 'from'} "
        f"{'an entity' if target >= ENTITIES_FROM else 'a memory'}"
        for kind, weight, forward, target in zip(
            edges.kinds.tolist(),
            edges.weights.tolist(),
            edges.forward.tolist(),
            edges.targets.tolist(),
            strict=True,
        )
    }


def compare_relations(
    sides: tuple[Generation, Generation],
    ids_of: tuple[Mapping[int, str], Mapping[int, str]],
    ids: list[str],
    places: NDArray[np.int64],
    beside: Container[str] = (),
) -> tuple[Section, set[str]]:
    """The section of the decided relations, each by its newer memory.

    Those of the memories `beside` are explained; returns both ends of these.
    """
    section, ends = Section(RELATIONS, compared=len(ids)), set[str]()
    for start in range(0, len(ids), _BATCH):
        part = places[start : start + _BATCH]
        before, after = (
            _by_newer(side, names, part[:, column])
            for column, (side, names) in enumerate(zip(sides, ids_of, strict=True))
        )
        if before == after:
            continue
        for memory_id in ids[start : start + _BATCH]:
            old, new = before.get(memory_id, []), after.get(memory_id, [])
            if old != new:
                section.different += 1
                if memory_id in beside:
                    section.explained += 1
                    ends |= {memory_id, *(older for older, *_ in (*old, *new))}
                gone = [one for one in old if one not in new] or "none"
                section.example(
                    memory_id, "relations", gone, [one for one in new if one not in old] or "none"
                )
    if section.explained:
        section.note = f"{section.explained} were decided beside a memory that is erased since"
    return section, ends


def _by_newer(
    generation: Generation, ids: Mapping[int, str], ordinals: NDArray[np.int64]
) -> dict[str, list[Any]]:
    """By memory: each relation to an older one with its evidence, and whether it counts."""
    wanted = set(ordinals.tolist())
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for relation, counts in generation.relations.of(ordinals):
        # One with an erased memory counts nowhere; whether it is noted depends on the time of the erasure.
        if relation.newer in wanted and relation.older in ids:
            values = asdict(relation)
            newer, older = values.pop("newer"), values.pop("older")
            found[ids[newer]].append((ids[older], counts, sorted(values.items(), key=str)))
    return {memory_id: sorted(relations, key=str) for memory_id, relations in found.items()}


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """splitmix64 of each number; it wraps around."""
    first, second, step = _MIXES
    mixed = values + step
    mixed = (mixed ^ (mixed >> np.uint64(30))) * first
    mixed = (mixed ^ (mixed >> np.uint64(27))) * second
    return mixed ^ (mixed >> np.uint64(31))
