from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

from helix_lab.query_adapter.command import adapter_command
from helix_lab.sets.data import EvaluationSet
from helix_memory.sharding import hashed_shard
from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.artifacts.generation.manifest import (
    MANIFEST_NAME,
    Counts,
    FileEntry,
    Manifest,
    ModelIdentity,
    StreamState,
)
from helix_shared.artifacts.generation.publishing import set_pointer
from helix_shared.encoders.model import read_card
from helix_shared.encoders.query_adapter import QueryAdapter
from helix_shared.encoders.store import default_model
from helix_shared.shard_map import SHARD_FILE, ShardMap, ShardPlace, folder_of_shard


@pytest.mark.long
@pytest.mark.usefixtures("own_home")
def test_the_command_writes_an_adapter_for_the_default_model(
    make_set: Callable[..., EvaluationSet],
    run_command: Callable[..., Result],
    tmp_path: Path,
    models_dir: Path,
) -> None:
    """Fitted to one set, judged by another."""
    make_set("mine", turns=150, notes=150)
    make_set("other", turns=8, notes=8)
    out = tmp_path / "adapter.npz"
    result = run_command(
        adapter_command, "--data", tmp_path / "sets", "--sets", "mine", "--judged", "other", "--out", out
    )
    assert result.exit_code == 0
    assert "held out" in result.stdout
    adapter = QueryAdapter.load(out)
    assert adapter.encoder == read_card(default_model(models_dir)).encoder_checksum
    assert np.isfinite(adapter.of_vector).all()
    assert adapter.of_vector.any()


def published(data: Path, place: ShardPlace) -> None:
    """A generation of a shard: nothing but its manifest, and which tenants are its own."""
    folder, body = folder_of(data, 1), place.encoded()
    folder.mkdir(parents=True)
    (folder / SHARD_FILE).write_bytes(body)
    manifest = Manifest(
        generation=1,
        parent=0,
        epoch=1,
        published_at=datetime.now(UTC),
        stream=StreamState(name="HELIX_EVENTS"),
        counts=Counts(),
        digest="0" * 16,
        model=ModelIdentity(name="test", checksum="0" * 64, dimensions=8),
        files=(FileEntry(path=SHARD_FILE, size=len(body), sha256="0" * 64),),
    )
    (folder / MANIFEST_NAME).write_bytes(manifest.sealed())
    set_pointer(data, 1)


def test_the_adapter_of_a_tenant_lies_in_its_shard(
    run_command: Callable[..., Result], tmp_path: Path
) -> None:
    """The query service of the shard looks there."""
    tenant = next(name for name in map(str, range(99)) if hashed_shard(name, 2) == 1)
    shards = ShardMap(shards=2, starts=(0, 0))
    for shard in range(2):
        published(folder_of_shard(tmp_path / "data", shard), ShardPlace(shard=shard, map=shards))
    own = folder_of_shard(tmp_path / "data", 1) / "adapters" / tenant
    own.mkdir(parents=True)
    (own / "card.json").write_text("{}")
    asked = ("--from-feedback", "--remove", "--tenant", tenant, "--home", tmp_path)
    assert f"{tenant}: removed" in run_command(adapter_command, *asked).stdout
    assert not own.exists()
