"""The replica's side: a generation is whole and verified before it is current."""

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.generation.folders import current_number, folder_of, published_numbers
from helix_shared.artifacts.generation.integrity import verify
from helix_shared.artifacts.generation.live_stores import Live
from helix_shared.artifacts.generation.manifest import MANIFEST_NAME, Manifest
from helix_shared.artifacts.generation.publishing import publish
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.artifacts.object_storage.cloud_store import CloudStore
from helix_shared.artifacts.object_storage.layout import PARTS, POINTER, part_path
from helix_shared.artifacts.object_storage.pulling import Puller
from helix_shared.artifacts.object_storage.store import ObjectStore
from helix_shared.artifacts.object_storage.uploading import Uploader
from helix_shared.errors import CorruptArtifactError

Publish = Callable[..., Manifest]
Damage = Callable[[Path], None]


@pytest.fixture
def uploader(store: ObjectStore, root: Path) -> Uploader:
    """The uploader of the writer."""
    return Uploader(store, root, grace_seconds=86_400.0)


@pytest.fixture
def replica(tmp_path: Path) -> Path:
    """The data folder of the replica."""
    return tmp_path / "replica"


def _tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_pulled_generation_is_the_one_of_the_writer(
    store: ObjectStore, root: Path, replica: Path, published: Publish, uploader: Uploader
) -> None:
    """Every byte, the manifest included; the next one downloads its new parts alone."""
    puller = Puller(store, replica)
    assert puller.pull() is None
    for number in (1, 2):
        manifest = published()
        uploaded, pulled = uploader.upload(), puller.pull()
        assert uploaded is not None
        assert pulled is not None
        assert (pulled.manifest, pulled.bytes) == (manifest, uploaded.bytes)
        assert current_number(replica) == number
        assert _tree(folder_of(replica, number)) == _tree(folder_of(root, number))
        assert verify(folder_of(replica, number), verified=set()) == manifest
    assert puller.pull() is None


def test_the_engines_open_a_pulled_generation(
    store: ObjectStore,
    root: Path,
    replica: Path,
    uploader: Uploader,
    live: Live,
    fill: Callable[[Live, pa.Table], None],
    records: Callable[[list[dict[str, Any]]], pa.Table],
    manifest_of: Callable[..., Manifest],
) -> None:
    """Published by the writer's own code, with vectors, lexicon, graph and signals."""
    fill(live, records([{"text": "tea"}, {"text": "coffee"}]))
    manifest = publish(root, live, manifest_of(live, 1))
    uploader.upload()
    Puller(store, replica).pull()
    assert verify(folder_of(replica, 1), verified=set()) == manifest
    opened = Generation.open(replica, 1)
    assert opened.lexicon.search("coffee", Selection("acme"), limit=3).ordinals.tolist() == [1]
    assert sorted(
        opened.vectors.search(np.ones(8, np.float32), Selection("acme"), limit=3).ordinals.tolist()
    ) == [0, 1]
    opened.close()


def _flip(part: Path) -> None:
    body = bytearray(part.read_bytes())
    body[len(body) // 2] ^= 1
    part.write_bytes(body)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (_flip, "part is damaged"),
        (lambda part: os.truncate(part, part.stat().st_size - 1), "part is truncated"),
        (Path.unlink, "part is missing"),
    ],
    ids=["damaged", "truncated", "missing"],
)
def test_a_bad_part_is_refused_until_it_is_uploaded_again(
    store: ObjectStore,
    replica: Path,
    published: Publish,
    uploader: Uploader,
    damage: Damage,
    reason: str,
    tmp_path: Path,
) -> None:
    """The last good generation stays current, and the error names the part and its file."""
    puller = Puller(store, replica)
    first = published()
    uploader.upload()
    puller.pull()
    second = published()
    uploader.upload()
    new = max({e.sha256: e for e in second.files}.keys() - {e.sha256 for e in first.files})
    entry = next(entry for entry in second.files if entry.sha256 == new)
    damage(tmp_path / "objects" / part_path(new))
    for _ in range(2):
        with pytest.raises(CorruptArtifactError, match=rf"{reason}.*{new}.*{entry.path} of generation 2"):
            puller.pull()
        assert (current_number(replica), published_numbers(replica)) == (1, [1])
    assert uploader.restore_parts([new]) == 1
    pulled = puller.pull()
    assert pulled is not None
    assert pulled.bytes == entry.size  # the good parts were kept
    assert verify(folder_of(replica, 2), verified=set()) == second


