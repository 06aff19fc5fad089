"""Changes of memories while the query service does not answer: they are stored, and the command says so."""

import asyncio
import json
from concurrent import futures

import grpc
import pytest
from click.testing import Result
from nats.aio.client import Client
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.commands.memory.change import APPLIED
from helix_cli.output.exit_codes import UNREACHABLE_EXIT
from helix_memory import subjects
from helix_memory.recall.v1 import recall_pb2_grpc
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.server import NatsServer, free_port
from tests.unit.cli.commands.fake_service import FakeService

pytestmark = pytest.mark.integration

MEMORY = "f" * 32
STORED = "the change is stored, up to sequence 1; it was not seen to be applied yet"


def changed(command: str, server: NatsServer, query: str, *more: str) -> Result:
    """The result of a command on one memory."""
    where = ["--nats", server.url, "--query", query, "--tenant", "acme"]
    return CliRunner().invoke(app, ["memory", command, MEMORY, *where, *more])


@pytest.mark.parametrize(
    ("command", "field"), [("forget", "memory_ids"), ("restore", "memory_ids"), ("undo", "memory_id")]
)
async def test_a_change_that_cannot_be_seen_is_stored_and_says_so(
    nats_server: NatsServer, nats_client: Client, command: str, field: str
) -> None:
    """As `helix publish --wait` does; the exit code says that something did not answer."""
    jetstream = nats_client.jetstream()
    await provision(jetstream)
    query = f"127.0.0.1:{free_port()}"
    result = await asyncio.to_thread(changed, command, nats_server, query, "--wait-seconds", "0.5", "--json")
    event = json.loads((await jetstream.get_msg(subjects.EVENTS_STREAM, 1)).data or b"")
    assert event[field] in (MEMORY, [MEMORY])
    assert (result.exit_code, STORED in result.stderr) == (UNREACHABLE_EXIT, True)
    assert "sequence 1 is not applied after 0.5 s: no answer" in result.stderr
    told = json.loads(result.stdout)
    assert (told["last_sequence"], told["changed"], told["unchanged"]) == (1, {}, {})
    again = await asyncio.to_thread(changed, command, nats_server, query, "--wait-seconds", "0.5")
    assert (again.exit_code, again.stdout, STORED.replace("1", "2") in again.stderr) == (
        UNREACHABLE_EXIT,
        "",
        True,
    )


async def test_a_change_of_which_only_the_end_is_seen_is_applied(
    nats_server: NatsServer, nats_client: Client
) -> None:
    """The query service answers only after the event was stored: what it changed is not known."""
    await provision(nats_client.jetstream())
    late, server = FakeService(), grpc.server(futures.ThreadPoolExecutor(2))
    late.refuse, late.applied = (grpc.StatusCode.UNAVAILABLE, "it starts"), 1
    recall_pb2_grpc.add_RecallServiceServicer_to_server(late, server)
    query = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        result = await asyncio.to_thread(changed, "restore", nats_server, query)
    finally:
        server.stop(None)
    assert "what the memories were before the change is not known: no answer" in result.stderr
    assert (result.exit_code, result.stdout) == (0, f"{MEMORY[:8]}: {APPLIED}\n")
