"""What `helix status --deep` measures in the data folder of this machine: vector search, and the graph.

Imports the engines, so it is imported only when it is needed.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from helix_query.diagnostics.dense_check import ChannelRecall, channel_recall, largest_tenant
from helix_query.diagnostics.graph_check import GraphCheck, check_graph
from helix_query.diagnostics.index_recall import IndexRecall, index_recall
from helix_query.generations.installed_model import installed_encoder
from helix_query.generations.snapshot import Snapshot
from helix_query.profile.files import load_profiles
from helix_query.profile.profile import DEFAULT_PROFILE
from helix_query.recall.routing.centroids import centroids_of
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.generation.folders import current_number
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.errors import NotFoundError


@dataclass(frozen=True, slots=True)
class DeepCheck:
    """Measurements on a generation."""

    dense: IndexRecall
    """Of the vector index, for all memories."""
    dense_channel: ChannelRecall | None
    """Of the dense channel, for the largest tenant; None where no tenant has a memory."""
    graph: GraphCheck | None
    """Whether the graph pays for the caller, with the default ranking profile."""
    graph_problem: str = ""
    """Why the graph was not measured."""


def check_deep(root: Path, models: Path, caller: Selection | None) -> DeepCheck:
    """Measure the newest generation in `root`; the graph for `caller`, with a model under `models`.

    Raises:
        NotFoundError: there is no generation.
        CorruptArtifactError: it cannot be read.
    """
    number = current_number(root)
    if number is None:
        raise NotFoundError(f"no generation in {root}: give the data folder with --data")
    with contextlib.closing(Generation.open(root, number)) as generation:
        tenant = largest_tenant(generation.signals)
        return DeepCheck(
            index_recall(generation.vectors, generation.signals),
            None if tenant is None else channel_recall(generation, tenant),
            *_graph(generation, models, caller),
        )


def _graph(generation: Generation, models: Path, caller: Selection | None) -> tuple[GraphCheck | None, str]:
    if caller is None:
        return None, "name a tenant with --tenant to measure whether the graph pays for it"
    try:
        encoder = installed_encoder(generation.manifest, models)
    except NotFoundError as error:
        return None, f"{error}; name the folder with --models"
    with encoder:
        snapshot = Snapshot(generation, encoder, centroids_of(encoder))
        return check_graph(snapshot, load_profiles()[DEFAULT_PROFILE], caller), ""
