"""What the watch of a worker does about consumers on a real server."""

import asyncio
from dataclasses import dataclass, field, replace

from nats.aio.client import Client
from nats.js import api

from helix_memory import subjects
from helix_memory.transport.polling import async_poll
from helix_memory.transport.publisher import Publisher
from helix_shared.broker import streams
from helix_shared.broker.cancelling import cancel_all
from helix_shared.broker.pull import Pulling
from helix_shared.broker.shard_bucket import MAP_KEY, SHARDS
from helix_shared.broker.worker.watch import watch, watch_settings
from helix_shared.telemetry.health import STARTING, Health
from helix_shared.telemetry.metrics import STREAM_SETTINGS


@dataclass
class Reading:
    """The durable of kg, which nobody reads."""

    stream: str = subjects.DERIVED_STREAM
    name: str = streams.KG
    lanes: None = None
    pulling: Pulling = field(default_factory=Pulling)


async def watched(client: Client, reading: Reading, *, seconds: float) -> tuple[list[str], Health]:
    """The failure that ends a watch within some seconds, if any, and the health."""
    failures: list[str] = []
    health = Health()
    health.set_problem(STARTING, "")
    watching = watch(client, [reading], health, fail=failures.append, service="kg", stalled_seconds=0.5)
    await asyncio.wait([asyncio.create_task(watching)], timeout=seconds)
    return failures, health


async def pending(client: Client) -> None:
    """A message for kg."""
    await Publisher(client.jetstream()).publish(
        subjects.derived_subject("memories", "acme"), b"", message_id="m"
    )


async def test_a_worker_that_fetches_nothing_although_messages_are_pending_ends(nats_client: Client) -> None:
    """It has room, and is not ready before it ends."""
    await pending(nats_client)
    failures, health = await watched(nats_client, Reading(), seconds=20)
    assert failures == ["1 messages of kg are pending and none is fetched"]
    assert "none is fetched" in health.not_ready()


async def test_a_worker_at_work_and_an_idle_one_go_on(nats_client: Client) -> None:
    """Nothing to fetch; or messages in work, whose handlers have a deadline of their own."""
    failures, health = await watched(nats_client, Reading(), seconds=3)
    assert (failures, health.not_ready()) == ([], "")
    await pending(nats_client)
    failures, health = await watched(nats_client, Reading(pulling=Pulling(in_work=1)), seconds=3)
    assert (failures, health.not_ready()) == ([], "")


async def test_a_deleted_consumer_is_named_and_ends_the_worker(nats_client: Client) -> None:
    """Only provisioning makes it again."""
    await nats_client.jetstream().delete_consumer(subjects.DERIVED_STREAM, streams.KG)
    failures, health = await watched(nats_client, Reading(), seconds=20)
    assert failures == ["consumer HELIX_DERIVED/kg was deleted"]
    assert "was deleted" in health.not_ready()


def differing() -> set[str]:
    """Streams of which a setting is counted as different."""
    samples = [one for metric in STREAM_SETTINGS.collect() for one in metric.samples]
    return {str(one.labels["stream"]) for one in samples if one.value}


async def test_settings_are_compared_again_after_something_that_cannot_be_read(nats_client: Client) -> None:
    """A damaged shard map, which tells the consumers that are wanted, ends no comparison for good."""
    jetstream = nats_client.jetstream()
    bucket = await jetstream.create_key_value(api.KeyValueConfig(bucket=SHARDS))
    await bucket.put(MAP_KEY, b"no map")
    watching = asyncio.create_task(watch_settings(nats_client, every_seconds=0.05))
    await asyncio.wait([watching], timeout=1.0)
    await jetstream.delete_key_value(SHARDS)
    config = (await jetstream.stream_info(subjects.DLQ_STREAM)).config
    await jetstream.update_stream(replace(config, max_msg_size=1_000))
    async for _ in async_poll(20):
        if subjects.DLQ_STREAM in differing():
            break
    found = differing()
    await cancel_all([watching])
    STREAM_SETTINGS.clear()
    assert subjects.DLQ_STREAM in found
