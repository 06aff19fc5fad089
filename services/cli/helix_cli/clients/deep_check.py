"""What `helix status --deep` measures in the data folder of this machine: vector search, and the graph.

Imports the engines, so it is imported only when it is needed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
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
from helix_shared.errors import CorruptArtifactError, NotFoundError


@dataclass(frozen=True, slots=True)
class ShardCheck:
    """Measurements of vector search on the generation of a shard; all None where they were not possible."""

    shard: int
    generation: int = 0
    dense: IndexRecall | None = None
    """Of the vector index, for all memories."""
    dense_channel: ChannelRecall | None = None
    """Of the dense channel, for the largest tenant; None where no tenant has a memory."""
    problem: str = ""
    """Why nothing was measured."""


@dataclass(frozen=True, slots=True)
class DeepCheck:
    """Measurements on the newest generation of each shard."""

    shards: Sequence[ShardCheck]
    graph: GraphCheck | None
    """Whether the graph pays for the caller, with the default ranking profile."""
    graph_problem: str = ""
    """Why the graph was not measured."""


def check_deep(folders: Sequence[Path], models: Path, caller: Selection | None) -> DeepCheck:
    """Measure the newest generation of each data folder; the graph for `caller`, with a model under `models`.

    Raises:
        NotFoundError: there is no generation in any of them.
        CorruptArtifactError: the generation of the only one cannot be read.
    """
    numbers = [current_number(folder) for folder in folders]
    if not any(numbers):
        raise NotFoundError(f"no generation in {folders[0]}: give the data folder with --data")
    shards, graph, problem = list[ShardCheck](), None, ""
    for shard, (folder, number) in enumerate(zip(folders, numbers, strict=True)):
        if number is None:
            shards.append(ShardCheck(shard, problem=f"no generation in {folder}"))
            continue
        try:
            with contextlib.closing(Generation.open(folder, number)) as generation:
                shards.append(_dense(shard, generation))
                if caller is None or len(folders) == 1 or generation.place.owns(caller.tenant_id):
                    graph, problem = _graph(generation, models, caller)
        except CorruptArtifactError as error:
            if len(folders) == 1:
                raise
            shards.append(ShardCheck(shard, number, problem=str(error)))
    if graph is None and not problem:
        problem = "no shard that could be read has the tenant"
    return DeepCheck(shards, graph, problem)


def _dense(shard: int, generation: Generation) -> ShardCheck:
    tenant = largest_tenant(generation.signals)
    return ShardCheck(
        shard,
        generation.manifest.generation,
        index_recall(generation.vectors, generation.signals),
        None if tenant is None else channel_recall(generation, tenant),
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
