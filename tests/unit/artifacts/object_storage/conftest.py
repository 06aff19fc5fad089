"""A folder as object store, and generations to put there."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from helix_memory.transport.connection import connect
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
from helix_shared.artifacts.object_storage.layout import sha256_of_bytes
from helix_shared.artifacts.object_storage.opening import open_store
from helix_shared.artifacts.object_storage.store import ObjectStore
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.server import NatsServer


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    """A folder as object store."""
    return open_store(f"file://{tmp_path}/objects")


@pytest.fixture
def object_server(tmp_path: Path) -> Iterator[NatsServer]:
    """A NATS server with the bucket of generations."""

    async def make_bucket() -> None:
        client = await connect(server.url, name="test")
        await provision(client.jetstream(), objects=True)
        await client.close()

    with NatsServer(tmp_path / "nats") as server:
        asyncio.run(make_bucket())
        yield server


@pytest.fixture(params=["folder", pytest.param("nats", marks=pytest.mark.integration)])
def either_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ObjectStore]:
    """A folder, then a bucket of NATS with a prefix."""
    if request.param == "folder":
        yield open_store(f"file://{tmp_path}/objects")
        return
    opened = open_store(f"{request.getfixturevalue('object_server').url}/of/a/shard")
    yield opened
    opened.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The data folder of the writer."""
    return tmp_path / "data"


@pytest.fixture
def published(root: Path) -> Callable[..., Manifest]:
    """Publishes the next generation: files of the last three, `files` of them new, and one that is replaced.

    With `receipt`, something was erased before it.

    Object storage sees nothing but files and their manifest, so these need no engine.
    """
    count, bodies = itertools.count(1), {"memories.lance/first": b"first", "memories.lance/empty": b""}

    def publish_next(*, epoch: int = 1, files: int = 1, receipt: bytes = b"") -> Manifest:
        number = next(count)
        if receipt:
            bodies[f"erasures/{number}.jsonl"] = receipt
        for name in [name for name in bodies if name.startswith(f"memories.lance/{number - 3}-")]:
            del bodies[name]
        for place in range(files):
            bodies[f"memories.lance/{number}-{place}"] = f"memories {place} of {number}".encode() * 1000
        bodies["lexicon/meta.json"] = f"segments of {number}".encode()
        folder = folder_of(root, number)
        for name, body in bodies.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(body)
        manifest = Manifest(
            generation=number,
            parent=number - 1,
            epoch=epoch,
            published_at=datetime.now(UTC),
            stream=StreamState(name="HELIX_EVENTS"),
            counts=Counts(),
            digest="0" * 16,
            model=ModelIdentity(name="test", checksum="0" * 64, dimensions=8),
            files=tuple(
                FileEntry(path=name, size=len(body), sha256=sha256_of_bytes(body))
                for name, body in sorted(bodies.items())
            ),
        )
        (folder / MANIFEST_NAME).write_bytes(manifest.sealed())
        set_pointer(root, number)
        return manifest

    return publish_next
