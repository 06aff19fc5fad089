"""The sockets of the gateway."""

import asyncio
import socket

import pytest

from helix_gateway.app import application
from helix_gateway.settings import GatewaySettings
from helix_gateway.web_server import WebServer, _bound
from helix_shared.errors import TemporaryError
from helix_shared.telemetry.health import Health
from tests.unit.gateway.gateways import StubHelix


async def test_an_answer_does_not_wait_for_an_acknowledgement() -> None:
    """Connections send what they have at once (TCP_NODELAY), so a body follows its headers."""
    sends_at_once: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted = writer.get_extra_info("socket")
        sends_at_once.set_result(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    listener = _bound("127.0.0.1", 0, "127.0.0.1:0")
    port = listener.getsockname()[1]
    async with await asyncio.start_server(serve, sock=listener):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await asyncio.wait_for(sends_at_once, 10)
        writer.close()


async def test_a_server_that_ends_by_itself_ends_its_process() -> None:
    """Else the process would go on and answer nobody."""
    settings = GatewaySettings.load(listen="127.0.0.1:0")
    server = WebServer(application(settings, StubHelix(), Health()), settings)  # type: ignore[arg-type]  # a stub
    await server.start()
    server._server.should_exit = True
    async with asyncio.timeout(60):
        with pytest.raises(TemporaryError, match="ended"):
            await server.serve_until(asyncio.Event())
        await server.stop()
