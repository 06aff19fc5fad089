"""kg and doc2query with messages of other releases, and requests to derive again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from helix_memory import subjects
from helix_shared import edges
from helix_shared.broker.worker.rederive import derivation_responder, request_derivation, requested_sequence
from helix_shared.errors import TemporaryError

from .messages import SERVICES, Workers, body_of, collect, memory, of_another_release, publish, until_idle

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("service", SERVICES)
async def test_a_message_of_another_release_is_held_and_spoils_no_other(
    nats_client: Client, workers: Workers, service: str
) -> None:
    """It is no dead letter and has no empty answer; others are answered meanwhile."""
    jetstream = nats_client.jetstream()
    origin = edges.Origin("memories", "acme", "e9", "message", 9)
    lacking = edges.memories_schema(4).remove(edges.memories_schema(4).get_field_index("text"))
    newer = of_another_release(edges.encode(origin, [], edges.memories_schema(4)))
    for body in (newer, edges.encode(origin, [], lacking)):
        await jetstream.publish(subjects.derived_subject("memories", "acme"), body)
    await publish(nats_client, 1, [memory(1)])
    process = workers.start(service)
    (answered,) = await collect(nats_client, SERVICES[service], wanted=1)
    assert answered[0].event_sequence == 1
    assert (await jetstream.consumer_info(subjects.DERIVED_STREAM, service)).num_ack_pending == 2
    assert (await jetstream.stream_info(subjects.DLQ_STREAM)).state.messages == 0
    assert workers.log(process, service).count("run one release everywhere") >= 2


async def test_a_message_of_an_older_release_is_derived_again_by_ingest(
    nats_client: Client, workers: Workers
) -> None:
    """What the release before has left in the stream is linked and expanded; nobody holds it."""
    asked: list[int] = []

    async def again(request: Msg) -> bytes:
        asked.append(requested_sequence(request))
        return body_of(asked[-1])

    for number in (1, 2):
        older = of_another_release(body_of(number), "1")
        await publish(nats_client, number, older)
    async with derivation_responder(nats_client, "memories", again):
        for service, edge in SERVICES.items():
            workers.start(service)
            answers = await collect(nats_client, edge, wanted=2)
            assert {origin.event_sequence: len(rows) > 0 for origin, rows in answers} == {1: True, 2: True}
            await until_idle(nats_client, service)
    assert sorted(asked) == [1, 1, 2, 2]


@pytest.mark.parametrize("service", SERVICES)
async def test_what_was_derived_can_be_asked_for_again(
    nats_client: Client, workers: Workers, service: str
) -> None:
    """The reply is what was published, and nothing more is published."""
    process = workers.start(service)
    await publish(nats_client, 1, [memory(1)])
    ((origin, rows),) = await collect(nats_client, SERVICES[service], wanted=1)
    body = edges.encode(replace(origin, edge="memories"), [memory(1)], edges.memories_schema(4))
    before = (await nats_client.jetstream().stream_info(subjects.DERIVED_STREAM)).state.last_seq
    again, batch = edges.decode(
        await request_derivation(nats_client, SERVICES[service], sequence=1, body=body)
    )
    assert (again, batch.to_pylist()) == (origin, rows)
    newer = of_another_release(body)
    with pytest.raises(TemporaryError, match="run one release everywhere"):
        await request_derivation(nats_client, SERVICES[service], sequence=1, body=newer)
    assert (await nats_client.jetstream().stream_info(subjects.DERIVED_STREAM)).state.last_seq == before
    assert process.poll() is None
