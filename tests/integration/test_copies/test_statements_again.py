"""After a rebuild `extract` reads the log again."""

import pytest
from nats.aio.client import Client

from helix_cli.rebuilding.taking_over.hand_over import draw_statements_again
from helix_memory import subjects
from helix_shared.broker import streams
from helix_shared.broker.provisioning.provision import provision

pytestmark = pytest.mark.integration


async def test_extract_reads_from_the_first_turn_on_where_it_is_provisioned(nats_client: Client) -> None:
    """Also while it runs: its consumer stays."""
    jetstream = nats_client.jetstream()
    assert not await draw_statements_again(jetstream)
    await provision(jetstream, endpoint=True)
    for _ in range(3):
        await jetstream.publish(subjects.event_subject("acme", "s", "message"), b"{}")
    reading = await jetstream.pull_subscribe_bind(streams.EXTRACT, subjects.EVENTS_STREAM)
    for message in await reading.fetch(3):
        await message.ack_sync()
    assert await draw_statements_again(jetstream)
    assert len(await reading.fetch(3, timeout=5)) == 3
