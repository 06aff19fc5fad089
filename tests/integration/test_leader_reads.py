"""Where a stream has replicas, a replica that is behind decides nothing: the leader confirms what it says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from helix_memory import events, subjects
from helix_memory.transport.connection import connect
from helix_memory.transport.publisher import Publisher
from helix_shared.broker import log
from helix_shared.broker.provisioning.provision import Replication, most_replicas, provision, stream_settings
from helix_shared.broker.server import NatsServer

pytestmark = pytest.mark.integration

TURNS = subjects.session_messages("acme", "s")
REMOVED = 3


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """A server with six turns of a session, of which the third was removed."""
    with NatsServer(tmp_path / "nats") as server:
        opened = await connect(server.url, name="test")
        await provision(opened.jetstream())
        publisher = Publisher(opened.jetstream())
        for number in range(6):
            await publisher.publish_event(
                events.MessageEvent(
                    event_id=f"e{number}",
                    tenant_id="acme",
                    session_id="s",
                    role="user",
                    text=f"turn {number}",
                )
            )
        await opened.jetstream().delete_msg(subjects.EVENTS_STREAM, REMOVED)
        yield opened
        await opened.close()


def replica_says(
    monkeypatch: pytest.MonkeyPatch, said: log.LoggedMessage | None, *, once: bool = False
) -> None:
    """A replica that is behind answers direct gets; with `once`, the first one alone."""
    real, asked = log._direct, list[object]()

    async def direct(client: Client, stream: str, selector: Mapping[str, Any]) -> log.LoggedMessage | None:
        asked.append(selector)
        return await real(client, stream, selector) if once and len(asked) > 1 else said

    monkeypatch.setattr(log, "_direct", direct)


async def replicated(client: Client, *, is_replicated: bool) -> None:
    """What is known of the stream on this connection."""
    log._replicated[client] = {subjects.EVENTS_STREAM: is_replicated}


async def test_the_leader_answers_as_a_direct_get_does(client: Client) -> None:
    """Subject, sequence, time to the microsecond, body; and what is not there."""
    found = []
    for is_replicated in (False, True):
        await replicated(client, is_replicated=is_replicated)
        stream = subjects.EVENTS_STREAM
        found.append(
            [
                *[await log.message_at(client, stream, n) for n in range(1, 8)],
                *[await log.first_after(client, stream, TURNS, n) for n in range(7)],
                *[await log.last_before(client, stream, TURNS, n) for n in range(8)],
                await log.some_after(client, stream, TURNS, 1, most=3),
                await log.some_after(client, stream, TURNS, 4, most=9),
            ]
        )
    assert found[0] == found[1]
    assert found[1][REMOVED - 1] is None


@pytest.mark.parametrize("place", [0, 1, 2])
async def test_a_replica_that_lacks_turns_is_corrected(
    client: Client, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    """It says that an older turn is the last, or that there is none. Control: believed where it is alone."""
    stale = await log.message_at(client, subjects.EVENTS_STREAM, place) if place else None
    replica_says(monkeypatch, stale)
    await replicated(client, is_replicated=True)
    right = await log.last_before(client, subjects.EVENTS_STREAM, TURNS, 6)
    assert right is not None
    assert right.sequence == 5
    await replicated(client, is_replicated=False)
    assert await log.last_before(client, subjects.EVENTS_STREAM, TURNS, 6) == stale


async def test_a_replica_that_still_has_a_removed_turn_is_corrected(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was erased is quoted by nothing."""
    erased = await log.message_at(client, subjects.EVENTS_STREAM, 2)
    assert erased is not None
    still = log.LoggedMessage(erased.subject, REMOVED, erased.stored_at, b"erased")
    replica_says(monkeypatch, still, once=True)
    await replicated(client, is_replicated=True)
    right = await log.last_before(client, subjects.EVENTS_STREAM, TURNS, 4)
    assert right is not None
    assert (right.sequence, right.body) == (2, erased.body)


async def test_provisioning_keeps_what_it_is_not_told(client: Client) -> None:
    """Replicas and placement stay as they are unless they are given; a bucket follows, too."""
    before = await stream_settings(client.jetstream(), subjects.EVENTS_STREAM)
    await provision(client.jetstream())
    assert await stream_settings(client.jetstream(), subjects.EVENTS_STREAM) == before
    assert before is not None
    copied = Replication(3, ("eu",)).of(before, None)
    kept = Replication(most_replicas([before, copied, None])).of(before, copied)
    assert kept.num_replicas == 3
    assert kept.placement is not None
    assert kept.placement.tags == ["eu"]
