"""`helix publish --wait` of an event that was published, and refused, before."""

import asyncio
from concurrent import futures

import grpc
import pytest
from nats.aio.client import Client
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.output.exit_codes import FAILED_EXIT
from helix_memory import subjects
from helix_memory.recall.v1 import recall_pb2_grpc
from helix_memory.transport import dead_letters
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.server import NatsServer
from tests.unit.cli.commands.fake_service import FakeService

pytestmark = pytest.mark.integration

MOST = 5


async def _refuse(client: Client, tenant: str, event: int) -> None:
    headers = {
        subjects.REASON_HEADER: "text: is too long",
        subjects.SUBJECT_HEADER: subjects.event_subject(tenant, "s", "message"),
        subjects.EVENT_SEQUENCE_HEADER: str(event),
    }
    await client.jetstream().publish(subjects.dlq_subject("ingest", tenant), b"{}", headers=headers)


async def test_the_dead_letters_of_other_tenants_hide_no_refusal(
    nats_server: NatsServer, nats_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many came since: the command would say that the event is recallable."""
    monkeypatch.setattr(dead_letters, "EARLIER_LETTERS", MOST)
    await provision(nats_client.jetstream())
    service, server = FakeService(), grpc.server(futures.ThreadPoolExecutor(2))
    service.applied = 1
    recall_pb2_grpc.add_RecallServiceServicer_to_server(service, server)
    query = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    event = ["--tenant", "acme", "--session", "s", "--event-id", "e1", "--text", "We deploy on Tuesdays."]
    command = ["publish", *event, "--nats", nats_server.url, "--query", query]
    server.start()
    try:
        first = await asyncio.to_thread(CliRunner().invoke, app, command)
        await _refuse(nats_client, "acme", 1)
        for number in range(MOST + 1):
            await _refuse(nats_client, "noisy", 2 + number)
        again = await asyncio.to_thread(CliRunner().invoke, app, [*command, "--wait"])
    finally:
        server.stop(None)
    assert first.exit_code == 0, first.stderr
    assert (again.exit_code, "text: is too long" in again.stderr) == (FAILED_EXIT, True), again.output
