"""Recall of vector search in the data folder of this machine, for `helix status --deep`.

Imports the engines, so it is imported only when it is needed.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from helix_query.diagnostics.dense_check import ChannelRecall, channel_recall, largest_tenant
from helix_query.diagnostics.index_recall import DenseRecall, dense_recall
from helix_shared.artifacts.generation.folders import current_number
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.errors import NotFoundError


@dataclass(frozen=True, slots=True)
class VectorCheck:
    """Recall of vector search against exact search, measured on a generation."""

    dense: DenseRecall
    """Of the vector index, for all memories."""
    dense_channel: ChannelRecall | None
    """Of the dense channel, for the largest tenant; None where no tenant has a memory."""


def check_vectors(root: Path) -> VectorCheck:
    """Measure vector search in the newest generation in `root`.

    Raises:
        NotFoundError: there is no generation.
        CorruptArtifactError: it cannot be read.
    """
    number = current_number(root)
    if number is None:
        raise NotFoundError(f"no generation in {root}: give the data folder with --data")
    with contextlib.closing(Generation.open(root, number)) as generation:
        tenant = largest_tenant(generation.signals)
        return VectorCheck(
            dense_recall(generation.vectors, generation.signals),
            None if tenant is None else channel_recall(generation, tenant),
        )
