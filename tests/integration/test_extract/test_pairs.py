"""Pairs over a real NATS and a server that answers about them well, badly, late, and not at all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from helix_cli.clients.endpoint_status import EndpointStatus, endpoint_status
from helix_extract.accounting.ledger import Ledger
from helix_extract.language_model import LanguageModel
from helix_extract.pairs.judge import Judge
from helix_extract.settings import ExtractSettings
from helix_extract.windows.session_log import SessionLog
from helix_memory import subjects
from helix_memory.transport.publisher import Publisher
from helix_shared import edges
from helix_shared.broker import streams
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.worker.lanes import Lanes
from helix_shared.broker.worker.rederive import derivation_responder, request_derivation
from helix_shared.broker.worker.worker import Connected
from helix_shared.endpoint.client import Endpoint
from helix_shared.errors import PermanentError, TemporaryError
from helix_shared.identity import memory_id
from helix_shared.pairs.messages import Pair, PairedText, UnsurePairs

from .endpoint_server import EndpointServer

pytestmark = pytest.mark.integration

OLD, NEW = "The choir meets at seven.", "The choir meets at eight now."


def asked(sequence: int, *, tenant: str = "acme", age_days: float = 0.0, pairs: int = 1) -> UnsurePairs:
    """Pairs of the event of this sequence."""
    now = int((datetime.now(UTC).timestamp() - age_days * 86_400) * 1e6)

    def side(number: int, text: str) -> PairedText:
        own = memory_id(tenant, f"e{number}", 0)
        return PairedText(memory_id=own, sequence=number, text=text, speaker="Mara", role="user", at=now)

    both = [
        Pair(newer=side(sequence, f"{NEW} ({sequence})"), older=side(number, f"{OLD} ({number})"))
        for number in range(1, pairs + 1)
    ]
    return UnsurePairs(tenant_id=tenant, event_sequence=sequence, stored_at=now, group=7, pairs=tuple(both))


class World:
    """A judge on a real NATS, and what it published."""

    def __init__(self, client: Client, ledger: Ledger, settings: ExtractSettings) -> None:
        self.client = client
        self.endpoint = Endpoint.of(settings, key="")
        self.connected = Connected(client, Publisher(client.jetstream()), Lanes(1))
        self.sessions = SessionLog(settings.limits)
        self.judge = Judge(settings, LanguageModel(settings, self.endpoint, ledger, self.sessions.pause))

    async def tell(self, *several: UnsurePairs) -> None:
        """Publish pairs, and handle what the consumer delivers."""
        jetstream = self.client.jetstream()
        for pairs in several:
            subject = subjects.pairs_subject(pairs.tenant_id, pairs.event_sequence)
            await jetstream.publish(subject, pairs.model_dump_json().encode())
        consumer = await jetstream.pull_subscribe_bind(
            durable=streams.EXTRACT_PAIRS, stream=subjects.PAIRS_STREAM
        )
        messages = await consumer.fetch(len(several), timeout=5)
        await asyncio.gather(*(self._handle(message) for message in messages))

    async def _handle(self, message: Msg) -> None:
        await self.judge.handle(message, self.connected)
        await message.ack()

    async def verdicts(self) -> dict[tuple[int, int], str]:
        """By sequences of newer and older: what HELIX_DERIVED holds."""
        found: dict[tuple[int, int], str] = {}
        info = await self.client.jetstream().stream_info(subjects.DERIVED_STREAM)
        for sequence in range(1, info.state.last_seq + 1):
            message = await self.client.jetstream().get_msg(subjects.DERIVED_STREAM, sequence)
            for row in edges.decode(message.data or b"")[1].to_pylist():
                found[row["newer_sequence"], row["older_sequence"]] = row["verdict"]
        return found

    async def status(self) -> EndpointStatus:
        """The ledger."""
        found = await endpoint_status(self.client.jetstream())
        assert found is not None
        return found


async def world_of(client: Client, server: EndpointServer, **fields: Any) -> World:
    """A provisioned NATS and a judge with short times."""
    values = {"timeout_seconds": 0.5, "breaker_seconds": 0.1, "pairs_seconds": 0.1, "tenants": "acme"}
    settings = ExtractSettings(base_url=server.url, model="small", **{**values, **fields})
    await provision(client.jetstream(), endpoint=True)
    bucket = await client.jetstream().key_value(streams.LEDGER)
    return World(client, Ledger(bucket, daily_tokens=settings.daily_tokens), settings)


async def test_pairs_of_several_events_are_one_question(nats_client: Client, server: EndpointServer) -> None:
    """Each event has its own record and message; delivered again, they are not asked again."""
    world = await world_of(nats_client, server)
    await world.tell(asked(5, pairs=2), asked(6))
    expected = {(5, 1): "replaces", (5, 2): "replaces", (6, 1): "replaces"}
    assert await world.verdicts() == expected
    [request] = server.requests
    assert [json.loads(line)["pair"] for line in request["messages"][-1]["content"].splitlines()] == [1, 2, 3]
    assert memory_id("acme", "e5", 0) not in json.dumps(request)
    await nats_client.jetstream().purge_stream(subjects.DERIVED_STREAM)
    await nats_client.jetstream().delete_stream(subjects.DERIVED_STREAM)
    again = await world_of(nats_client, server)
    await again.tell(asked(6), asked(5, pairs=2))
    assert await again.verdicts() == expected
    assert len(server.requests) == 1
    status = await again.status()
    assert status.pairs == {"answered": 1, "repeated": 2, "events": 4, "pairs": 6, "verdicts": 6}
    assert (status.pair_tokens, status.tokens, status.counts) == (500, {"acme": 500}, {})
    assert "pairs: 1 answers" in str(status)


async def test_a_pair_with_a_credential_is_not_sent(nats_client: Client, server: EndpointServer) -> None:
    """The other pair of its event is; a pair that is alone asks nothing."""
    world, key = await world_of(nats_client, server), "AKIA" + "Q" * 16
    both = asked(5, pairs=2)
    secret = both.pairs[0].older.model_copy(update={"text": f"The key is {key}."})
    first = both.pairs[0].model_copy(update={"older": secret})
    await world.tell(
        both.model_copy(update={"pairs": (first, both.pairs[1])}),
        asked(6).model_copy(update={"pairs": (first,)}),
    )
    assert await world.verdicts() == {(5, 2): "replaces"}
    assert len(server.requests) == 1
    assert key not in json.dumps(server.requests)


def altered(**fields: Any) -> Callable[[list[dict[str, Any]]], dict[str, Any]]:
    """An answer whose verdicts have other fields."""

    def answer(pairs: list[dict[str, Any]]) -> dict[str, Any]:
        honest = {"verdict": "adds", "older_quote": OLD, "newer_quote": NEW}
        return {"verdicts": [{"pair": pair["pair"], **honest, **fields} for pair in pairs]}

    return answer


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"pair": 9}, "pair"),
        ({"pair": "1"}, "schema"),
        ({"pair": 1.0}, "schema"),
        ({"older_quote": "The choir meets at nine."}, "quote"),
        ({"newer_quote": ""}, "quote"),
        ({"newer_quote": "e"}, "quote"),
        ({"verdict": "supersedes"}, "schema"),
    ],
)
async def test_a_lie_is_dropped_and_counted(
    nats_client: Client, server: EndpointServer, fields: dict[str, Any], reason: str
) -> None:
    """The pair is left to the rules, and not asked about again."""
    world = await world_of(nats_client, server)
    server.judge = altered(**fields)
    await world.tell(asked(5))
    assert await world.verdicts() == {(5, 1): ""}
    assert (await world.status()).pairs_dropped == {reason: 1}
    assert (await world.status()).dropped == {}


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda text: f"<think>Hm {{</think>Sure! Here it is:\n```json\n{text}\n```\nAnything else?", "adds"),
        (lambda text: text[:-2] + ', {"pair": 2, "verd', "adds"),
        (lambda text: text[:40], ""),
        (lambda _: "I cannot compare these.", ""),
        (lambda _: "", ""),
        (lambda _: "[" * 50_000, ""),
    ],
)
async def test_prose_and_cut_answers_are_read_as_far_as_they_go(
    nats_client: Client, server: EndpointServer, write: Callable[[str], str], expected: str
) -> None:
    """What is not there is left to the rules."""
    world = await world_of(nats_client, server)
    server.judge, server.write = altered(), write
    await world.tell(asked(5))
    assert await world.verdicts() == {(5, 1): expected}


async def slow(server: EndpointServer) -> None:
    """Later than the time limit."""
    server.seconds = 1.0
    await asyncio.sleep(0.7)
    server.seconds = 0.0


async def busy(server: EndpointServer) -> None:
    """429, and when to come back."""
    server.statuses = [(429, {"Retry-After": "1"}, "")]


async def failing(server: EndpointServer) -> None:
    """500 until it recovers."""
    server.status = 500
    await asyncio.sleep(0.7)
    server.status = 0


async def picky(server: EndpointServer) -> None:
    """400 on the temperature and on a schema."""
    server.refuses = ("temperature", "json_schema")


@pytest.mark.parametrize("trouble", [slow, busy, failing, picky])
async def test_what_passes_is_waited_for(nats_client: Client, server: EndpointServer, trouble: Any) -> None:
    """Nothing is lost; the verdict comes when the server answers."""
    world = await world_of(nats_client, server)
    await asyncio.gather(world.tell(asked(5)), trouble(server))
    assert await world.verdicts() == {(5, 1): "replaces"}
    assert len(server.requests) > 1


async def test_what_may_not_be_asked_is_left_to_the_rules(
    nats_client: Client, server: EndpointServer
) -> None:
    """Another tenant, old pairs, a spent budget, the setting, and a question that the server refuses."""
    world = await world_of(nats_client, server)
    await world.tell(asked(5, tenant="umbrella"), asked(6, age_days=8))
    off = await world_of(nats_client, server, pairs=False)
    await off.tell(asked(7))
    poor = await world_of(nats_client, server, daily_tokens=10)
    await poor.tell(asked(8))
    assert server.requests == []
    await world.tell(asked(9))
    server.status = 400
    await world.tell(asked(10))
    assert await world.verdicts() == {(9, 1): "replaces"}
    counts = (await world.status()).pairs or {}
    assert {name: counts[name] for name in ("too old", "over budget", "refused")} == {
        "too old": 1,
        "over budget": 1,
        "refused": 1,
    }


async def test_pairs_that_were_removed_while_they_waited_are_not_sent(
    nats_client: Client, server: EndpointServer
) -> None:
    """Consolidation removes a message whose text was forgotten; the rest of the question is asked again."""
    world = await world_of(nats_client, server)

    def sent() -> list[str]:
        return [json.dumps(request) for request in server.requests]

    async def until(holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not holds():  # noqa: ASYNC110  the server runs on another thread
                await asyncio.sleep(0.05)

    server.status = 500
    waiting = asyncio.create_task(world.tell(asked(5), asked(6)))
    await until(lambda: "(5)" in "".join(sent()))
    subject = subjects.pairs_subject("acme", 5)
    await nats_client.jetstream().purge_stream(subjects.PAIRS_STREAM, subject=subject)
    await until(lambda: "(5)" not in sent()[-1])
    server.status = 0
    await waiting
    assert await world.verdicts() == {(6, 1): "replaces"}
    assert ((await world.status()).pairs or {})["forgotten"] == 1


async def test_pairs_that_wait_for_others_are_given_back_when_the_worker_ends(
    nats_client: Client, server: EndpointServer
) -> None:
    """A question at the end would be paid for and asked again."""
    world = await world_of(nats_client, server, pairs_seconds=60.0)
    waiting = asyncio.create_task(world.tell(asked(5), asked(6)))
    await asyncio.sleep(0.5)
    assert not waiting.done()
    world.sessions.end()
    with pytest.raises(TemporaryError, match="worker ends"):
        await asyncio.wait_for(waiting, 5)
    assert server.requests == []


async def test_pairs_without_an_answer_are_asked_about_when_their_letter_is_redriven(
    nats_client: Client, server: EndpointServer
) -> None:
    """Only then, and within the limits: what gave no answer is not done with."""
    world = await world_of(nats_client, server)
    pairs = asked(5)
    subject = subjects.pairs_subject("acme", 5)
    await nats_client.jetstream().publish(subject, pairs.model_dump_json().encode())

    async def derived(judge: Judge, *, redrive: bool) -> list[str]:
        respond = partial(judge.rederive, connected=world.connected)
        async with derivation_responder(nats_client, "verdicts", respond):
            made = await request_derivation(nats_client, "verdicts", sequence=5, redrive=redrive)
        return [row["verdict"] for row in edges.decode(made.body)[1].to_pylist()]

    assert await derived(world.judge, redrive=False) == []
    poor = await world_of(nats_client, server, daily_tokens=10)
    with pytest.raises(TemporaryError, match="budget"):
        await derived(poor.judge, redrive=True)
    off = await world_of(nats_client, server, tenants="umbrella")
    with pytest.raises(PermanentError, match="acme"):
        await derived(off.judge, redrive=True)
    assert server.requests == []
    assert await derived(world.judge, redrive=True) == ["replaces"]
