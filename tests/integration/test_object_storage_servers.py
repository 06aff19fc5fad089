"""The same against an S3 server (moto) and a bucket of NATS: times and bytes until a replica serves."""

from __future__ import annotations

import asyncio
import itertools
import os
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from helix_memory.transport.connection import connect
from helix_query.generations.current import CurrentGeneration
from helix_query.generations.replica import Replica
from helix_query.profile.files import load_profiles
from helix_query.profile.profile import DEFAULT_PROFILE
from helix_shared.artifacts.generation.live_stores import Live
from helix_shared.artifacts.generation.manifest import Counts, Manifest, ModelIdentity, StreamState, digest_of
from helix_shared.artifacts.generation.publishing import publish
from helix_shared.artifacts.lexicon.writer import entries_of
from helix_shared.artifacts.object_storage.canary import prove_preconditions
from helix_shared.artifacts.object_storage.cloud_store import CHUNK_BYTES
from helix_shared.artifacts.object_storage.collecting import Collector
from helix_shared.artifacts.object_storage.layout import PARTS
from helix_shared.artifacts.object_storage.opening import open_store
from helix_shared.artifacts.object_storage.pulling import Puller
from helix_shared.artifacts.object_storage.store import ConflictError, ObjectStore
from helix_shared.artifacts.object_storage.uploading import Uploader
from helix_shared.artifacts.signals.columns import signals_of
from helix_shared.artifacts.vectors.records import record_schema
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.server import NatsServer
from helix_shared.edges import empty_row
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.minhash import minhash
from helix_shared.encoders.store import default_model
from tests.s3_server import BUCKET, s3_environment, s3_server

