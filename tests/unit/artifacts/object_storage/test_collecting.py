"""What is removed from object storage, and what never is."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.artifacts.object_storage.collecting import CollectionResult, Collector
from helix_shared.artifacts.object_storage.layout import MANIFESTS, PARTS, part_path
from helix_shared.artifacts.object_storage.pulling import Puller
from helix_shared.artifacts.object_storage.remote import read_manifest, read_pointer
from helix_shared.artifacts.object_storage.store import ObjectStore
from helix_shared.artifacts.object_storage.uploading import Uploader
from helix_shared.errors import CorruptArtifactError

Publish = Callable[..., Manifest]
GRACE = 600.0


@pytest.fixture
def uploader(store: ObjectStore, root: Path) -> Uploader:
    """The uploader of the writer."""
    return Uploader(store, root, grace_seconds=GRACE)


def _collect(store: ObjectStore, *, keep: int = 1, erased_before: int = 0) -> CollectionResult:
    pointer = read_pointer(store)
    assert pointer is not None
    pointed = read_manifest(store, pointer[0].position)
    found = Collector(store, keep=keep, grace_seconds=GRACE).collect(pointed, erased_before=erased_before)
    assert found is not None
    return found


def _age(tmp_path: Path, paths: list[Path] | None = None, *, seconds: float = 2 * GRACE) -> None:
    """Make objects older."""
    for path in paths or [path for path in (tmp_path / "objects").rglob("*") if path.is_file()]:
        os.utime(path, (time.time() - seconds,) * 2)


def _parts(store: ObjectStore) -> set[str]:
    return {one.path.rpartition("/")[2] for one in store.list(PARTS)}


def _names(*manifests: Manifest) -> set[str]:
    return {entry.sha256 for manifest in manifests for entry in manifest.files}


def test_parts_that_only_old_generations_name_are_removed(
    store: ObjectStore, published: Publish, uploader: Uploader, tmp_path: Path
) -> None:
    """The newest generation and the kept ones stay whole, with parts of any age."""
    manifests = []
    for _ in range(4):
        manifests.append(published())
        uploader.upload()
    _age(tmp_path)
    found = _collect(store, keep=2)
    assert (found.manifests, found.oldest, found.missing) == (2, 3, ())
    assert _parts(store) == _names(*manifests[2:])
    assert found.parts == _names(*manifests) - _names(*manifests[2:])
    assert found.parts
    assert [one.path for one in store.list("canary")] == []


def test_what_was_replaced_a_short_time_ago_stays(
    store: ObjectStore, published: Publish, uploader: Uploader, tmp_path: Path
) -> None:
    """A replica may be pulling it, however old it is itself."""
    first = published()
    uploader.upload()
    _age(tmp_path)
    for _ in range(3):
        second = published()
        uploader.upload()
    assert _collect(store).manifests == 0
    assert _names(first, second) <= _parts(store)


def test_a_young_part_without_manifest_stays(
    store: ObjectStore, published: Publish, uploader: Uploader, tmp_path: Path
) -> None:
    """Its upload is under way; one that was given up goes when it is old."""
    published()
    uploader.upload()
    store.create(part_path("a" * 64), b"of an upload that is under way")
    assert not _collect(store).parts
    _age(tmp_path, [tmp_path / "objects" / part_path("a" * 64)])
    assert _collect(store).parts == {"a" * 64}
    assert "a" * 64 not in _parts(store)


UPLOAD = (
    "import sys; from pathlib import Path;"
    "from helix_shared.artifacts.object_storage.opening import open_store;"
    "open_store(sys.argv[1]).upload(sys.argv[2], Path(sys.argv[3]))"
)


@pytest.mark.parametrize("then", ["time passes", "an erasure"])
def test_what_a_killed_upload_left_in_a_folder_is_collected(
    store: ObjectStore, published: Publish, uploader: Uploader, tmp_path: Path, then: str
) -> None:
    """The engine lists no file that it has not given its name yet; it stayed, with its texts."""
    published()
    uploader.upload()
    (tmp_path / "long").touch()
    os.truncate(tmp_path / "long", 1 << 30)
    path = part_path("a" * 64)
    writer = subprocess.Popen([sys.executable, "-c", UPLOAD, store.url, path, str(tmp_path / "long")])
    left = tmp_path / "objects" / f"{path}#1"
    while not (left.is_file() and left.stat().st_size):
        assert writer.poll() is None
    writer.kill()
    writer.wait()
    size = left.stat().st_size
    assert (f"{path}#1", size) in [(one.path, one.size) for one in store.list(PARTS)]
    store.download(f"{path}#1", tmp_path / "copy", size=size)
    assert not _collect(store).parts
    if then == "time passes":
        _age(tmp_path, [left])
    _collect(store, erased_before=1 if then == "an erasure" else 0)
    assert not left.exists()
    assert not _collect(store).missing


def test_an_erasure_removes_older_generations_at_once(
    store: ObjectStore, published: Publish, uploader: Uploader
) -> None:
    """No age protects them, and nothing that the newest names goes."""
    published()
    second = published()
    uploader.upload()
    third = published()
    uploader.upload()
    store.create(part_path("a" * 64), b"of an upload that was interrupted before the erasure")
    found = _collect(store, keep=3, erased_before=3)
    assert (found.manifests, found.oldest) == (1, 3)
    assert _parts(store) == _names(third)
    assert found.parts == _names(second) - _names(third) | {"a" * 64}
    # a part that comes back is not skipped, although it was uploaded a short time ago
    uploader.forget(found.parts)
    assert not found.parts & uploader.fresh


def test_a_writer_that_was_overtaken_collects_nothing(
    store: ObjectStore, published: Publish, uploader: Uploader, tmp_path: Path
) -> None:
    """What it takes for the newest generation is not."""
    published()
    uploader.upload()
    pointer = read_pointer(store)
    assert pointer is not None
    stale = read_manifest(store, pointer[0].position)
    published(epoch=2)
    uploader.upload()
    _age(tmp_path)
    before = _parts(store)
    assert Collector(store, keep=1, grace_seconds=0).collect(stale) is None
    assert _parts(store) == before
    assert len(list(store.list(MANIFESTS))) == 2


def test_a_missing_or_truncated_part_is_found_and_restored(
    store: ObjectStore, published: Publish, uploader: Uploader, tmp_path: Path
) -> None:
    """The writer still has it; replicas recover by themselves."""
    manifest = published()
    uploader.upload()
    lost, cut = [entry for entry in manifest.files if entry.size > 0][:2]
    (tmp_path / "objects" / part_path(lost.sha256)).unlink()
    os.truncate(tmp_path / "objects" / part_path(cut.sha256), 1)
    with pytest.raises(CorruptArtifactError):
        Puller(store, tmp_path / "replica").pull()
    found = _collect(store)
    assert set(found.missing) == {lost.sha256, cut.sha256}
    assert uploader.restore_parts(found.missing) == 2
    assert Puller(store, tmp_path / "replica").pull() is not None
    assert _collect(store).missing == ()
