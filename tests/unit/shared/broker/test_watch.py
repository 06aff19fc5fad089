"""What the watch of a worker does about consumers on a real server."""

import asyncio
from dataclasses import dataclass, field

from nats.aio.client import Client

from helix_memory import subjects
from helix_memory.transport.publisher import Publisher
from helix_shared.broker import streams
from helix_shared.broker.pull import Pulling
from helix_shared.broker.worker.watch import watch
from helix_shared.telemetry.health import STARTING, Health


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
