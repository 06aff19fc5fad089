"""Which events a comparison leaves out, while kg and doc2query go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client
from nats.js import JetStreamContext

from helix_cli.rebuilding.parity.unfinished import unfinished_events
from helix_consolidation.stores.state_files import STATE_FILE
from helix_memory import subjects
from helix_shared import edges
from helix_shared.broker import streams

pytestmark = pytest.mark.integration


async def derive(jetstream: JetStreamContext, edge: str) -> None:
    """Store the message of an edge for event 1."""
    origin = edges.Origin(edge, "acme", "e1", "message", 1)
    schema = {"memories": edges.memories_schema(8), "links": edges.links_schema()}[edge]
    await jetstream.publish(subjects.derived_subject(edge, "acme"), edges.encode(origin, [], schema))


async def acknowledge(jetstream: JetStreamContext, name: str) -> None:
    """Acknowledge the one message that a worker has to handle."""
    pulled = await jetstream.pull_subscribe_bind(name, subjects.DERIVED_STREAM)
    [message] = await pulled.fetch(1, timeout=5)
    await message.ack_sync()


async def test_what_a_worker_stores_while_it_is_asked_is_unfinished(
    nats_client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One worker ends after the end of the stream was read, and before it is asked whether it is behind."""
    jetstream = nats_client.jetstream()
    await derive(jetstream, "memories")
    await acknowledge(jetstream, streams.DOC2QUERY)
    (tmp_path / STATE_FILE).parent.mkdir()
    (tmp_path / STATE_FILE).write_text(json.dumps({"derived": {"floor": 1, "above": []}}))
    assert await unfinished_events(nats_client, tmp_path, 1) == {1}, "kg has not worked"

    asked = JetStreamContext.consumer_info

    async def after_kg(self: JetStreamContext, stream: str, consumer: str, **given: Any) -> Any:
        if consumer == streams.KG:
            await derive(jetstream, "links")
            await acknowledge(jetstream, streams.KG)
        return await asked(self, stream, consumer, **given)

    monkeypatch.setattr(JetStreamContext, "consumer_info", after_kg)
    assert await unfinished_events(nats_client, tmp_path, 1) == {1}, "its links are in no generation"
    monkeypatch.undo()
    (tmp_path / STATE_FILE).write_text(json.dumps({"derived": {"floor": 2, "above": []}}))
    assert await unfinished_events(nats_client, tmp_path, 1) == set()


async def test_the_message_that_ends_a_file_for_an_erasure_is_of_no_event(
    nats_client: Client, tmp_path: Path
) -> None:
    """It is the newest until everything is acknowledged, and a rebuild may come before that."""
    jetstream = nats_client.jetstream()
    await derive(jetstream, "memories")
    await jetstream.publish(subjects.derived_filler(), bytes(100))
    await acknowledge(jetstream, streams.DOC2QUERY)
    await acknowledge(jetstream, streams.KG)
    (tmp_path / STATE_FILE).parent.mkdir()
    (tmp_path / STATE_FILE).write_text(json.dumps({"derived": {"floor": 1, "above": []}}))
    assert await unfinished_events(nats_client, tmp_path, 1) == set()
