"""What the bucket of NATS does beyond the promises that every object store keeps."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from nats.aio.client import Client

from helix_memory.transport.connection import connect
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.integrity import verify
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.artifacts.object_storage import nats_store
from helix_shared.artifacts.object_storage.collecting import Collector
from helix_shared.artifacts.object_storage.layout import PARTS, POINTER, part_path
from helix_shared.artifacts.object_storage.nats_bucket import HEADER_BYTES, NatsBucket, new_nuid
from helix_shared.artifacts.object_storage.nats_store import PART_BYTES
from helix_shared.artifacts.object_storage.opening import open_store
from helix_shared.artifacts.object_storage.pulling import BadPartError, Puller
from helix_shared.artifacts.object_storage.store import ObjectStore
from helix_shared.artifacts.object_storage.uploading import Uploader
from helix_shared.broker import server as broker_server
from helix_shared.broker.server import NatsServer
from helix_shared.errors import CorruptArtifactError, TemporaryError
from helix_shared.object_bucket import BUCKET, CHUNKS, STREAM

pytestmark = pytest.mark.integration

Publish = Callable[..., Manifest]
T = TypeVar("T")
GRACE = 600.0


@pytest.fixture
def store(object_server: NatsServer) -> Iterator[ObjectStore]:
    """The bucket, without a prefix."""
    opened = open_store(object_server.url)
    yield opened
    opened.close()


@pytest.fixture
def on(object_server: NatsServer) -> Callable[..., Any]:
    """Runs a coroutine with a client of the server."""

    def run(work: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
        async def connected() -> T:
            client = await connect(object_server.url, name="test")
            try:
                return await work(client)
            finally:
                await client.close()

        return asyncio.run(connected())

    return run


def _file(tmp_path: Path, size: int) -> tuple[Path, bytes]:
    body = (os.urandom(1 << 20) * (size // (1 << 20) + 1))[:size]
    (tmp_path / "file").write_bytes(body)
    return tmp_path / "file", body


def _chunks(on: Callable[..., Any]) -> dict[str, int]:
    found: dict[str, int] = on(lambda client: NatsBucket(client).chunk_counts())
    return found


def test_a_long_file_lies_in_parts_that_any_client_reads(
    store: ObjectStore, on: Callable[..., Any], tmp_path: Path
) -> None:
    """Each is an object of the object store of NATS; a listing names the file, and nothing of it stays."""
    size = 2 * PART_BYTES + 17
    file, body = _file(tmp_path, size)
    for _ in range(2):
        store.upload("parts/ab/abc", file)
    assert [(one.path, one.size) for one in store.list(PARTS)] == [("parts/ab/abc", size)]

    async def read(client: Client) -> list[bytes]:
        bucket = await client.jetstream().object_store(BUCKET)
        return [(await bucket.get(f"parts/ab/abc{part}")).data or b"" for part in ("", "~1", "~2")]

    parts = on(read)
    assert [len(part) for part in parts] == [PART_BYTES, PART_BYTES, 17]
    assert b"".join(parts) == body
    assert store.download("parts/ab/abc", tmp_path / "back", size=size) == hashlib.sha256(body).hexdigest()
    assert len(_chunks(on)) == 3, "the chunks of the first upload are gone"
    store.delete(["parts/ab/abc"])
    assert on(lambda client: client.jetstream().stream_info(STREAM)).state.messages == 0


def test_no_message_is_longer_than_the_server_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """A server with a limit of 64 KiB: it closes the connection of a client that sends more."""
    monkeypatch.setattr(broker_server, "MAX_PAYLOAD_BYTES", limit := 64 * 1024)
    server = request.getfixturevalue("object_server")
    store = open_store(server.url)
    file, body = _file(tmp_path, 1_000_000)
    store.upload("parts/ab/abc", file)
    manifest = store.create("manifests/1", body)
    found = store.read("manifests/1")
    assert found is not None
    assert (found.body, found.version) == (body, manifest)
    assert (
        store.download("parts/ab/abc", tmp_path / "back", size=len(body)) == hashlib.sha256(body).hexdigest()
    )
    counts = _chunks(request.getfixturevalue("on"))
    assert set(counts.values()) == {-(-len(body) // (limit - HEADER_BYTES))}
    store.close()


def test_a_replica_serves_nothing_of_which_a_chunk_is_gone(
    store: ObjectStore, on: Callable[..., Any], root: Path, published: Publish, tmp_path: Path
) -> None:
    """The last good generation stays, the collector finds the part, and the writer uploads it again."""
    uploader, puller = Uploader(store, root, grace_seconds=GRACE), Puller(store, tmp_path / "replica")
    first = published()
    uploader.upload()
    puller.pull()
    second = published()
    uploader.upload()
    new = max({e.sha256 for e in second.files if e.size} - {e.sha256 for e in first.files})

    async def lose(client: Client) -> None:
        meta = await NatsBucket(client).meta(part_path(new))
        assert meta is not None
        await client.jetstream().delete_msg(STREAM, meta.chunks[0])

    on(lose)
    with pytest.raises(BadPartError, match=rf"{new} of nats://.* has lost a chunk") as failed:
        puller.pull()
    assert failed.value.kind == "truncated"
    assert current_number(tmp_path / "replica") == 1
    assert uploader.pointed is not None
    found = Collector(store, keep=1, grace_seconds=GRACE).collect(uploader.pointed)
    assert found is not None
    assert found.missing == (new,)
    assert uploader.restore_parts(found.missing) == 1
    assert puller.pull() is not None
    assert verify(folder_of(tmp_path / "replica", 2), verified=set()) == second


def test_a_damaged_part_is_refused(
    store: ObjectStore, root: Path, published: Publish, tmp_path: Path
) -> None:
    """It has its length and a digest of its own; the manifest says what it has to be."""
    manifest = published()
    Uploader(store, root, grace_seconds=GRACE).upload()
    entry = max(manifest.files, key=lambda one: one.size)
    other, _ = _file(tmp_path, entry.size)
    store.upload(part_path(entry.sha256), other)
    with pytest.raises(BadPartError, match="part is damaged"):
        Puller(store, tmp_path / "replica").pull()


def test_a_pointer_without_its_bytes_is_damaged(store: ObjectStore, on: Callable[..., Any]) -> None:
    """Not missing: a writer would take that for the first generation."""
    store.create(POINTER, b"of a generation")

    async def lose(client: Client) -> None:
        await client.jetstream().purge_stream(STREAM, subject=f"{CHUNKS}.>")

    on(lose)
    with pytest.raises(CorruptArtifactError, match="CURRENT"):
        store.read(POINTER)


def test_what_is_replaced_leaves_no_chunks(store: ObjectStore, on: Callable[..., Any]) -> None:
    """Neither the content before, nor that of a writer that was killed before its meta."""

    async def killed(client: Client) -> None:
        await NatsBucket(client).add_chunk(new_nuid(POINTER), b"of a writer that was killed")

    version = store.create(POINTER, b"0")
    on(killed)
    for number in range(1, 4):
        version = store.replace(POINTER, f"{number}".encode(), version)
    assert len(_chunks(on)) == 1
    found = store.read(POINTER)
    assert found is not None
    assert found.body == b"3"


def test_chunks_of_an_upload_that_was_killed_are_collected_by_age(
    store: ObjectStore, on: Callable[..., Any], root: Path, published: Publish
) -> None:
    """Also of a part that the newest generation has: that one stays whole."""
    uploader = Uploader(store, root, grace_seconds=GRACE)
    published()
    uploader.upload()
    whole = len(_chunks(on))

    async def killed(client: Client) -> None:
        for _ in range(2):
            await NatsBucket(client).add_chunk(new_nuid(part_path("a" * 64)), b"first chunk")

    on(killed)
    assert uploader.pointed is not None
    young = Collector(store, keep=1, grace_seconds=GRACE).collect(uploader.pointed)
    assert young is not None
    assert (young.parts, young.missing) == (frozenset(), ())
    assert len(_chunks(on)) == whole + 2
    old = Collector(store, keep=1, grace_seconds=0.0).collect(uploader.pointed)
    assert old is not None
    assert (old.parts, old.missing) == ({"a" * 64}, ())
    assert len(_chunks(on)) == whole


def test_an_erasure_leaves_no_byte_on_the_disk_of_the_server(
    store: ObjectStore, object_server: NatsServer, root: Path, published: Publish
) -> None:
    """Neither of a part that was removed, nor of one that was uploaded twice. A purge of a subject would."""
    uploader = Uploader(store, root, grace_seconds=GRACE)
    published(files=40)
    uploader.upload()
    assert uploader.pointed is not None
    uploader.restore_parts(uploader.pointed.sizes)
    assert _holding(object_server.folder, b"memories 7 of 1")
    for _ in range(3):
        published()
    uploader.upload()
    Collector(store, keep=1, grace_seconds=GRACE).collect(uploader.pointed, erased_before=4)
    assert not _holding(object_server.folder, b"memories 7 of 1")
    assert _holding(object_server.folder, b"memories 0 of 4")


def _holding(folder: Path, text: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]


def test_prefixes_of_one_bucket_do_not_know_each_other(store: ObjectStore, object_server: NatsServer) -> None:
    """Later shards have theirs; what one removes the others keep."""
    other = open_store(f"{object_server.url}/shard-1")
    for number, one in enumerate((store, other)):
        one.create("parts/ab/abc", f"{number}".encode())
    assert [[(one.path, one.size) for one in of.list(PARTS)] for of in (store, other)] == [
        [("parts/ab/abc", 1)]
    ] * 2
    store.delete(["parts/ab/abc"])
    found = other.read("parts/ab/abc")
    assert found is not None
    assert found.body == b"1"
    other.close()


def test_a_prefix_may_have_the_sign_of_parts(object_server: NatsServer, tmp_path: Path) -> None:
    """Its objects were taken for parts of one file, and no listing had any of them."""
    store = open_store(f"{object_server.url}/~a/b~c")
    file, body = _file(tmp_path, PART_BYTES + 1)
    path = part_path(hashlib.sha256(body).hexdigest())
    store.upload(path, file)
    assert [(one.path, one.size) for one in store.list(PARTS)] == [(path, len(body))]
    store.delete([path])
    assert not list(store.list(PARTS))
    store.close()


def test_a_server_without_the_bucket_names_the_command(tmp_path: Path) -> None:
    """And the uploader tries again: the command may come later."""
    with NatsServer(tmp_path / "empty") as server:
        store = open_store(server.url)
        for call in (lambda: store.create("CURRENT", b""), lambda: store.read("CURRENT")):
            with pytest.raises(TemporaryError, match="helix provision --bucket"):
                call()
        with pytest.raises(TemporaryError, match="helix provision --bucket"):
            list(store.list(PARTS))
        store.close()


def test_a_store_outlives_its_server(store: ObjectStore, object_server: NatsServer) -> None:
    """It does not answer meanwhile, and keeps what it has."""
    version = store.create(POINTER, b"0")
    object_server.kill()
    with pytest.raises(TemporaryError, match="does not answer"):
        store.replace(POINTER, b"1", version)
    object_server.start()
    assert store.read(POINTER, unless=version) is None
    store.replace(POINTER, b"1", version)


def test_an_address_may_name_several_servers(object_server: NatsServer) -> None:
    """The first of them does not answer; all servers of a cluster have the bucket."""
    address = f"nats://127.0.0.1:1,{object_server.url.removeprefix('nats://')}/shard"
    store = open_store(address)
    store.create(POINTER, b"0")
    found = store.read(POINTER)
    assert found is not None
    assert found.body == b"0"
    store.close()


def test_a_closed_store_refuses(store: ObjectStore) -> None:
    """A thread that is left behind ends at its next call."""
    store.create(POINTER, b"0")
    store.close()
    with pytest.raises(TemporaryError, match="closed"):
        store.read(POINTER)
    store.close()


def test_a_listing_of_a_replica_that_is_behind_is_not_taken(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Direct gets may be answered by any replica of the stream; a collector would miss what it just wrote."""
    store.create("parts/ab/abc", b"1")
    real, asked = NatsBucket.metas, list[int]()

    async def behind(self: NatsBucket) -> list[Any]:
        found = await real(self)
        asked.append(len(found))
        return found[:-1] if len(asked) < 3 else found

    monkeypatch.setattr(NatsBucket, "metas", behind)
    assert [one.path for one in store.list(PARTS)] == ["parts/ab/abc"]
    assert asked == [1, 1, 1]
    monkeypatch.setattr(nats_store, "_FRESH_SECONDS", 0.0)
    asked.clear()
    with pytest.raises(TemporaryError, match="does not list what was written"):
        list(store.list(PARTS))


def test_a_listing_lacks_what_another_process_removed(store: ObjectStore, object_server: NatsServer) -> None:
    """It was written here, and is the newest that the bucket had."""
    other = open_store(object_server.url)
    store.create("parts/ab/abc", b"1")
    other.delete(["parts/ab/abc"])
    assert list(store.list(PARTS)) == []
    other.close()
