"""The writer's side: what is uploaded, and who may replace the pointer."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.artifacts.object_storage.layout import MANIFESTS, PARTS, POINTER, GenerationPosition
from helix_shared.artifacts.object_storage.opening import open_store
from helix_shared.artifacts.object_storage.pulling import Puller
from helix_shared.artifacts.object_storage.record import FILE, UploadRecord
from helix_shared.artifacts.object_storage.remote import read_pointer
from helix_shared.artifacts.object_storage.store import ObjectStore, ObjectVersion
from helix_shared.artifacts.object_storage.uploading import OUTGOING, FencedError, Uploader
from helix_shared.errors import CorruptArtifactError, PermanentError

Publish = Callable[..., Manifest]
DAY = 86_400.0


@pytest.fixture
def store(either_store: ObjectStore) -> ObjectStore:
    """A folder, and NATS."""
    return either_store


@pytest.fixture
def pausing(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ObjectStore]]:
    """Opens the store for a writer that is interrupted right before it replaces the pointer."""
    opened = open_store(store.url)

    def interrupted(meanwhile: Callable[[], None], *, is_conditional: bool) -> ObjectStore:
        replace = opened.replace

        def paused(path: str, body: bytes, version: ObjectVersion) -> ObjectVersion:
            meanwhile()
            if is_conditional:
                return replace(path, body, version)
            opened.delete([path])
            return opened.create(path, body)

        monkeypatch.setattr(opened, "replace", paused)
        return opened

    yield interrupted
    opened.close()


def _pointed(store: ObjectStore) -> GenerationPosition:
    found = read_pointer(store)
    assert found is not None
    return found[0].position


def test_a_part_is_uploaded_once(store: ObjectStore, root: Path, published: Publish) -> None:
    """The next generation uploads the parts that the last one does not have."""
    uploader = Uploader(store, root, grace_seconds=DAY)
    first = published()
    uploaded = uploader.upload()
    assert uploaded is not None
    assert (uploaded.parts, uploaded.skipped) == (len({entry.sha256 for entry in first.files}), 0)
    second = published()
    new = {entry.sha256: entry.size for entry in second.files}
    for entry in first.files:
        new.pop(entry.sha256, None)
    uploaded = uploader.upload()
    assert uploaded is not None
    assert (uploaded.parts, uploaded.bytes) == (len(new), sum(new.values()))
    assert uploaded.skipped > 0
    assert uploader.upload() is None
    assert _pointed(store) == (1, 2)
    assert list((root / OUTGOING).iterdir()) == []


def test_an_interrupted_upload_goes_on_where_it_was(
    store: ObjectStore, root: Path, published: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that ended between the manifest and the pointer uploads no part a second time."""
    published()
    with monkeypatch.context() as patch:
        patch.setattr(Uploader, "_publish", lambda *_: (_ for _ in ()).throw(RuntimeError("killed")))
        with pytest.raises(RuntimeError):
            Uploader(store, root, grace_seconds=DAY).upload()
    uploaded = Uploader(store, root, grace_seconds=DAY).upload()
    assert uploaded is not None
    assert uploaded.parts == 0
    store.delete([POINTER])
    uploaded = Uploader(store, root, grace_seconds=DAY).upload()
    assert uploaded is not None
    assert _pointed(store) == (1, 1)


def test_a_part_that_nothing_protects_is_uploaded_again(
    store: ObjectStore, root: Path, published: Publish
) -> None:
    """An old part without a manifest may be collected at any time, so it is not skipped."""
    published()
    Uploader(store, root, grace_seconds=DAY).upload()
    store.delete([POINTER])
    uploaded = Uploader(store, root, grace_seconds=0.0).upload()
    assert uploaded is not None
    assert uploaded.skipped == 0


