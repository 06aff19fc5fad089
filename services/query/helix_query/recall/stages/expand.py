"""Stage 5: the graph around the candidates, for the queries that the profile walks it for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from helix_query.metrics import RECALL_DEGRADED
from helix_query.profile.intent import Intent
from helix_query.recall.graph.bridge import bridges
from helix_query.recall.graph.graph_mass import with_graph_mass
from helix_query.recall.graph.walk import GraphWalk
from helix_query.recall.lifecycle.related import with_related
from helix_query.recall.routing.route import names_in
from helix_shared.artifacts.lexicon.analysis import stems

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.candidates import Candidates, Route
    from helix_query.recall.context import RecallContext


def expand(
    context: RecallContext, candidates: Candidates, vector: NDArray[np.float32], route: Route
) -> Candidates:
    """Stage 5: the candidates with graph mass, those that only the graph found, and what relates them."""
    walked = _walked(context, candidates, vector, route)
    cosines = partial(context.generation.signals.cosines, vector)
    return with_related(context, walked, cosines, past=route.past_question)


def _walked(
    context: RecallContext, candidates: Candidates, vector: NDArray[np.float32], route: Route
) -> Candidates:
    query, generation = context.query, context.generation
    constants, multi_hop = context.profile.expand, Intent.MULTI_HOP in route.intents
    walks_always = constants.graph_candidates_single_hop or context.profile.rank.weighs_graph_single_hop
    if not constants.enabled or query.mode == "dense" or not (multi_hop or walks_always):
        return candidates
    named = context.snapshot.named_nodes(query.selection.tenant_id, names_in(query.text))
    expanded = with_graph_mass(
        candidates,
        named,
        GraphWalk(generation.graph, constants),
        memories=generation.graph.memories,
        cosines=partial(generation.signals.cosines, vector),
        visible=context.visibility.is_visible,
        graph_candidates=constants.candidates_for(multi_hop=multi_hop),
        bridge=partial(_bridge, context, named) if multi_hop else None,
    )
    for missing in expanded.degraded:
        RECALL_DEGRADED.labels(missing).inc()
    return expanded


def _bridge(
    context: RecallContext, named: NDArray[np.int64], evidence: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Nodes of the entities that the texts of `evidence` point to, and how strongly."""
    generation, tenant = context.generation, context.query.selection.tenant_id
    found = bridges(
        context.query.text,
        generation.graph.entity_names(named),
        [(line["title"], line["text"]) for line in generation.signals.records(evidence)],
        stems=stems,
    )
    nodes = [
        (int(node), worth)
        for name, worth in found.items()
        for node in context.snapshot.named_nodes(tenant, (name,))
    ]
    return np.array([node for node, _ in nodes], np.int64), np.array([worth for _, worth in nodes])
