"""Windows read from a real log: the same for a worker that starts anywhere, whatever stands between turns."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from nats.aio.client import Client

from helix_extract.accounting.ledger import Ledger
from helix_extract.consumer import Extract
from helix_extract.language_model import LanguageModel
from helix_extract.settings import ExtractSettings
from helix_extract.windows.session_log import SessionLog
from helix_extract.windows.window import Turn, Window, WindowLimits
from helix_memory import subjects
from helix_memory.events import MessageEvent
from helix_memory.transport.publisher import Publisher
from helix_shared.broker import log, streams
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.worker.lanes import Lanes
from helix_shared.broker.worker.worker import Connected
from helix_shared.endpoint.client import Endpoint
from helix_shared.errors import TemporaryError

from .endpoint_server import EndpointServer

pytestmark = pytest.mark.integration

LIMITS = WindowLimits(characters=100, turns=3, seconds=30.0)


async def say(client: Client, *texts: str, session: str = "s", begin: int = 1) -> list[Turn]:
    """Publish turns and read them back with the times of the server."""
    publisher, turns = Publisher(client.jetstream()), []
    for number, text in enumerate(texts, begin):
        event = MessageEvent(
            event_id=f"{session}{number}", tenant_id="acme", session_id=session, role="user", text=text
        )
        sequence = (await publisher.publish_event(event)).sequence
        found = await log.message_at(client, subjects.EVENTS_STREAM, sequence)
        assert found is not None
        turns.append(Turn(event, sequence, found.stored_at))
    return turns


def texts_of(window: Window | None) -> list[str] | None:
    """The texts of a window."""
    return None if window is None else [turn.event.text for turn in window.turns]


def later() -> datetime:
    """A clock by which every window is over."""
    return datetime.now(UTC) + timedelta(minutes=5)


async def test_only_the_last_turn_of_a_window_asks(nats_client: Client) -> None:
    """Three turns fill the first window; the two others are closed by time."""
    turns = await say(nats_client, "a", "b", "c", "d", "e")
    await say(nats_client, "elsewhere", session="t")
    sessions = SessionLog(LIMITS, clock=later)
    found = [texts_of(await sessions.completed_window(nats_client, turn)) for turn in turns]
    assert found == [None, None, ["a", "b", "c"], None, ["d", "e"]]


async def test_a_worker_that_starts_anywhere_finds_the_same_windows(nats_client: Client) -> None:
    """Also backwards, and with a message between that ingest refuses."""
    turns = await say(nats_client, "a", "b")
    subject = subjects.session_messages("acme", "s")
    await nats_client.jetstream().publish(subject, b"{}", headers={"Nats-Msg-Id": "broken"})
    turns += await say(nats_client, "c", "d", "e", begin=3)
    expected = [None, None, ["a", "b", "c"], None, ["d", "e"]]
    for order in (range(5), reversed(range(5)), (3, 1, 4, 0, 2)):
        for fresh in (True, False):
            sessions, found = SessionLog(LIMITS, clock=later), dict[int, list[str] | None]()
            for place in list(order):
                if fresh:
                    sessions = SessionLog(LIMITS, clock=later)
                found[place] = texts_of(await sessions.completed_window(nats_client, turns[place]))
            assert [found[place] for place in sorted(found)] == [expected[place] for place in sorted(found)]


async def test_an_open_window_waits_for_its_time_or_the_next_turn(nats_client: Client) -> None:
    """The handler of the first turn ends as soon as the second is handled."""
    (first,) = await say(nats_client, "a")
    sessions = SessionLog(LIMITS)
    waiting = asyncio.create_task(sessions.completed_window(nats_client, first))
    await asyncio.sleep(0.2)
    assert not waiting.done()
    (second,) = await say(nats_client, "b", begin=2)
    after = asyncio.create_task(sessions.completed_window(nats_client, second))
    assert await asyncio.wait_for(waiting, 5) is None
    sessions.end()
    with pytest.raises(TemporaryError, match="worker ends"):
        await asyncio.wait_for(after, 5)


async def test_a_short_window_closes_by_itself(nats_client: Client) -> None:
    """After its seconds and the tolerance for clocks."""
    (only,) = await say(nats_client, "a")
    sessions = SessionLog(WindowLimits(seconds=0.1))
    assert texts_of(await asyncio.wait_for(sessions.completed_window(nats_client, only), 10)) == ["a"]


async def test_an_erased_turn_is_not_sent_when_the_model_answers_again(
    nats_client: Client, server: EndpointServer
) -> None:
    """A window waits without an end while the model does not answer; the others of it are asked about."""
    await provision(nats_client.jetstream(), endpoint=True)
    server.status = 500
    settings = ExtractSettings(base_url=server.url, model="small", tenants=("acme",))
    bucket = await nats_client.jetstream().key_value(streams.LEDGER)
    sessions = SessionLog(settings.limits, clock=later)
    connected = Connected(nats_client, Publisher(nats_client.jetstream()), Lanes(1))
    no_rows: Any = None
    turns = await say(nats_client, "my secret", "hello")
    async with Endpoint.of(settings, key="") as endpoint:
        language_model = LanguageModel(settings, endpoint, Ledger(bucket, daily_tokens=0), sessions.pause)
        worker = Extract(settings, sessions, language_model, no_rows)
        window = await sessions.completed_window(nats_client, turns[1])
        assert texts_of(window) == ["my secret", "hello"]
        answering = asyncio.create_task(worker._answered(cast("Window", window), connected))
        async with asyncio.timeout(60):
            while not server.requests:  # noqa: ASYNC110  the server is a thread
                await asyncio.sleep(0.01)
            await nats_client.jetstream().delete_msg(subjects.EVENTS_STREAM, turns[0].sequence)
            erased, server.status = len(server.requests), 0
            answered = await answering
    assert answered is not None
    assert texts_of(answered[0]) == ["hello"]
    assert "my secret" not in str(server.requests[erased:])
    # nor together with the next turn
    (following,) = await say(nats_client, "bye", begin=3)
    assert texts_of(await sessions.completed_window(nats_client, following)) == ["hello", "bye"]
