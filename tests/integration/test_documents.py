"""Documents through all processes: published, recalled with their offsets, replaced and deleted by id."""

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.clients.recall_client import RecallClient
from helix_cli.stack.stack import Stack
from helix_memory import events
from helix_memory.recall.v1 import recall_pb2
from helix_shared.broker.connection import connect
from helix_shared.broker.publisher import Publisher

pytestmark = pytest.mark.integration

PAGE = (
    "<h1>Wards</h1><table><tr><th>Ward</th><th>Visiting hours</th></tr>"
    "<tr><td>Maternity</td><td>{}</td></tr></table>"
)


@pytest.fixture
def stack(tmp_path: Path, models_dir: Any) -> Iterator[Stack]:
    """A running stack without the workers that only enrich."""
    unused = dict.fromkeys(("doc2query", "kg", "forwarder"), 0)
    with Stack(tmp_path / "home", nats_port=0, query_port=0, copies=unused, models=models_dir) as running:
        running.wait_ready()
        yield running


def test_document_is_recalled_replaced_and_deleted(stack: Stack) -> None:
    """An HTML page in two versions, then deleted; a file that is no PDF is a dead letter."""
    with RecallClient(stack.query_address) as client:

        def publish(number: int, **fields: Any) -> None:
            named = {"kind": "document", "event_id": f"e{number}", "tenant_id": "acme"}
            event = events.parse_event(json.dumps(named | fields).encode())

            async def send() -> int:
                connection = await connect(stack.nats_url, name="test")
                try:
                    return (await Publisher(connection.jetstream()).publish_event(event)).sequence
                finally:
                    await connection.close()

            client.wait_until_applied(asyncio.run(send()), wait_seconds=60)

        def wards() -> list[recall_pb2.Memory]:
            request = recall_pb2.RecallRequest(
                scope=recall_pb2.Scope(tenant_id="acme"),
                query="visiting hours of the maternity ward",
                never_skip=True,
            )
            return [found.memory for found in client.recall(request).memories]

        page = {"document_id": "wards", "media_type": "text/html", "title": "Hospital"}
        publish(1, body=PAGE.format("2 to 5 pm"), **page)
        (first,) = wards()
        assert first.text.endswith("| Ward | Visiting hours |\n|---|---|\n| Maternity | 2 to 5 pm |")
        assert (first.source.document_id, first.source.char_start) == ("wards", 0)
        assert first.source.char_end == len(first.text)

        publish(2, body=PAGE.format("3 to 6 pm"), **page)
        (second,) = wards()
        assert "3 to 6 pm" in second.text

        broken = base64.b64encode(b"no file of that kind").decode()
        publish(3, document_id="wards", body_base64=broken, media_type="application/pdf")
        assert [memory.memory_id for memory in wards()] == [second.memory_id]
        runner = CliRunner(env={"HELIX_HOME": str(stack.home.root)})
        letters = json.loads(runner.invoke(app, ["dlq", "ls", "--json"]).stdout)
        assert [letter["reason"] for letter in letters] == ["body_base64: is no PDF file"]

        publish(4, document_id="wards", deleted=True)
        assert wards() == []
