"""A profile through all processes: facts are published, forgotten, corrected and erased."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from helix_cli.clients.recall_client import RecallClient
from helix_cli.stack.stack import Stack
from helix_memory import events, subjects
from helix_memory.recall.v1 import recall_pb2
from helix_shared.broker.connection import connect
from helix_shared.broker.publisher import Publisher

pytestmark = pytest.mark.integration

PATIENCE_SECONDS = 60


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, models_dir: Any) -> Iterator[tuple[Stack, RecallClient]]:
    """What a profile needs of Helix, and a client."""
    home, unused = tmp_path_factory.mktemp("home"), dict.fromkeys(("doc2query", "kg", "forwarder"), 0)
    with Stack(home, nats_port=0, query_port=0, copies=unused, models=models_dir) as running:
        running.wait_ready()
        with RecallClient(running.query_address) as client:
            yield running, client


@pytest.fixture
def publish(stack: tuple[Stack, RecallClient]) -> Callable[..., None]:
    """Publishes one event of tenant acme and waits until it is served."""
    running, client = stack

    def send(kind: str, event_id: str, **fields: Any) -> None:
        body = json.dumps({"kind": kind, "event_id": event_id, "tenant_id": "acme"} | fields).encode()
        events.parse_event(body)
        subject = subjects.event_subject("acme", fields.get("session_id", ""), kind)

        async def publishing() -> int:
            connection = await connect(running.nats_url, name="test")
            try:
                publisher = Publisher(connection.jetstream())
                return (await publisher.publish(subject, body, message_id=event_id)).sequence
            finally:
                await connection.close()

        client.wait_until_applied(asyncio.run(publishing()), wait_seconds=PATIENCE_SECONDS)

    return send


@pytest.fixture
def profile(stack: tuple[Stack, RecallClient]) -> Callable[[str], dict[str, list[str]]]:
    """The lines of a user's profile without dates, with the ids of their memories."""

    def ask(user: str) -> dict[str, list[str]]:
        scope = recall_pb2.Scope(tenant_id="acme", user_id=user)
        reply = stack[1].profile(recall_pb2.GetProfileRequest(scope=scope))
        return {line.text.rpartition(" (")[0]: list(line.memory_ids) for line in reply.profile.lines}

    return ask


def test_a_line_lives_as_long_as_its_memory(
    publish: Callable[..., None], profile: Callable[[str], dict[str, list[str]]]
) -> None:
    """Forgotten, erased and corrected memories leave with the next generation; nobody else sees any."""
    said = {"role": "user", "user_id": "ana", "session_id": "s1"}
    publish("message", "e1", text="I'm allergic to walnuts, keep that in mind.", **said)
    publish("message", "e2", text="Which cake shall we order for the team?", **said)
    publish(
        "message", "e3", text="You are allergic to walnuts, so no brownies.", **(said | {"role": "assistant"})
    )
    publish("message", "e4", text="I'd rather sit by the window on long trips.", **said)
    publish("message", "e5", text="I live in Tampere.", **said)
    publish("message", "e6", text="I love ice swimming.", **(said | {"user_id": "ben", "session_id": "s2"}))
    first = profile("ana")
    assert set(first) == {
        "I'm allergic to walnuts, keep that in mind.",
        "I'd rather sit by the window on long trips.",
        "I live in Tampere.",
    }
    assert set(profile("ben")) == {"I love ice swimming."}
    assert profile("eve") == profile("") == {}

    [window] = first["I'd rather sit by the window on long trips."]
    publish("forget", "e7", memory_ids=[window], user_id="ana")
    assert "I'd rather sit by the window on long trips." not in profile("ana")

    [home] = first["I live in Tampere."]
    publish("correct", "e8", memory_id=home, text="I live in Turku.", user_id="ana")
    assert "I live in Tampere." not in profile("ana")
    assert "I live in Turku." in profile("ana")

    [walnuts] = first["I'm allergic to walnuts, keep that in mind."]
    publish("erase", "e9", memory_ids=[walnuts], user_id="ana")
    assert set(profile("ana")) == {"I live in Turku."}
