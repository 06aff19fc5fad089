"""`helix status --deep` measures every shard, and names one that it could not."""

from __future__ import annotations

from pathlib import Path

import pytest

from helix_cli.clients.deep_check import check_deep
from helix_cli.commands.common.lines.deep import deep_lines
from helix_consolidation.stores.shard import Shard
from helix_shared.artifacts.generation.folders import CURRENT
from helix_shared.errors import CorruptArtifactError, NotFoundError
from tests.unit.consolidation.conftest import Bench, Stream, row


def shard_with(folder: Path, tenant: str, memories: int) -> Path:
    """A data folder with a generation of so many memories of a tenant."""
    bench = Bench(folder, Shard.open(folder, maintain_every=64))
    stream = Stream()
    for n in range(1, memories + 1):
        said = row(tenant, f"e{n}", n, f"The key number {n} is under the pot")
        bench.apply(stream.memories(tenant, f"e{n}", n, [said]))
    bench.publish()
    bench.shard.close()
    return folder


def test_every_shard_is_measured(tmp_path: Path) -> None:
    """Each by its own number, in the lines and in the record."""
    folders = [shard_with(tmp_path / "data", "acme", 3), shard_with(tmp_path / "one", "other", 5)]
    measured = check_deep(folders, tmp_path / "models", None)
    sizes = [one.dense.rows for one in measured.shards if one.dense is not None]
    channels = [one.dense_channel.memories for one in measured.shards if one.dense_channel is not None]
    assert ([one.shard for one in measured.shards], sizes, channels) == ([0, 1], [3, 5], [3, 5])
    assert [one.generation for one in measured.shards] == [1, 1]
    lines = deep_lines(measured)
    assert ("shard 0\n" in lines, "shard 1\n" in lines) == (True, True)
    alone = check_deep(folders[:1], tmp_path / "models", None)
    assert "shard 0" not in deep_lines(alone)
    assert "--tenant" in alone.graph_problem


def test_a_shard_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    """Without any generation, or with the only one damaged, the command fails."""
    whole, damaged = shard_with(tmp_path / "data", "acme", 2), shard_with(tmp_path / "one", "acme", 2)
    next((damaged / "generations").glob("*/manifest.json")).write_text("rubbish")
    measured = check_deep([whole, damaged, tmp_path / "nothing"], tmp_path / "models", None)
    assert [bool(one.problem) for one in measured.shards] == [False, True, True]
    assert deep_lines(measured).count("not measured") == 2
    with pytest.raises(CorruptArtifactError):
        check_deep([damaged], tmp_path / "models", None)
    (whole / CURRENT).unlink()
    with pytest.raises(NotFoundError, match="--data"):
        check_deep([whole, tmp_path / "nothing"], tmp_path / "models", None)