def test_a_writer_of_an_older_epoch_publishes_nothing(
    store: ObjectStore, root: Path, published: Publish, tmp_path: Path
) -> None:
    """A writer that lost its lease wakes up with a generation of its own, in a copy of the data folder."""
    published(epoch=1)
    Uploader(store, root, grace_seconds=DAY).upload()
    lost = tmp_path / "lost"
    published(epoch=1)
    shutil.copytree(root, lost)
    published(epoch=2)
    Uploader(store, root, grace_seconds=DAY).upload()
    before = _all(store)
    with pytest.raises(FencedError, match=r"a writer of epoch 2 .* of epoch 1: nothing is uploaded"):
        Uploader(store, lost, grace_seconds=DAY).upload()
    assert _all(store) == before
    assert _pointed(store) == (2, 3)


@pytest.mark.parametrize("is_conditional", [True, False], ids=["fence", "control without If-Match"])
def test_a_writer_that_paused_before_the_pointer_does_not_replace_it(
    store: ObjectStore,
    pausing: Callable[..., ObjectStore],
    root: Path,
    published: Publish,
    tmp_path: Path,
    *,
    is_conditional: bool,
) -> None:
    """It compared its epoch before the pause. Without If-Match the pointer goes back to its generation."""
    published(epoch=1)
    Uploader(store, root, grace_seconds=DAY).upload()
    published(epoch=1)
    lost = tmp_path / "lost"
    shutil.copytree(root, lost)
    published(epoch=2)
    paused = pausing(lambda: _upload(store, root), is_conditional=is_conditional)
    if is_conditional:
        with pytest.raises(FencedError):
            _upload(paused, lost)
        assert _pointed(store) == (2, 3)
    else:
        _upload(paused, lost)
        assert _pointed(store) == (1, 2)


def test_a_store_without_pointer_still_fences(store: ObjectStore, root: Path, published: Publish) -> None:
    """Somebody removed the pointer; the manifests tell the newest epoch."""
    published(epoch=1)
    store.create(GenerationPosition(5, 1).path, b"of a later writer")
    with pytest.raises(FencedError, match="epoch 5"):
        Uploader(store, root, grace_seconds=DAY).upload()


def _lose(store: ObjectStore, path: str, left: bytes | None) -> None:
    store.delete([path])
    if left is not None:
        store.create(path, left)


@pytest.mark.parametrize("left", [None, b"rubbish"], ids=["missing", "damaged"])
@pytest.mark.parametrize("path", [POINTER, GenerationPosition(1, 2).path], ids=["pointer", "manifest"])
@pytest.mark.parametrize("then", ["nothing", "a start", "a generation", "a start and a generation"])
def test_a_pointer_or_manifest_that_the_store_lost_is_written_again(
    store: ObjectStore,
    root: Path,
    published: Publish,
    tmp_path: Path,
    left: bytes | None,
    path: str,
    then: str,
) -> None:
    """The writer has both; a new replica would find nothing to serve until the next generation."""
    published()
    uploader = Uploader(store, root, grace_seconds=DAY)
    uploader.upload()
    published()
    uploader.upload()
    assert not uploader.repair()
    _lose(store, path, left)
    if "start" in then:
        uploader = Uploader(store, root, grace_seconds=DAY)
    if "generation" in then:
        published()
    uploader.upload()
    if then == "nothing":
        assert uploader.repair()
    assert not uploader.repair()
    assert uploader.upload() is None
    pulled = Puller(store, tmp_path / "replica").pull()
    assert pulled is not None
    assert pulled.manifest.generation == (3 if "generation" in then else 2)


