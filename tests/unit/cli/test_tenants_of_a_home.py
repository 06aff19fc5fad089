"""Which shard a data folder is of, while its writer publishes and retires."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from helix_cli.home import tenants
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
from helix_shared.artifacts.generation.reader import place_of
from helix_shared.shard_map import SHARD_FILE, ShardMap, ShardPlace

PLACES = [ShardPlace(shard=1, map=ShardMap(shards=2, starts=(0, 0), moved={"acme": n})) for n in (3, 9)]


def _published(data: Path, number: int, place: ShardPlace) -> None:
    folder, body = folder_of(data, number), place.encoded()
    folder.mkdir(parents=True)
    (folder / SHARD_FILE).write_bytes(body)
    manifest = Manifest(
        generation=number,
        parent=number - 1,
        epoch=1,
        published_at=datetime.now(UTC),
        stream=StreamState(name="HELIX_EVENTS"),
        counts=Counts(),
        digest="0" * 16,
        model=ModelIdentity(name="test", checksum="0" * 64, dimensions=8),
        files=(FileEntry(path=SHARD_FILE, size=len(body), sha256="0" * 64),),
    )
    (folder / MANIFEST_NAME).write_bytes(manifest.sealed())
    set_pointer(data, number)


@pytest.mark.parametrize("is_before_the_manifest", [True, False])
def test_a_generation_that_goes_while_it_is_read_gives_way_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_before_the_manifest: bool
) -> None:
    """A moved tenant lets older generations go at once; `helix shards move` failed after the switch."""
    _published(tmp_path, 1, PLACES[0])

    def replaced() -> None:
        if folder_of(tmp_path, 1).exists():
            _published(tmp_path, 2, PLACES[1])
            shutil.rmtree(folder_of(tmp_path, 1))

    class Late(Manifest):
        @classmethod
        def read(cls, folder: Path) -> Manifest:
            if is_before_the_manifest:
                replaced()
            return Manifest.read(folder)

    def late(folder: Path, manifest: Manifest) -> ShardPlace:
        replaced()
        return place_of(folder, manifest)

    monkeypatch.setattr(tenants, "Manifest", Late)
    monkeypatch.setattr(tenants, "place_of", late)
    assert tenants.place_in(tmp_path) == PLACES[1]


def test_a_generation_that_is_current_and_damaged_is_an_error(tmp_path: Path) -> None:
    """Nothing replaces it."""
    _published(tmp_path, 1, PLACES[0])
    (folder_of(tmp_path, 1) / SHARD_FILE).unlink()
    with pytest.raises(FileNotFoundError):
        tenants.place_in(tmp_path)
