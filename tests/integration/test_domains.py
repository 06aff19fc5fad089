"""JetStream domains: what works on a server with one, and through a leaf node of it (ops/decisions/0097)."""

import contextlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from nats.aio.client import Client
from nats.js.errors import NoStreamResponseError, NotFoundError

from helix_consolidation.delivery.leading.lease import Lease
from helix_memory import events, subjects
from helix_memory.sharding import MOST_SHARDS
from helix_memory.transport.connection import connect
from helix_memory.transport.polling import async_poll
from helix_memory.transport.publisher import Publisher
from helix_shared.broker import log, streams
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.pull_reader import PullReader
from helix_shared.broker.server import NatsServer, config_text, free_port
from helix_shared.broker.shard_bucket import SHARDS
from helix_shared.broker.stored_at import IMPORTS
from helix_shared.errors import HelixError

pytestmark = pytest.mark.integration

SECONDS = 10.0
LEGAL = re.compile(r"[A-Za-z0-9_-]+\Z")


@dataclass(frozen=True)
class Sides:
    """A client of the server with the streams, and one of a leaf node with JetStream of its own."""

    hub: Client
    leaf: Client


def jetstream_of(folder: Path, domain: str) -> str:
    """In the place of the block that the configuration has."""
    return f"jetstream {{ store_dir: {config_text(str(folder))}, domain: {domain} }}"


@pytest.fixture
async def sides(tmp_path: Path) -> AsyncIterator[Sides]:
    """Both servers run, and the streams are provisioned."""
    port = free_port()
    of_hub = f'{jetstream_of(tmp_path / "a", "hub")}\nleafnodes {{ listen: "127.0.0.1:{port}" }}'
    remotes = f'leafnodes {{ remotes: [{{ url: "nats://127.0.0.1:{port}" }}] }}'
    of_leaf = f"{jetstream_of(tmp_path / 'b', 'edge')}\n{remotes}"
    with (
        NatsServer(tmp_path / "hub", access=lambda: of_hub) as hub,
        NatsServer(tmp_path / "leaf", access=lambda: of_leaf) as leaf,
    ):
        opened = [await connect(one.url, name="test") for one in (hub, leaf)]
        await provision(opened[0].jetstream())
        yield Sides(*opened)
        for one in opened:
            await one.close()


def turn(number: int) -> events.MessageEvent:
    """An event of its own."""
    return events.MessageEvent(
        event_id=f"e{number}", tenant_id="acme", session_id="s", role="user", text=f"turn {number}"
    )


def test_names_are_legal_in_every_domain_and_name_none() -> None:
    """A server with the same streams in another domain gets the same names."""
    consumers = (*streams.consumers_of(MOST_SHARDS), *streams.ENDPOINT_CONSUMERS)
    names = [str(one.name) for one in streams.wanted_streams()] + [one.name for one in consumers]
    assert len(names) > 60
    assert all(LEGAL.match(name) for name in (*names, streams.LEASES, streams.LEDGER, SHARDS, IMPORTS))


async def test_everything_is_reached_on_a_server_that_has_a_domain(sides: Sides) -> None:
    """Its own API has two names, and Helix uses the one that every server has."""
    jetstream = sides.hub.jetstream()
    assert (await jetstream.account_info()).domain == "hub"
    lease = await Lease.acquire(await jetstream.key_value(streams.LEASES), lock_identity="a")
    assert lease is not None
    await lease.renew()
    stored = await Publisher(jetstream).publish_event(turn(1))
    found = await log.message_at(sides.hub, subjects.EVENTS_STREAM, stored.sequence)
    assert found is not None
    assert found.sequence == 1
    reader = await PullReader.open(sides.hub, stream=subjects.EVENTS_STREAM, consumer=streams.INGEST)
    (message,) = await reader.fetch(8, timeout_seconds=SECONDS)
    await message.ack_sync()
    info = await jetstream.consumer_info(subjects.EVENTS_STREAM, streams.INGEST)
    assert (info.num_pending, info.num_ack_pending) == (0, 0)
    await lease.release()


async def test_a_publisher_may_stand_behind_a_leaf_node_and_a_service_may_not(sides: Sides) -> None:
    """Subjects of events cross the connection of a leaf node; the API and keys of buckets do not."""
    publisher, stored = Publisher(sides.leaf.jetstream()), None
    async for _ in async_poll(SECONDS):
        # until the leaf node is connected
        with contextlib.suppress(HelixError):
            stored = await publisher.publish_event(turn(2))
            break
    assert stored is not None
    found = await log.message_at(sides.hub, subjects.EVENTS_STREAM, stored.sequence)
    assert found is not None
    assert b"turn 2" in found.body
    with pytest.raises(NotFoundError):
        await sides.leaf.jetstream().stream_info(subjects.EVENTS_STREAM)
    through = sides.leaf.jetstream(domain="hub")
    assert (await through.stream_info(subjects.EVENTS_STREAM)).state.last_seq == stored.sequence
    bucket = await through.key_value(streams.LEASES)
    # nats-py publishes on $KV without the prefix of the domain
    with pytest.raises(NoStreamResponseError):
        await bucket.put(streams.writer_key(0), b"{}")
