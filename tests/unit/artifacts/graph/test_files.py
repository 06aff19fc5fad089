"""The files of the graph: compactions, restarts, damage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helix_shared.artifacts.graph.builder import LEAST_FOLDED, GraphBuilder
from helix_shared.artifacts.graph.compaction import compact
from helix_shared.artifacts.graph.snapshot import GraphSnapshot
from helix_shared.errors import CorruptArtifactError

from .graphs import MEMORIES, edges_of, files, mention, snapshot


def test_a_written_snapshot_does_not_change(tmp_path: Path) -> None:
    """Later statements, removals and compactions do not change a snapshot."""
    builder = GraphBuilder.empty()
    builder.set_links(0, "acme", [mention("ann"), mention("bob")])
    builder.relate(1, 0, "UPDATES", 1.0)
    builder.compact(tmp_path / "base", memories=MEMORIES)
    builder.set_links(2, "acme", [mention("ann")])
    old = snapshot(builder, tmp_path / "old")
    expected, contents = edges_of(old), {path: path.read_bytes() for path in files(tmp_path / "old")}
    builder.remove(0)
    builder.set_links(2, "acme", [mention("cyd")])
    new = GraphSnapshot.open(tmp_path / "old", previous=old.base)
    assert new.base is old.base
    builder.compact(tmp_path / "next", memories=MEMORIES)
    snapshot(builder, tmp_path / "new")
    assert edges_of(old) == edges_of(GraphSnapshot.open(tmp_path / "old")) == expected
    assert contents == {path: path.read_bytes() for path in files(tmp_path / "old")}


def test_a_compaction_removes_entities_without_links(tmp_path: Path) -> None:
    """An entity is not found after its last link is removed; compaction removes it from its files."""
    builder = GraphBuilder.empty()
    builder.set_links(0, "acme", [mention("secret"), mention("kept")])
    builder.set_links(1, "acme", [mention("kept")])
    builder.compact(tmp_path / "base", memories=2)
    builder.remove(0)
    graph = snapshot(builder, tmp_path / "g", memories=2)
    assert (graph.entity_nodes("acme", ["secret"]).tolist(), graph.entities, graph.edge_count) == ([], 1, 2)
    builder.compact(tmp_path / "again", memories=2)
    snapshot(builder, tmp_path / "whole", memories=2)
    assert not any(b"secret" in path.read_bytes().lower() for path in files(tmp_path / "whole"))


def test_a_compaction_is_due_when_the_delta_is_large(tmp_path: Path) -> None:
    """A compaction is due while the delta is large and no compaction is running."""
    builder = GraphBuilder.empty()
    names = [mention(f"e{number}") for number in range(LEAST_FOLDED // 2)]
    builder.set_links(0, "acme", names)
    assert not builder.is_compaction_due
    builder.set_links(1, "acme", names[:1])
    assert builder.is_compaction_due
    builder.begin_compaction()
    assert not builder.is_compaction_due
    builder.end_compaction(compact(snapshot(builder, tmp_path / "g"), tmp_path / "base"), tmp_path / "base")
    assert not builder.is_compaction_due


def test_a_restart_writes_the_same_files(tmp_path: Path) -> None:
    """A snapshot that is loaded and written again has the same bytes."""
    builder = GraphBuilder.empty()
    for ordinal in range(MEMORIES):
        builder.set_links(ordinal, f"t{ordinal % 2}", [mention(f"e{ordinal % 4}"), mention("hub")])
    builder.relate(3, 1, "UPDATES", 1.0)
    builder.compact(tmp_path / "base", memories=MEMORIES)
    builder.set_links(2, "t0", [mention("e1"), mention("young")])
    builder.relate(3, 1, "UPDATES", 2.0)
    builder.write(tmp_path / "first", memories=MEMORIES)
    GraphBuilder.load(tmp_path / "first").write(tmp_path / "second", memories=MEMORIES)
    for path in files(tmp_path / "first"):
        other = tmp_path / "second" / path.relative_to(tmp_path / "first")
        assert path.read_bytes() == other.read_bytes(), path.name


def test_files_that_do_not_fit_together_are_corrupt(tmp_path: Path) -> None:
    """A missing file, another dtype and another length are refused."""
    builder = GraphBuilder.empty()
    builder.set_links(0, "acme", [mention("ann")])
    builder.compact(tmp_path / "first", memories=1)
    builder.set_links(1, "acme", [mention("ann")])
    builder.write(tmp_path / "g", memories=2)
    delta, weights = tmp_path / "g" / "delta.arrow", tmp_path / "g" / "base" / "weights.npy"
    whole = weights.read_bytes()
    weights.unlink()
    for damaged in (np.ones(2, np.float64), np.ones(3, np.float32)):
        np.save(weights, damaged)
        with pytest.raises(CorruptArtifactError):
            GraphSnapshot.open(tmp_path / "g")
    weights.write_bytes(whole)
    GraphSnapshot.open(tmp_path / "g")
    snapshot(GraphBuilder.empty(), tmp_path / "other")
    for damaged_delta in ((tmp_path / "other" / "delta.arrow").read_bytes(), b"", delta.read_bytes()[:-9]):
        delta.write_bytes(damaged_delta)
        with pytest.raises(CorruptArtifactError):
            GraphSnapshot.open(tmp_path / "g")
    delta.unlink()
    with pytest.raises(CorruptArtifactError):
        GraphSnapshot.open(tmp_path / "g")
