"""Generations in object storage: what the writer uploads, and what an erasure takes away there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from helix_memory.events import EraseEvent
from helix_shared.artifacts.erasures.receipts import all_receipts
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.integrity import verify
from helix_shared.artifacts.object_storage.layout import PARTS, GenerationPosition
from helix_shared.artifacts.object_storage.opening import open_store
from helix_shared.artifacts.object_storage.pulling import Puller
from helix_shared.artifacts.object_storage.record import UploadRecord
from helix_shared.artifacts.object_storage.remote import read_pointer, stored_positions
from helix_shared.artifacts.object_storage.store import ObjectStore
from helix_shared.broker.provisioning.provision import provision
from helix_shared.identity import memory_id
from helix_shared.object_bucket import STREAM
from tests.folder_contents import files_with

from .conftest import LEASE_SECONDS, PATIENCE_SECONDS, Stack, row

pytestmark = pytest.mark.integration


async def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


def _pointed(store: ObjectStore) -> GenerationPosition | None:
    found = read_pointer(store)
    return None if found is None else found[0].position


@pytest.fixture(params=["folder", "nats"])
async def bucket(
    request: pytest.FixtureRequest, stack: Stack, tmp_path: Path
) -> AsyncIterator[tuple[ObjectStore, Path]]:
    """An object store, and the folder in which its bytes lie."""
    opened, where = open_store(f"file://{tmp_path}/objects"), tmp_path / "objects"
    if request.param == "nats":
        await provision(stack.client.jetstream(), objects=True, lease_seconds=LEASE_SECONDS)
        opened = open_store(f"{stack.url}/shard")
        [where] = await asyncio.to_thread(lambda: [*tmp_path.glob(f"**/{STREAM}")])
    yield opened, where
    opened.close()


async def test_every_generation_reaches_the_bucket_and_an_erasure_takes_it_away(
    stack: Stack, bucket: tuple[ObjectStore, Path], tmp_path: Path
) -> None:
    """The receipt counts generations as clean once none with the erased bytes is left in the bucket.

    Without the erasure, three generations and all that is younger than the grace stay there.
    """
    store, where = bucket
    await stack.log_events(2)
    stack.start(bucket=store.url)
    for number in range(2):
        text = f"text {number} with the secret word {'xylophone' * number}"
        await stack.derive(f"e{number}", number + 1, [row(f"e{number}", number + 1, text)])
        manifest = await stack.until(lambda m, wanted=number + 1: m.counts.memories == wanted)
        newest = GenerationPosition(manifest.epoch, current_number(stack.data) or 0)
        await _until(lambda wanted=newest: _pointed(store) == wanted)
    assert files_with(where, "xylophone")
    pulled = Puller(store, tmp_path / "replica").pull()
    assert pulled is not None
    number = pulled.manifest.generation
    assert verify(folder_of(tmp_path / "replica", number), verified=set()) == pulled.manifest
    assert len(stored_positions(store)) >= 2
    await stack.publish_event(
        EraseEvent(event_id="x", tenant_id="acme", memory_ids=[memory_id("acme", "e1", 0)])
    )
    erased = await stack.until(lambda m: m.counts.memories == 1)
    await _until(lambda: not files_with(where, "xylophone"))
    assert min(stored_positions(store)).generation >= erased.generation
    await _until(lambda: _generations_clean(stack) > 0)
    assert any(one.path for one in store.list(PARTS))
    assert Puller(store, tmp_path / "other").pull() is not None


def _generations_clean(stack: Stack) -> int:
    number = current_number(stack.data)
    assert number is not None
    receipts = all_receipts(folder_of(stack.data, number))
    return max((receipt.places["generations"].generation for receipt in receipts), default=0)


def _with_s3(address: str) -> str:
    """The program of a writer whose S3 is at an address."""
    return (
        "import os, runpy;"
        f"os.environ.update(AWS_ENDPOINT_URL={address!r}, AWS_ALLOW_HTTP='true',"
        "AWS_ACCESS_KEY_ID='test', AWS_SECRET_ACCESS_KEY='test', AWS_REGION='us-east-1');"
        "runpy.run_module('helix_consolidation', run_name='__main__')"
    )


async def test_a_writer_refuses_a_store_that_ignores_preconditions(
    stack: Stack, careless_address: str
) -> None:
    """It ends with the reason before it publishes anything."""
    process = stack.start(code=_with_s3(careless_address), bucket="s3://helix/shard")
    assert await asyncio.to_thread(process.wait, PATIENCE_SECONDS) != 0
    assert "ignores If-None-Match" in stack.log(process)
    assert current_number(stack.data) is None


async def test_a_bucket_that_is_away_keeps_no_generation_back(stack: Stack) -> None:
    """The writer publishes; the record tells `helix status` what is wrong."""
    await stack.log_events(1)
    process = stack.start(code=_with_s3("http://127.0.0.1:1"), bucket="s3://helix/shard")
    await stack.derive("e0", 1, [row("e0", 1, "text")])
    await stack.until(lambda m: m.counts.memories == 1)
    await stack.until_logged(process, "not uploaded")
    assert "does not answer" in UploadRecord.read(stack.data).problem