@pytest.mark.parametrize("path", ["manifest", "pointer"])
def test_a_bad_manifest_or_pointer_is_refused(
    store: ObjectStore, replica: Path, published: Publish, uploader: Uploader, tmp_path: Path, path: str
) -> None:
    """Their checksums and forms are compared, too."""
    puller = Puller(store, replica)
    published()
    uploader.upload()
    puller.pull()
    published()
    uploader.upload()
    wanted = POINTER if path == "pointer" else f"manifests/{1:012d}-{2:012d}.json"
    _flip(tmp_path / "objects" / wanted)
    with pytest.raises(CorruptArtifactError, match=r"damaged|checksum"):
        puller.pull()
    assert current_number(replica) == 1


def test_a_new_replica_takes_the_last_good_generation(
    store: ObjectStore, replica: Path, published: Publish, uploader: Uploader, tmp_path: Path
) -> None:
    """It has nothing else to serve while the newest is damaged."""
    first = {entry.sha256 for entry in published().files}
    uploader.upload()
    second = {entry.sha256 for entry in published().files}
    uploader.upload()
    _flip(tmp_path / "objects" / part_path(max(second - first)))
    with pytest.raises(CorruptArtifactError, match="part is damaged"):
        Puller(store, replica).pull()
    assert current_number(replica) == 1
    verify(folder_of(replica, 1), verified=set())


def test_a_pointer_that_goes_back_is_refused(
    store: ObjectStore, replica: Path, published: Publish, uploader: Uploader
) -> None:
    """Neither epoch nor number of what is served ever decreases."""
    puller = Puller(store, replica)
    published()
    uploader.upload()
    older = store.read(POINTER)
    assert older is not None
    published()
    uploader.upload()
    puller.pull()
    store.delete([POINTER])
    store.create(POINTER, older.body)
    for one in (puller, Puller(store, replica)):
        with pytest.raises(CorruptArtifactError, match="went back to generation 1"):
            one.pull()
    assert current_number(replica) == 2


def test_a_replica_keeps_the_parts_of_what_it_serves(
    store: ObjectStore, replica: Path, published: Publish, uploader: Uploader
) -> None:
    """A part without another link is removed with the last generation that had it."""
    puller = Puller(store, replica)
    manifests = []
    for _ in range(3):
        manifests.append(published())
        uploader.upload()
        puller.pull()
    puller.retire(keep={2, 3})
    kept = {entry.sha256 for manifest in manifests[1:] for entry in manifest.files}
    assert published_numbers(replica) == [3, 2]
    assert {part.name for part in (replica / PARTS).glob("*/*")} == kept
    verify(folder_of(replica, 3), verified=set())


def test_a_part_that_was_damaged_on_this_disk_is_pulled_again(
    store: ObjectStore, replica: Path, published: Publish, uploader: Uploader
) -> None:
    """Its size tells nothing, so all parts are hashed; the good ones stay."""
    manifest = published()
    uploader.upload()
    puller = Puller(store, replica)
    puller.pull()
    assert not puller.repair()
    entry = max(manifest.files, key=lambda one: one.size)
    _flip(replica / part_path(entry.sha256))
    with pytest.raises(CorruptArtifactError, match="another checksum"):
        verify(folder_of(replica, 1), verified=set())
    assert puller.repair()
    pulled = puller.pull()
    assert pulled is not None
    assert pulled.bytes == entry.size
    assert verify(folder_of(replica, 1), verified=set()) == manifest


def _unlink_both(part: Path, link: Path) -> None:
    part.unlink()
    link.unlink()


