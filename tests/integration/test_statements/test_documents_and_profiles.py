"""Documents and profiles through all processes, on one stack.

Documents are published, recalled with their offsets, replaced and deleted by id. The facts of a profile are
published, forgotten, corrected and erased.
"""

import asyncio
import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.stack.stack import Stack
from helix_memory import events
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.connection import connect
from helix_memory.transport.publisher import Publisher
from helix_memory.transport.recall_client import RecallClient

pytestmark = pytest.mark.integration

PATIENCE_SECONDS = 60

PAGE = (
    "<h1>Wards</h1><table><tr><th>Ward</th><th>Visiting hours</th></tr>"
    "<tr><td>Maternity</td><td>{}</td></tr></table>"
)


@pytest.fixture
def client(stack: Stack) -> Iterator[RecallClient]:
    """A client of the stack."""
    with RecallClient(stack.query_address) as opened:
        yield opened


@pytest.fixture
def publish(stack: Stack, client: RecallClient) -> Callable[..., None]:
    """Publishes one event and waits until it is served."""

    def send(kind: str, event_id: str, **fields: Any) -> None:
        named = {"kind": kind, "event_id": event_id} | fields
        event = events.parse_event(json.dumps(named).encode())

        async def publishing() -> int:
            connection = await connect(stack.nats_url, name="test")
            try:
                return (await Publisher(connection.jetstream()).publish_event(event)).sequence
            finally:
                await connection.close()

        client.wait_until_applied(asyncio.run(publishing()), wait_seconds=PATIENCE_SECONDS)

    return send


def test_document_is_recalled_replaced_and_deleted(
    stack: Stack, client: RecallClient, publish: Callable[..., None]
) -> None:
    """An HTML page in two versions, then deleted; a file that is no PDF is a dead letter."""

    def wards() -> list[recall_pb2.Memory]:
        request = recall_pb2.RecallRequest(
            scope=recall_pb2.Scope(tenant_id="clinic"),
            query="visiting hours of the maternity ward",
            never_skip=True,
        )
        return [found.memory for found in client.recall(request).memories]

    document = {"document_id": "wards", "tenant_id": "clinic"}
    page = document | {"media_type": "text/html", "title": "Hospital"}
    publish("document", "e1", body=PAGE.format("2 to 5 pm"), **page)
    (first,) = wards()
    assert first.text.endswith("| Ward | Visiting hours |\n|---|---|\n| Maternity | 2 to 5 pm |")
    assert (first.source.document_id, first.source.char_start) == ("wards", 0)
    assert first.source.char_end == len(first.text)

    publish("document", "e2", body=PAGE.format("3 to 6 pm"), **page)
    (second,) = wards()
    assert "3 to 6 pm" in second.text

    broken = base64.b64encode(b"no file of that kind").decode()
    publish("document", "e3", body_base64=broken, media_type="application/pdf", **document)
    assert [memory.memory_id for memory in wards()] == [second.memory_id]
    runner = CliRunner(env={"HELIX_HOME": str(stack.home.root)})
    letters = json.loads(runner.invoke(app, ["dlq", "ls", "--json"]).stdout)
    reasons = [letter["reason"] for letter in letters if ".clinic." in letter["subject"]]
    assert reasons == ["body_base64: is no PDF file"]

    publish("document", "e4", deleted=True, **document)
    assert wards() == []


@pytest.fixture
def profile(client: RecallClient) -> Callable[[str], dict[str, list[str]]]:
    """The lines of a user's profile without dates, with the ids of their memories."""

    def ask(user: str) -> dict[str, list[str]]:
        scope = recall_pb2.Scope(tenant_id="household", user_id=user)
        reply = client.profile(recall_pb2.GetProfileRequest(scope=scope))
        return {line.text.rpartition(" (")[0]: list(line.memory_ids) for line in reply.profile.lines}

    return ask


@pytest.mark.long
def test_a_line_lives_as_long_as_its_memory(
    publish: Callable[..., None], profile: Callable[[str], dict[str, list[str]]]
) -> None:
    """Forgotten, erased and corrected memories leave with the next generation; nobody else sees any."""
    household = {"tenant_id": "household"}
    said = household | {"role": "user", "user_id": "ana", "session_id": "s1"}
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

    told = household | {"role": "user", "user_id": "cem", "session_id": "s3"}
    publish("message", "e61", text="We moved yesterday to Ghent.", **told)
    publish("message", "e62", text="We moved yesterday into the new flat.", **told)
    assert set(profile("cem")) == {"We moved yesterday to Ghent.", "We moved yesterday into the new flat."}

    [window] = first["I'd rather sit by the window on long trips."]
    publish("forget", "e7", memory_ids=[window], user_id="ana", **household)
    assert "I'd rather sit by the window on long trips." not in profile("ana")

    [home] = first["I live in Tampere."]
    publish("correct", "e8", memory_id=home, text="I live in Turku.", user_id="ana", **household)
    assert "I live in Tampere." not in profile("ana")
    assert "I live in Turku." in profile("ana")

    [walnuts] = first["I'm allergic to walnuts, keep that in mind."]
    publish("erase", "e9", memory_ids=[walnuts], user_id="ana", **household)
    assert set(profile("ana")) == {"I live in Turku."}