pytestmark = [pytest.mark.integration, pytest.mark.faults]
START_SECONDS = 60
ROUNDS = 20
SLOWEST_SECONDS = 2.0
"""From the publication until a replica serves it, for 95 of 100 generations."""
MANY, NEW = 100_000, 1_000
MOST_TIMES = 3.0
"""Bytes of an upload, in those of the new memories themselves."""


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an S3 server."""
    with s3_server(tmp_path_factory.mktemp("moto")) as address:
        yield address


@pytest.fixture
def s3(moto: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> ObjectStore:
    """A prefix of its own on that server."""
    for name, value in s3_environment(moto).items():
        monkeypatch.setenv(name, value)
    return open_store(f"s3://{BUCKET}/{abs(hash(request.node.name))}")


class Writer:
    """Publishes generations with ever more memories."""

    def __init__(self, root: Path, encoder: Encoder) -> None:
        self.root = root
        self.live = Live.create(root / "live", dimensions=encoder.card.dimensions)
        self._encoder = encoder
        self._generation = 0
        self._next = itertools.count()
        self.own_bytes = 0
        """Of the records of the memories that were published last, vectors and texts included."""

    def publish(self, memories: int) -> Manifest:
        """The next generation, with so many new memories."""
        ordinals = [next(self._next) for _ in range(memories)]
        vectors = (
            np.random.default_rng(ordinals[0])
            .normal(size=(memories, self._encoder.card.dimensions))
            .astype(np.float32)
        )
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        texts = [f"note {n}: " + " ".join(f"word{n * k % 9973}" for k in range(3, 40)) for n in ordinals]
        table = pa.Table.from_pylist(
            [self._row(*one) for one in zip(ordinals, texts, vectors, strict=True)],
            schema=record_schema(self._encoder.card.dimensions),
        )
        self.own_bytes = table.nbytes
        self.live.vectors.upsert(table)
        self.live.signals.append(*signals_of(table))
        self.live.lexicon.upsert(entries_of(table))
        self.live.lexicon.commit()
        self._generation += 1
        card = self._encoder.card
        ids = self.live.vectors.scan(["memory_id"])["memory_id"].to_pylist()
        manifest = Manifest(
            generation=self._generation,
            parent=self._generation - 1,
            epoch=1,
            published_at=datetime.now(UTC),
            stream=StreamState(name="HELIX_EVENTS"),
            counts=Counts(memories=self.live.vectors.count, hidden=self.live.vectors.hidden_count),
            digest=digest_of(ids),
            model=ModelIdentity(name=card.name, checksum=card.checksum, dimensions=card.dimensions),
        )
        return publish(self.root, self.live, manifest)

    def _row(self, ordinal: int, text: str, vector: np.ndarray) -> dict[str, Any]:
        now = datetime.now(UTC)
        return empty_row(record_schema(self._encoder.card.dimensions)) | {
            "ordinal": ordinal,
            "memory_id": f"{ordinal:032x}",
            "tenant_id": "acme",
            "type": "episodic",
            "audience": ["*"],
            "salience": 0.5,
            "confidence": 0.5,
            "priority": 0.5,
            "text": text,
            "vector": vector,
            "minhash": minhash(text),
            "created_at": now,
            "occurred_at": now,
            "event_at": now,
            "stream_sequence": ordinal + 1,
        }


@pytest.fixture
def writer(tmp_path: Path, models_dir: Path) -> Iterator[Writer]:
    """A writer with an empty data folder."""
    with Encoder.load(default_model(models_dir)) as encoder:
        made = Writer(tmp_path / "data", encoder)
        yield made
        made.live.close()


def test_moto_honours_preconditions(s3: ObjectStore) -> None:
    """One of 64 creates the object, one of 64 replaces it, and the canary passes."""
    prove_preconditions(s3)
    assert list(s3.list("canary")) == []

    def wins(write: Callable[[], object]) -> bool:
        try:
            write()
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(wins, [lambda n=n: s3.create("one", b"%d" % n) for n in range(64)])) == 1
        found = s3.read("one")
        assert found is not None
        writes = [lambda n=n: s3.replace("one", b"of %d" % n, found.version) for n in range(64)]
        assert sum(pool.map(wins, writes)) == 1


def test_a_long_part_is_uploaded_in_several_requests(s3: ObjectStore, tmp_path: Path) -> None:
    """And comes back whole."""
    body = os.urandom(3 * CHUNK_BYTES + 17)
    (tmp_path / "file").write_bytes(body)
    s3.upload("parts/ab/long", tmp_path / "file")
    s3.download("parts/ab/long", tmp_path / "back", size=len(body))
    assert (tmp_path / "back").read_bytes() == body


def test_a_generation_goes_through_s3_and_old_parts_are_collected(
    s3: ObjectStore, writer: Writer, tmp_path: Path
) -> None:
    """As through a folder."""
    uploader = Uploader(s3, writer.root, grace_seconds=600.0)
    for _ in range(2):
        manifest = writer.publish(20)
        uploader.upload()
    pulled = Puller(s3, tmp_path / "replica").pull()
    assert pulled is not None
    assert pulled.manifest == manifest
    pointed = uploader.pointed
    assert pointed is not None
    found = Collector(s3, keep=1, grace_seconds=600.0).collect(pointed, erased_before=2)
    assert found is not None
    assert (found.manifests, found.oldest, found.missing) == (1, 2, ())
    assert {one.path.rpartition("/")[2] for one in s3.list(PARTS)} == pointed.sizes.keys()


@pytest.fixture
def bucket(nats_server: NatsServer) -> Iterator[ObjectStore]:
    """A bucket of NATS."""

    async def make_bucket() -> None:
        client = await connect(nats_server.url, name="test")
        await provision(client.jetstream(), objects=True)
        await client.close()

    asyncio.run(make_bucket())
    opened = open_store(f"{nats_server.url}/shard")
    yield opened
    opened.close()


@pytest.mark.timeout(3_600)  # 100,000 memories are indexed first
def test_an_upload_is_little_more_than_the_new_memories(
    bucket: ObjectStore, writer: Writer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """1,000 new ones among 100,000; a merge of segments uploads these again, which few generations have."""
    uploader = Uploader(bucket, writer.root, grace_seconds=600.0)
    puller = Puller(bucket, tmp_path / "replica")
    for start in range(0, MANY, NEW * 10):
        writer.publish(min(NEW * 10, MANY - start))
    began = time.monotonic()
    first = uploader.upload()
    uploaded = time.monotonic()
    pulled = puller.pull()
    assert first is not None
    assert pulled is not None
    told = (
        f"{MANY} memories: {first.bytes / 1e6:.0f} MB in {first.parts} parts, uploaded in "
        f"{uploaded - began:.1f} s, pulled in {time.monotonic() - uploaded:.1f} s"
    )
    times = []
    for _ in range(8):
        writer.publish(NEW)
        began = time.monotonic()
        sent = uploader.upload()
        uploaded = time.monotonic()
        pulled = puller.pull()
        assert sent is not None
        assert pulled is not None
        assert pulled.bytes == sent.bytes
        times.append(sent.bytes / writer.own_bytes)
        told += (
            f"\n{NEW} new: {sent.bytes / 1e6:.2f} MB in {sent.parts} parts, {times[-1]:.2f} times their own "
            f"{writer.own_bytes / 1e6:.2f} MB, uploaded in {uploaded - began:.2f} s, "
            f"pulled in {time.monotonic() - uploaded:.2f} s"
        )
    with capsys.disabled():
        print(f"\n{told}")  # noqa: T201
    assert statistics.median(times) < MOST_TIMES


@pytest.mark.parametrize("kind", ["folder", "moto", "nats"])
def test_a_replica_serves_a_generation_within_two_seconds(
    kind: str,
    request: pytest.FixtureRequest,
    writer: Writer,
    tmp_path: Path,
    models_dir: Path,
    *,
    capsys: Any,
) -> None:
    """From the publication by the writer until the replica answers from it, over 20 generations."""
    if kind == "folder":
        store = open_store(f"file://{tmp_path}/objects")
    else:
        store = request.getfixturevalue("s3" if kind == "moto" else "bucket")
    uploader, replica_root = Uploader(store, writer.root, grace_seconds=600.0), tmp_path / "replica"
    (tmp_path / "scratch").mkdir()
    current = CurrentGeneration(
        replica_root, models_dir, scratch=tmp_path / "scratch", profile=load_profiles(None)[DEFAULT_PROFILE]
    )
    replica = Replica(store, replica_root, current, poll_seconds=0.5)
    writer.publish(2_000)
    uploader.upload()
    replica.start()
    current.start(lambda: None)
    try:
        _until(lambda: current.number == 1)
        delays, sent = [], 0
        for number in range(2, ROUNDS + 2):
            writer.publish(20)
            published = time.monotonic()
            uploaded = uploader.upload()
            assert uploaded is not None
            sent += uploaded.bytes
            _until(lambda wanted=number: current.number == wanted)
            delays.append(time.monotonic() - published)
    finally:
        replica.close()
        current.close()
    p50, p95 = statistics.median(delays), statistics.quantiles(delays, n=20)[-1]
    with capsys.disabled():
        print(f"\n{kind}: p50 {p50:.2f} s, p95 {p95:.2f} s, {sent / ROUNDS / 1e3:.0f} kB a generation")  # noqa: T201
    assert p95 < SLOWEST_SECONDS


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)
