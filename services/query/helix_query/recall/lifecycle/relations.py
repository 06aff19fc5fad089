"""End of stage 5: which memories later ones have probably replaced, from the typed links of the graph.

A link of kind UPDATES or CONTRADICTS goes from the newer memory to the older one; its weight is the
probability that it holds. One of kind RELATES says less, so a share of its weight counts. A replaced memory
that is hidden stands between two visible ones: its own replacement replaces what it had replaced.

A memory is replaced once and replaces few, so where many links claim it their probabilities are scaled to sum
to 1 at both ends. Long texts say many things, so links between them do not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_shared.artifacts.graph.base import ENTITIES_FROM
from helix_shared.artifacts.graph.snapshot import EDGE_KINDS
from helix_shared.artifacts.relations.records import RELATES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.profile.sections.ranking import Outdated
    from helix_query.recall.context import RecallContext
    from helix_shared.artifacts.graph.snapshot import GraphSnapshot

REPLACING: Final = ("UPDATES", "CONTRADICTS")
HOPS: Final = 3
"""Links in a row that are followed through hidden memories."""
LINKS: Final = 2_000
"""Links that are followed at most in one step."""


@dataclass(frozen=True, slots=True)
class Replacements:
    """Pairs of ordinals: `newer` replaces `older` with `probability`, 0 to 1."""

    newer: NDArray[np.int64]
    older: NDArray[np.int64]
    probability: NDArray[np.float64]

    def to(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Replacements:
        """The pairs at `rows`, a mask or indices."""
        return Replacements(self.newer[rows], self.older[rows], self.probability[rows])

    def joined(self, other: Replacements) -> Replacements:
        """These pairs and those of `other`; of equal pairs the more probable one."""
        if not len(other.newer):
            return self
        newer = np.concatenate([self.newer, other.newer])
        older = np.concatenate([self.older, other.older])
        probability = np.concatenate([self.probability, other.probability])
        order = np.lexsort((-probability, older, newer))
        newer, older, probability = newer[order], older[order], probability[order]
        first = np.ones(len(newer), bool)
        first[1:] = (newer[1:] != newer[:-1]) | (older[1:] != older[:-1])
        return Replacements(newer[first], older[first], probability[first])


NONE: Final = Replacements(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def replacements_of(context: RecallContext, ordinals: NDArray[np.int64], constants: Outdated) -> Replacements:
    """The visible memories that replace one of `ordinals`, with at least the profile's `min_probability`."""
    factors = _factors(related=constants.related)
    graph, visibility = context.generation.graph, context.visibility
    tokens = context.generation.signals.token_count
    found = NONE
    origins, nodes, probability = ordinals, ordinals, np.ones(len(ordinals))
    for _ in range(HOPS):
        if not len(nodes):
            break
        sources, newer, weights = _links(graph, nodes, factors, forward=False)
        if not len(newer):
            break
        weights /= np.maximum(1.0, np.bincount(sources, weights, len(nodes)))[sources]
        short = np.maximum(tokens[nodes[sources]], tokens[newer]) <= constants.longest
        sources, newer, weights = sources[short], newer[short], weights[short]
        distinct, place = np.unique(newer, return_inverse=True)
        replacing, _, claims = _links(graph, distinct, factors, forward=True)
        weights /= np.maximum(1.0, np.bincount(replacing, claims, len(distinct)))[place]
        likely = probability[sources] * weights
        best = np.flatnonzero(likely >= constants.min_probability)
        best = best[np.argsort(-likely[best], kind="stable")[:LINKS]]
        origins, nodes, probability = origins[sources[best]], newer[best], likely[best]
        visible = visibility.is_visible(nodes)
        other = nodes != origins
        shown = visible & other
        found = found.joined(Replacements(nodes[shown], origins[shown], probability[shown]))
        through = ~visible & other & _may_be_passed(context, nodes)
        origins, nodes, probability = origins[through], nodes[through], probability[through]
    return found


def replaced_by(
    context: RecallContext, ordinals: NDArray[np.int64], *, min_probability: float
) -> Replacements:
    """The pairs in which one of `ordinals` replaces a visible memory with at least this probability.

    The most probable come first, of equal ones the later memory.
    """
    factors = _factors(related=0.0)
    rows, older, weights = _links(context.generation.graph, ordinals, factors, forward=True)
    pairs = Replacements(ordinals[rows], older, weights).to(weights >= min_probability)
    order = np.lexsort((-context.sequences_of(pairs.older).astype(np.int64), -pairs.probability))
    pairs = pairs.to(order[:LINKS])
    return pairs.to(context.visibility.is_visible(pairs.older))


def _factors(*, related: float) -> NDArray[np.float64]:
    """Share of the weight that counts of each kind of edge."""
    factors = np.zeros(len(EDGE_KINDS))
    factors[[EDGE_KINDS.index(kind) for kind in REPLACING]] = 1.0
    factors[EDGE_KINDS.index(RELATES)] = related
    return factors


def _links(
    graph: GraphSnapshot, nodes: NDArray[np.int64], factors: NDArray[np.float64], *, forward: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Links of `nodes` to other memories in one direction: rows of `nodes`, targets, probabilities.

    Those of a row come by probability, so that a sum of them does not depend on the ordinals of the targets.
    """
    edges = graph.edges_of(nodes)
    weights = factors[edges.kinds] * np.clip(edges.weights.astype(np.float64), 0.0, 1.0)
    chosen = (edges.forward == forward) & (weights > 0) & (edges.targets < ENTITIES_FROM)
    rows = np.repeat(np.arange(len(nodes)), edges.counts)
    links = np.flatnonzero(chosen)
    links = links[np.lexsort((weights[links], rows[links]))]
    return rows[links], edges.targets[links], weights[links]


def _may_be_passed(context: RecallContext, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which hidden memories the caller could see if they were not; of a past moment none."""
    visibility, signals = context.visibility, context.generation.signals
    if visibility.versions is not None:
        return np.zeros(len(ordinals), bool)
    return visibility.selection.restrict(signals, ordinals, signals.hidden[ordinals].copy())
