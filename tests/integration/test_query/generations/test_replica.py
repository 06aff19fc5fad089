"""A replica: generations come through object storage, and are served as those of the writer's own folder."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from helix_memory.transport.connection import connect
from helix_query.generations.current import CurrentGeneration
from helix_query.generations.replica import Replica
from helix_query.generations.shards.shard import ReplicaView
from helix_query.generations.verified_files import VerifiedFiles
from helix_query.profile.files import load_profiles
from helix_shared.artifacts.generation.folders import folder_of, published_numbers
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.artifacts.object_storage.cloud_store import CloudStore
from helix_shared.artifacts.object_storage.layout import part_path
from helix_shared.artifacts.object_storage.opening import open_store
from helix_shared.artifacts.object_storage.store import ObjectStore
from helix_shared.artifacts.object_storage.uploading import Uploader
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.server import NatsServer

pytestmark = pytest.mark.integration
Start = Callable[..., Any]
Corpus = Any
Service = Any
ROWS = [
    {"name": "release", "text": "the release was decided for the spring", "entities": ["release"]},
    {"name": "tea", "text": "Ana drinks green tea in the morning", "entities": ["Ana"]},
    {"name": "call", "text": "Ben is on call this week", "entities": ["Ben"]},
    {"name": "error", "text": "src/main.py raised an error in line 7"},
    *({"text": f"a note about matter {number}"} for number in range(40)),
]
QUERIES = ("what was decided about the release", "tea", "who is on call", "error in src/main.py")


@pytest.fixture
def bucket(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of the object storage: a folder, or with the parameter `nats` a bucket of NATS."""
    if getattr(request, "param", "folder") == "folder":
        return f"file://{tmp_path}/objects"
    server = request.getfixturevalue("nats_server")

    async def make_bucket() -> None:
        client = await connect(server.url, name="test")
        await provision(client.jetstream(), objects=True)
        await client.close()

    asyncio.run(make_bucket())
    return f"{server.url}/shard"


@pytest.fixture
def uploader(bucket: str, corpus: Corpus) -> Iterator[Uploader]:
    """The uploads of the writer."""
    store = open_store(bucket)
    yield Uploader(store, corpus.root, grace_seconds=600.0)
    store.close()


@pytest.fixture
def start_replica(tmp_path: Path, bucket: str, start: Start) -> Callable[[], Service]:
    """Starts a replica with a data folder of its own."""

    def begin() -> Service:
        return start(tmp_path / "replica", HELIX_QUERY_BUCKET=bucket, HELIX_QUERY_BUCKET_POLL_SECONDS="0.05")

    return begin


def _answers(service: Service) -> list[bytes]:
    """Everything that recalls answer but their times."""
    found = []
    for query in QUERIES:
        reply = service.recall(query, explain=True)
        assert reply.memories
        for field in ("stages", "total_milliseconds"):
            reply.ClearField(field)
        found.append(reply.SerializeToString(deterministic=True))
    return found


@pytest.mark.parametrize("bucket", ["folder", "nats"], indirect=True)
def test_a_replica_answers_as_the_writers_own_generation(
    corpus: Corpus, uploader: Uploader, start: Start, start_replica: Callable[[], Service]
) -> None:
    """Ids, scores and every part of the explanation are equal to the bit, after each of two generations."""
    corpus.add(ROWS)
    corpus.publish()
    uploader.upload()
    own, replica = start(corpus.root), start_replica()
    for number in (1, 2):
        for service in (own, replica):
            service.wait_for(lambda one, wanted=number: one.status().generation == wanted)
        assert _answers(own) == _answers(replica)
        if number == 1:
            corpus.add([{"name": "new", "text": "the release was decided for friday"}])
            corpus.publish()
            uploader.upload()
    status = replica.status().replica
    assert (status.newest, status.problem) == (2, "")
    assert not own.status().HasField("replica")


def test_a_replica_serves_a_generation_without_memories(
    corpus: Corpus, uploader: Uploader, start_replica: Callable[[], Service]
) -> None:
    """As every shard begins: it is ready, and says that there is nothing."""
    corpus.publish()
    uploader.upload()
    replica = start_replica()
    replica.wait_for(lambda one: one.status().generation == 1)
    assert replica.status().memories == 0
    assert not replica.recall("tea").memories


@pytest.mark.parametrize("bucket", ["nats"], indirect=True)
def test_a_replica_answers_while_the_bucket_in_nats_is_away(
    bucket: str,
    nats_server: NatsServer,
    corpus: Corpus,
    uploader: Uploader,
    start_replica: Callable[[], Service],
) -> None:
    """It serves what it has, says why nothing newer comes, and goes on by itself."""
    corpus.add(ROWS)
    corpus.publish()
    uploader.upload()
    replica = start_replica()
    replica.wait_for(lambda one: one.status().generation == 1)
    nats_server.kill()
    replica.wait_for(lambda one: "does not answer" in one.status().replica.problem)
    assert bucket in replica.status().replica.problem
    assert replica.recall("tea").memories
    nats_server.start()
    corpus.add([{"name": "new", "text": "a word that only the second generation has: xylophone"}])
    corpus.publish()
    uploader.upload()
    replica.wait_for(lambda one: one.status().generation == 2)
    assert replica.recall("xylophone").memories


