from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from nats.js import api
from nats.js.kv import KeyValue

from helix_consolidation.delivery.leading.lease import FolderLock, Lease, LostLeaseError
from helix_memory.transport.connection import connect
from helix_shared.broker.server import NatsServer

pytestmark = pytest.mark.integration

TTL_SECONDS = 2.0


@pytest.fixture
async def bucket(tmp_path: Path) -> AsyncIterator[KeyValue]:
    """An empty lease bucket whose entries live for two seconds."""
    with NatsServer(tmp_path / "nats") as server:
        client = await connect(server.url, name="test")
        config = api.KeyValueConfig(bucket="HELIX_LEASES", ttl=TTL_SECONDS)
        yield await client.jetstream().create_key_value(config)
        await client.close()


async def acquired(bucket: KeyValue, lock: str) -> Lease:
    """A lease that must be free."""
    lease = await Lease.acquire(bucket, lock_identity=lock)
    assert lease is not None
    return lease


async def test_a_renewed_lease_keeps_others_out(bucket: KeyValue) -> None:
    """For longer than its time to live, and with its epoch unchanged."""
    lease = await acquired(bucket, "here")
    epoch = lease.epoch
    for _ in range(4):
        await asyncio.sleep(lease.renew_seconds)
        await lease.renew()
        assert await Lease.acquire(bucket, lock_identity="there") is None
    assert lease.is_held
    assert lease.epoch == epoch


async def test_a_holder_that_does_not_renew_is_replaced(bucket: KeyValue) -> None:
    """After the time to live another process gets it with a later epoch; the old holder has lost it."""
    first = await acquired(bucket, "here")
    await asyncio.sleep(TTL_SECONDS)
    assert not first.is_held
    for _ in range(40):
        second = await Lease.acquire(bucket, lock_identity="there")
        if second is not None:
            break
        await asyncio.sleep(0.1)
    assert second is not None
    assert second.epoch > first.epoch
    with pytest.raises(LostLeaseError):
        await first.renew()


async def test_the_holder_of_the_folder_lock_takes_over_its_lease_at_once(bucket: KeyValue) -> None:
    """The previous holder must have ended, because the lock is free."""
    first = await acquired(bucket, "here")
    second = await acquired(bucket, "here")
    assert second.epoch > first.epoch
    with pytest.raises(LostLeaseError):
        await first.renew()
    await second.renew()


async def test_a_released_lease_is_free_at_once(bucket: KeyValue) -> None:
    """The next process does not wait for the time to live."""
    first = await acquired(bucket, "here")
    await first.release()
    assert (await acquired(bucket, "there")).epoch > first.epoch


async def test_a_renewal_whose_reply_was_lost_keeps_the_lease(bucket: KeyValue) -> None:
    """The revision was changed by the holder itself."""
    lease = await acquired(bucket, "here")
    entry = await bucket.get("consolidation.0")
    await bucket.update("consolidation.0", entry.value or b"", last=entry.revision)
    await lease.renew()
    assert lease.is_held


def test_a_folder_has_one_lock(tmp_path: Path) -> None:
    """A second process cannot take it until the first releases it."""
    first, second = FolderLock(tmp_path), FolderLock(tmp_path)
    assert first.acquire()
    assert not second.acquire()
    assert first.identity == second.identity
    first.release()
    assert second.acquire()
    second.release()
