"""Work beside the writer: its result once, and no trace of it when nobody wants it any more."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from helix_shared.artifacts.files.background_task import BackgroundTask
from helix_shared.artifacts.generation.live_stores import Live
from helix_shared.artifacts.generation.publishing import publish
from helix_shared.artifacts.graph import builder
from helix_shared.artifacts.graph.snapshot import Link


def test_a_result_is_given_once() -> None:
    """There is none before the work is done, and none after it was asked for."""
    errand: BackgroundTask[int] = BackgroundTask()
    assert errand.finished(wait=True) is None
    errand.start(lambda: 7)
    assert errand.is_under_way
    assert errand.finished(wait=True) == 7
    assert (errand.is_under_way, errand.finished()) == (False, None)


@pytest.mark.parametrize("is_done_before", [True, False])
def test_dropped_work_removes_its_traces(*, is_done_before: bool) -> None:
    """Whether it is done before it is dropped or after; its result is nobody's."""
    errand: BackgroundTask[None] = BackgroundTask()
    go_on, done, removed = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        go_on.wait(10)
        done.set()

    errand.start(work)
    if is_done_before:
        go_on.set()
        assert done.wait(10)
    errand.drop(tidy_up=lambda: removed.set() if done.is_set() else None)
    assert not errand.is_under_way
    go_on.set()
    assert removed.wait(10)


def test_a_dropped_fold_of_the_graph_leaves_no_folder(
    live: Live,
    records: Callable[[list[dict[str, Any]]], pa.Table],
    fill: Callable[[Live, pa.Table], None],
    manifest_of: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An erasure writes the base anew at once; what a fold under way had written of it goes too."""
    monkeypatch.setattr(builder, "LEAST_FOLDED", 0)
    fill(live, records([{} for _ in range(3)]))
    live.graph.set_links(0, "acme", [Link("MENTIONS", "name", "ann", "Ann", 1.0)])
    publish(tmp_path / "data", live, manifest_of(live, 1))
    assert live.folding.is_under_way
    threads = [thread for thread in threading.enumerate() if thread.name == "errand"]
    live.fold_graph_now()
    for thread in threads:
        thread.join(10)
    assert live.graph.base_folder is not None
    assert list(live.folder.glob("graph-base-*")) == [live.graph.base_folder]