def test_a_damaged_part_is_named_and_the_last_good_generation_answers(
    corpus: Corpus, uploader: Uploader, start_replica: Callable[[], Service], tmp_path: Path
) -> None:
    """It recovers by itself when the part is uploaded again."""
    corpus.add(ROWS)
    corpus.publish()
    uploader.upload()
    replica = start_replica()
    replica.wait_for(lambda one: one.status().generation == 1)
    corpus.add([{"name": "new", "text": "a word that only the second generation has: xylophone"}])
    corpus.publish()
    uploader.upload()
    replica.wait_for(lambda one: one.status().generation == 2)
    corpus.add([{"name": "newer", "text": "the third generation"}])
    corpus.publish()
    second, third = (Manifest.read(folder_of(corpus.root, number)).files for number in (2, 3))
    new = next(entry for entry in third if entry.sha256 not in {one.sha256 for one in second})
    upload = CloudStore.upload

    def cut(self: ObjectStore, path: str, file: Path) -> None:
        upload(self, path, file)
        if path == part_path(new.sha256):
            os.truncate(tmp_path / "objects" / path, new.size - 1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CloudStore, "upload", cut)
        uploader.upload()
    replica.wait_for(lambda one: bool(one.status().replica.problem))
    problem = replica.status().replica.problem
    assert "part is truncated" in problem
    assert new.sha256 in problem
    assert new.path in problem
    assert replica.status().generation == 2
    assert replica.recall("xylophone").memories
    assert "not pulled" in replica.log.read_text()
    uploader.restore_parts([new.sha256])
    replica.wait_for(lambda one: one.status().generation == 3 and not one.status().replica.problem)


@pytest.mark.parametrize("is_cut", [False, True], ids=["damaged", "cut"])
def test_a_part_that_is_damaged_on_the_replicas_disk_is_pulled_again(
    corpus: Corpus, uploader: Uploader, start_replica: Callable[[], Service], tmp_path: Path, *, is_cut: bool
) -> None:
    """A start finds it; the same generation is served once the part came again."""
    corpus.add(ROWS)
    corpus.publish()
    uploader.upload()
    replica = start_replica()
    replica.wait_for(lambda one: one.status().generation == 1)
    replica.stop()
    entry = max(Manifest.read(folder_of(corpus.root, 1)).files, key=lambda one: one.size)
    part = tmp_path / "replica" / part_path(entry.sha256)
    body = bytearray(part.read_bytes())
    body[len(body) // 2] ^= 1
    part.write_bytes(body[:-1] if is_cut else body)
    again = start_replica()
    again.wait_for(lambda one: one.status().generation == 1)
    assert "generation_refused" in again.log.read_text()
    assert "damaged parts are pulled again" in again.log.read_text()


def test_a_shard_that_loads_slower_than_it_is_published_is_loaded(
    corpus: Corpus, uploader: Uploader, bucket: str, models_dir: Path, tmp_path: Path
) -> None:
    """Three generations come while the first one is verified, as of a large shard that is asked for again."""
    root, store, profile = tmp_path / "replica", open_store(bucket), load_profiles()["helix"]
    current = CurrentGeneration(root, models_dir, scratch=tmp_path / "scratch", profile=profile)
    replica = Replica(store, root, ReplicaView(root, current), poll_seconds=1.0)

    def publish() -> None:
        corpus.add([{"text": "the release was decided for the spring"}])
        corpus.publish()
        uploader.upload()
        replica.step()

    verify, verified = VerifiedFiles.verify, []

    def slowly(self: VerifiedFiles, folder: Path, *, beside: bool) -> Manifest:
        verified.append(int(folder.name))
        if len(verified) < 10:
            for _ in range(3):
                publish()
        return verify(self, folder, beside=beside)

    publish()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(VerifiedFiles, "verify", slowly)
        assert current.refresh()
    assert verified == [1]
    with current.lease() as snapshot:
        assert snapshot.number == 1
    assert current.refresh()
    replica.step()
    assert published_numbers(root) == [4]
    current.close()


def test_a_replica_does_not_pull_into_the_folder_of_a_writer(
    corpus: Corpus, start: Start, tmp_path: Path
) -> None:
    """The writer would lose its generations."""
    corpus.add(ROWS)
    corpus.publish()
    service = start(corpus.root, HELIX_QUERY_BUCKET=f"file://{tmp_path}/objects")
    assert service.process.wait(timeout=60) == 78
    assert "is the data folder of a writer" in service.log.read_text()
