"""The live stores: compactions of the graph in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from helix_shared.artifacts.files.background_task import THREAD_NAME
from helix_shared.artifacts.generation.live_stores import Live
from helix_shared.artifacts.generation.publishing import publish
from helix_shared.artifacts.graph import builder
from helix_shared.artifacts.graph.snapshot import Link


def test_a_dropped_compaction_of_the_graph_leaves_no_folder(
    live: Live,
    records: Callable[[list[dict[str, Any]]], pa.Table],
    fill: Callable[[Live, pa.Table], None],
    manifest_of: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An erasure compacts at once and drops the compaction in the background, whose files are removed."""
    monkeypatch.setattr(builder, "LEAST_FOLDED", 0)
    fill(live, records([{} for _ in range(3)]))
    live.graph.set_links(0, "acme", [Link("MENTIONS", "name", "ann", "Ann", 1.0)])
    publish(tmp_path / "data", live, manifest_of(live, 1))
    assert live.compacting.is_running
    threads = [thread for thread in threading.enumerate() if thread.name == THREAD_NAME]
    live.compact_graph_now()
    for thread in threads:
        thread.join(10)
    assert live.graph.base_folder is not None
    assert list(live.folder.glob("graph-base-*")) == [live.graph.base_folder]
