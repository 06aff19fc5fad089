"""Messages that kg and doc2query cannot read: dead letters, and those of another release."""

from __future__ import annotations

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from helix_memory import subjects
from helix_shared import edges
from helix_shared.broker.worker.rederive import Rederived, derivation_responder, requested_sequence

from .conftest import (
    SERVICES,
    Workers,
    body_of,
    collect,
    memory,
    of_another_release,
    publish,
    until_idle,
)

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("service", SERVICES)
async def test_a_malformed_message_is_dead_lettered_and_affects_no_other(
    nats_client: Client, workers: Workers, service: str
) -> None:
    """Bodies that are not batches, or are of another tenant, become dead letters with a reason."""
    jetstream = nats_client.jetstream()
    foreign = edges.encode(edges.Origin("memories", "evil", "e", "message", 9), [], edges.memories_schema(4))
    for body in (b"1", b"{", b"\xff\xfe\xff\xff", b"", foreign):
        await jetstream.publish(subjects.derived_subject("memories", "acme"), body)
    await publish(nats_client, 1, [memory(1)])
    process = workers.start(service)
    assert len(await collect(nats_client, SERVICES[service], wanted=1)) == 1
    dead = await jetstream.pull_subscribe(subjects.dlq_subject(service, "acme"), stream=subjects.DLQ_STREAM)
    letters = []
    while len(letters) < 5:
        letters += await dead.fetch(5, timeout=10)
    assert {letter.data for letter in letters} == {b"1", b"{", b"\xff\xfe\xff\xff", b"", foreign}
    assert all(letter.headers and letter.headers[subjects.REASON_HEADER] for letter in letters)
    await until_idle(nats_client, service)
    assert process.poll() is None


@pytest.mark.parametrize("service", SERVICES)
async def test_a_message_of_another_release_is_held_and_affects_no_other(
    nats_client: Client, workers: Workers, service: str
) -> None:
    """It becomes no dead letter and gives no empty result; other messages are processed meanwhile."""
    jetstream = nats_client.jetstream()
    origin = edges.Origin("memories", "acme", "e9", "message", 9)
    lacking = edges.memories_schema(4).remove(edges.memories_schema(4).get_field_index("text"))
    newer = of_another_release(edges.encode(origin, [], edges.memories_schema(4)))
    for body in (newer, edges.encode(origin, [], lacking)):
        await jetstream.publish(subjects.derived_subject("memories", "acme"), body)
    await publish(nats_client, 1, [memory(1)])
    process = workers.start(service)
    (result,) = await collect(nats_client, SERVICES[service], wanted=1)
    assert result[0].event_sequence == 1
    assert (await jetstream.consumer_info(subjects.DERIVED_STREAM, service)).num_ack_pending == 2
    assert (await jetstream.stream_info(subjects.DLQ_STREAM)).state.messages == 0
    assert workers.log(process, service).count("run one release everywhere") >= 2


async def test_a_message_of_an_older_release_is_derived_again_by_ingest(
    nats_client: Client, workers: Workers
) -> None:
    """Messages that an earlier release left in the stream are linked and expanded."""
    asked: list[int] = []

    async def again(request: Msg) -> Rederived:
        asked.append(requested_sequence(request))
        return Rederived(body_of(asked[-1]))

    for number in (1, 2):
        older = of_another_release(body_of(number), "1")
        await publish(nats_client, number, older)
    async with derivation_responder(nats_client, "memories", again):
        for service, edge in SERVICES.items():
            workers.start(service)
            results = await collect(nats_client, edge, wanted=2)
            assert {origin.event_sequence: len(rows) > 0 for origin, rows in results} == {1: True, 2: True}
            await until_idle(nats_client, service)
    assert sorted(asked) == [1, 1, 2, 2]
