"""What the gateway writes while the query service does not answer."""

import asyncio
import json
import socket
from typing import Any

import httpx
import pytest
from nats.aio.client import Client

from helix_gateway.app import application
from helix_gateway.settings import GatewaySettings
from helix_memory import subjects
from helix_memory.client import AsyncHelix
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.server import NatsServer
from helix_shared.telemetry.health import Health

pytestmark = pytest.mark.integration

MEMORY = "f" * 32
LOOK_UP_SECONDS = 3.0
"""How long the gateway waits for the query service, which accepts calls and never answers."""


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        ("forget", {"memories": [MEMORY]}, "memory_ids"),
        ("restore", {"memories": [MEMORY]}, "memory_ids"),
        ("erase", {"memories": [MEMORY]}, "memory_ids"),
        ("feedback", {"helpful": [MEMORY]}, "helpful"),
        (f"memories/{MEMORY}/correct", {"text": "Tea is at five."}, "memory_id"),
        (f"memories/{MEMORY}/undo", {}, "memory_id"),
    ],
)
async def test_an_event_is_stored_before_its_ids_are_looked_up(
    nats_server: NatsServer, nats_client: Client, path: str, body: dict[str, Any], named: str
) -> None:
    """What is missing is only told, and not known here."""
    jetstream = nats_client.jetstream()
    await provision(jetstream)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        helix = AsyncHelix(nats_url=nats_server.url, query_address=address, deadline_seconds=LOOK_UP_SECONDS)
        app: Any = application(GatewaySettings.load(), helix, Health())
        transport = httpx.ASGITransport(app=app)
        async with helix, httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:7464") as client:
            call = asyncio.create_task(client.post(f"/v1/{path}", json=body, timeout=60.0))
            async with asyncio.timeout(LOOK_UP_SECONDS):
                while not (await jetstream.stream_info(subjects.EVENTS_STREAM)).state.last_seq:
                    assert not call.done(), call.result().text
                    await asyncio.sleep(0.01)
            assert not call.done()
            reply = await call
    event = json.loads((await jetstream.get_msg(subjects.EVENTS_STREAM, 1)).data or b"")
    assert event[named] in (MEMORY, [MEMORY])
    assert (reply.status_code, reply.json()["sequence"], reply.json().get("missing")) == (200, 1, None)
