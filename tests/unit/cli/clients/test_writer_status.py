"""What the leases in NATS say of the writers."""

from nats.aio.client import Client

from helix_cli.clients.sharding import grow
from helix_cli.clients.writer_status import writer_status
from helix_consolidation.delivery.leading.lease import Lease
from helix_shared.broker import streams


async def test_a_writer_that_does_not_write_is_named_with_its_shard(nats_client: Client) -> None:
    """An operator has to know which of the processes to look at; where there is one, no shard is named."""
    jetstream = nats_client.jetstream()
    assert str(await writer_status(jetstream)) == "no process has the lease"
    await grow(nats_client, 2)
    bucket = await jetstream.key_value(streams.LEASES)
    assert await Lease.acquire(bucket, lock_identity="a")
    assert str(await writer_status(jetstream)) == "of shard 1: no process has the lease"
    assert await Lease.acquire(bucket, lock_identity="b", shard=1)
    assert str(await writer_status(jetstream)) == "ok"