def test_a_damaged_pointer_is_replaced_by_its_own_writer_alone(
    store: ObjectStore, root: Path, published: Publish, tmp_path: Path
) -> None:
    """It may have named a generation of a later writer, or of another data folder."""
    published(epoch=1)
    uploader = Uploader(store, root, grace_seconds=DAY)
    uploader.upload()
    other = tmp_path / "other"
    shutil.copytree(root, other, ignore=shutil.ignore_patterns(FILE))
    _lose(store, POINTER, b"rubbish")
    with pytest.raises(CorruptArtifactError, match=f"object {POINTER} .* is damaged"):
        _upload(store, other)
    store.create(GenerationPosition(5, 7).path, b"of a later writer")
    with pytest.raises(FencedError, match="epoch 5"):
        uploader.repair()
    with pytest.raises(FencedError, match="epoch 5"):
        _upload(store, root)
    found = store.read(POINTER)
    assert found is not None
    assert found.body == b"rubbish"


def test_generations_of_two_data_folders_do_not_mix(
    store: ObjectStore, root: Path, published: Publish, tmp_path: Path
) -> None:
    """Ordinals of one mean nothing in the other."""
    published(epoch=1)
    other = tmp_path / "other"
    shutil.copytree(root, other)
    published(epoch=1)
    _upload(store, root)
    with pytest.raises(PermanentError, match="generation 2 of another data folder"):
        _upload(store, other)


def test_a_writer_that_takes_a_folder_over_goes_on(
    store: ObjectStore, root: Path, published: Publish
) -> None:
    """The folder remembers what it published, also when the generation itself was retired."""
    published(epoch=1)
    _upload(store, root)
    published(epoch=2)
    shutil.rmtree(folder_of(root, 1))
    _upload(store, root)
    assert _pointed(store) == (2, 2)


def test_a_thread_that_was_left_behind_makes_the_folder_forget_nothing(
    store: ObjectStore, root: Path, published: Publish
) -> None:
    """It hung in a slow store while the lease was lost, and tells its failure after the next upload."""
    published(epoch=1)
    behind, later = (Uploader(store, root, grace_seconds=DAY) for _ in range(2))
    behind.upload()
    published(epoch=2)
    later.upload()
    behind.tell("part does not exist")
    shutil.rmtree(folder_of(root, 2))
    published(epoch=2)
    later.upload()
    assert _pointed(store) == (2, 3)


def test_an_upload_holds_its_generation(
    store: ObjectStore, root: Path, published: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer retires it meanwhile."""
    published()
    upload = store.upload

    def retired(path: str, file: Path) -> None:
        shutil.rmtree(folder_of(root, 1), ignore_errors=True)
        upload(path, file)

    monkeypatch.setattr(store, "upload", retired)
    _upload(store, root)
    assert _pointed(store) == (1, 1)


def test_the_record_tells_what_is_uploaded_and_what_is_wrong(
    store: ObjectStore, root: Path, published: Publish
) -> None:
    """`helix status` reads it."""
    manifest = published()
    uploader = Uploader(store, root, grace_seconds=DAY)
    uploader.tell("object store does not answer")
    assert UploadRecord.read(root).problem == "object store does not answer"
    uploader.upload()
    record = UploadRecord.read(root, store.url)
    assert (record.generation, record.published_at, record.problem) == (1, manifest.published_at, "")
    assert UploadRecord.read(root, "s3://elsewhere").generation == 0


def test_the_record_tells_of_an_upload_after_which_the_writer_ended(
    store: ObjectStore, root: Path, published: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the pointer and the record; `helix status` named the generation before until the next one."""
    published()
    _upload(store, root)
    published()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Uploader, "_note", killed)
        with pytest.raises(KeyboardInterrupt):
            _upload(store, root)
    assert (_pointed(store), UploadRecord.read(root).generation) == ((1, 2), 1)
    _upload(store, root)
    record = UploadRecord.read(root)
    assert (record.generation, record.uploaded_parts) == (2, 0)


def _upload(store: ObjectStore, root: Path) -> None:
    Uploader(store, root, grace_seconds=DAY).upload()


def _all(store: ObjectStore) -> list[tuple[str, int]]:
    return sorted((one.path, one.size) for prefix in (MANIFESTS, PARTS) for one in store.list(prefix))
