"""The threads that upload and pull go on after every failure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from helix_consolidation.settings import ConsolidationSettings
from helix_consolidation.uploading.upload_thread import UploadThread
from helix_query.generations.replica import Replica
from helix_query.generations.shards.shard import ReplicaView
from helix_shared.artifacts.generation.folders import CURRENT, current_number, published_numbers
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.artifacts.object_storage.cloud_store import CloudStore
from helix_shared.artifacts.object_storage.layout import PARTS, POINTER
from helix_shared.artifacts.object_storage.pulling import Puller
from helix_shared.artifacts.object_storage.record import FILE
from helix_shared.artifacts.object_storage.remote import read_pointer
from helix_shared.artifacts.object_storage.store import ObjectStore
from helix_shared.artifacts.object_storage.uploading import Uploader

Publish = Callable[..., Manifest]
DAY = 86_400.0


class Nothing:
    """A service that serves no generation."""

    number = 0
    opening = 0

    def is_refused(self, number: int) -> bool:
        """None is refused."""
        return number < 0

    def retry(self) -> None:
        """Nothing to try."""


class Unloaded(Nothing):
    """A shard that nobody asked for."""

    is_open = False


class Panicking(CloudStore):
    """A store whose engine panics."""

    def read(self, *_: object, **__: object) -> None:
        """Panic as a Rust engine does."""
        raise type("PanicException", (BaseException,), {})("no")


def _replica(store: ObjectStore, root: Path) -> Replica:
    return Replica(store, root, Nothing(), poll_seconds=1.0)


@pytest.mark.parametrize("damaged", [CURRENT, FILE])
def test_uploads_go_on_after_a_failure_that_cannot_be_recorded(
    store: ObjectStore, root: Path, published: Publish, damaged: str
) -> None:
    """CURRENT is damaged, or the record cannot be written, as on a full disk."""
    published()
    thread = UploadThread(ConsolidationSettings(bucket=store.url, data_dir=root))
    (root / CURRENT).write_text("rubbish")
    if damaged == FILE:
        (root / FILE).mkdir()
    thread.attempt()
    if damaged == FILE:
        (root / FILE).rmdir()
    published()
    thread.attempt()
    found = read_pointer(store)
    assert found is not None
    assert found[0].generation == 2


def test_the_writer_writes_a_lost_pointer_again_without_a_new_generation(
    store: ObjectStore, root: Path, published: Publish
) -> None:
    """Nobody may publish for days, and a replica that starts meanwhile would have nothing."""
    published()
    thread = UploadThread(ConsolidationSettings(bucket=store.url, data_dir=root, bucket_collect_seconds=1e-6))
    thread.step()
    store.delete([POINTER])
    thread.step()
    found = read_pointer(store)
    assert found is not None
    assert found[0].generation == 1


@pytest.mark.parametrize("is_running", [True, False])
def test_a_replica_pulls_again_what_a_damaged_pointer_named(
    store: ObjectStore, root: Path, published: Publish, tmp_path: Path, *, is_running: bool
) -> None:
    """Its data folder is a copy: CURRENT is written again, at a start and while it runs."""
    published()
    Uploader(store, root, grace_seconds=DAY).upload()
    replica = _replica(store, tmp_path / "replica")
    if is_running:
        replica.attempt()
    (tmp_path / "replica").mkdir(exist_ok=True)
    (tmp_path / "replica" / CURRENT).write_text("rubbish")
    replica.attempt()
    assert (current_number(tmp_path / "replica"), replica.state().problem) == (1, "")


def test_an_erasure_leaves_no_older_generation_of_a_shard_that_is_not_loaded(
    store: ObjectStore, root: Path, published: Publish, tmp_path: Path
) -> None:
    """Two stay otherwise, so that one can be loaded whatever becomes of the newest."""
    folder, uploader = tmp_path / "replica", Uploader(store, root, grace_seconds=DAY)
    replica = Replica(store, folder, ReplicaView(folder, Unloaded()), poll_seconds=1.0)
    kept = []
    for receipt in (b"", b"", b"", b'{"event": 1}', b"", b""):
        erased = published(receipt=receipt)
        uploader.upload()
        replica.attempt()
        kept.append(published_numbers(folder))
        if receipt:
            parts = {path.name for path in (folder / PARTS).glob("*/*")}
            assert parts == {entry.sha256 for entry in erased.files}
    assert kept == [[1], [2, 1], [3, 2], [4], [5, 4], [6, 5]]


def test_a_replica_keeps_few_generations_that_are_refused(
    store: ObjectStore, root: Path, published: Publish, tmp_path: Path
) -> None:
    """As those of a model that is not installed: the one that answers stays, and what may be tried still."""

    class Refusing(Nothing):
        number = 1

    folder, uploader, current = tmp_path / "replica", Uploader(store, root, grace_seconds=DAY), Refusing()
    replica = Replica(store, folder, current, poll_seconds=1.0)
    for number in range(1, 7):
        manifest = published()
        uploader.upload()
        current.opening = 3 if number in (4, 5) else 0
        replica.attempt()
        assert replica.state().problem == ""
        if number == 1:
            parts = {entry.sha256 for entry in manifest.files}
        if number == 5:
            assert published_numbers(folder) == [5, 4, 3, 1]
        if number in (5, 6):
            parts |= {entry.sha256 for entry in manifest.files}
    assert published_numbers(folder) == [6, 5, 1]
    assert {path.name for path in (folder / PARTS).glob("*/*")} == parts


def test_a_replica_outlives_a_panic_and_says_so(tmp_path: Path) -> None:
    """The thread goes on, and GetStatus has the reason."""
    store = Panicking.open(f"file://{tmp_path}/objects")
    replica = _replica(store, tmp_path / "replica")
    replica.attempt()
    assert replica.state().problem == "PanicException: no"


def test_a_replica_whose_first_attempt_failed_takes_its_lock_once(
    store: ObjectStore, root: Path, published: Publish, tmp_path: Path
) -> None:
    """A second lock of the same process would wait for the first, and nothing would be pulled."""
    published()
    Uploader(store, root, grace_seconds=DAY).upload()
    folder = tmp_path / "replica"
    replica = _replica(store, folder)
    (folder / CURRENT).mkdir(parents=True)  # a folder, which cannot be read
    for _ in range(3):
        replica.attempt()
        assert replica.state().problem
    (folder / CURRENT).rmdir()
    replica.attempt()
    assert (current_number(folder), replica.state().problem) == (1, "")
    assert Puller(store, folder).newest.generation == 1
