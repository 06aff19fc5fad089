"""A data folder, and a generation in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.generation.live_stores import Live
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.artifacts.generation.publishing import publish
from helix_shared.artifacts.graph.snapshot import Link

Records = Callable[[list[dict[str, Any]]], pa.Table]
Fill = Callable[[Live, pa.Table], None]
ManifestOf = Callable[..., Manifest]
ACME = Selection("acme")
QUERY = np.ones(8, np.float32)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The data folder."""
    return tmp_path / "data"


@pytest.fixture
def published(root: Path, live: Live, records: Records, fill: Fill, manifest_of: ManifestOf) -> Manifest:
    """Generation 1, with a few memories."""
    fill(live, records([{"text": f"word {index}"} for index in range(4)]))
    live.graph.set_links(0, "acme", [Link("MENTIONS", "name", "ann", "Ann", 1.0)])
    return publish(root, live, manifest_of(live, 1))