@pytest.mark.parametrize("is_started_again", [False, True], ids=["running", "started again"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda part, _: os.truncate(part, part.stat().st_size - 1),
        lambda _, link: link.unlink(),
        _unlink_both,
        lambda _, link: (link.parent / "foreign").write_bytes(b"x"),
    ],
    ids=["cut", "without its link", "missing", "beside a foreign file"],
)
def test_what_was_lost_on_this_disk_is_made_again(
    store: ObjectStore,
    replica: Path,
    published: Publish,
    uploader: Uploader,
    damage: Callable[[Path, Path], object],
    *,
    is_started_again: bool,
) -> None:
    """The pointer did not change since, so nothing else would look at it."""
    manifest = published()
    uploader.upload()
    puller = Puller(store, replica)
    puller.pull()
    entry = max(manifest.files, key=lambda one: one.size)
    damage(replica / part_path(entry.sha256), folder_of(replica, 1) / entry.path)
    if is_started_again:
        puller = Puller(store, replica)
    assert puller.repair()
    pulled = puller.pull()
    assert pulled is not None
    assert pulled.bytes <= entry.size
    assert verify(folder_of(replica, 1), verified=set()) == manifest
    assert not puller.repair()


def test_a_manifest_that_was_damaged_on_this_disk_is_pulled_again(
    store: ObjectStore, replica: Path, published: Publish, uploader: Uploader
) -> None:
    """No part is downloaded for it."""
    manifest = published()
    uploader.upload()
    puller = Puller(store, replica)
    puller.pull()
    _flip(folder_of(replica, 1) / MANIFEST_NAME)
    assert puller.repair()
    pulled = puller.pull()
    assert pulled is not None
    assert (pulled.manifest, pulled.bytes) == (manifest, 0)
    assert verify(folder_of(replica, 1), verified=set()) == manifest


def test_a_crash_leaves_no_half_part(
    store: ObjectStore, replica: Path, published: Publish, uploader: Uploader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A download has another name until it is verified."""
    manifest = published()
    uploader.upload()
    puller, download = Puller(store, replica), CloudStore.download

    def killed(self: ObjectStore, path: str, target: Path, *, size: int) -> str:
        download(self, path, target, size=size)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(CloudStore, "download", killed)
        with pytest.raises(KeyboardInterrupt):
            puller.pull()
    assert current_number(replica) is None
    assert Puller(store, replica).pull() is not None
    assert not [path for path in (replica / PARTS).glob("*/*") if len(path.name) != 64]
    assert (folder_of(replica, 1) / MANIFEST_NAME).is_file()
    assert verify(folder_of(replica, 1), verified=set()) == manifest


@pytest.mark.long
@pytest.mark.timeout(1_200)
def test_of_a_thousand_bad_objects_none_is_served(
    store: ObjectStore, replica: Path, published: Publish, uploader: Uploader, tmp_path: Path
) -> None:
    """A hundred generations of which ten objects each are damaged, truncated or missing, and come again."""
    damages: list[Damage] = [_flip, lambda part: os.truncate(part, part.stat().st_size // 2), Path.unlink]
    puller, choose, refused = Puller(store, replica), random.Random(94), 0
    published()
    uploader.upload()
    puller.pull()
    before = {path.name for path in (replica / PARTS).glob("*/*")}
    for number in range(2, 102):
        manifest = published(files=9)
        uploader.upload()
        bad = sorted({entry.sha256 for entry in manifest.files} - before)
        assert len(bad) == 10
        for sha256 in bad:
            choose.choice(damages)(tmp_path / "objects" / part_path(sha256))
        for sha256 in bad:
            with pytest.raises(CorruptArtifactError, match=r"part is (damaged|truncated|missing)"):
                puller.pull()
            refused += 1
            assert current_number(replica) == number - 1
            uploader.restore_parts([sha256])
        assert puller.pull() is not None
        assert verify(folder_of(replica, number), verified=set()) == manifest
        before |= set(bad)
        puller.retire(keep={number})
    assert refused == 1_000
