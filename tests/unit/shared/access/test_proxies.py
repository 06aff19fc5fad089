"""Services of this machine are reached directly, also where the environment names a proxy."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.error import URLError
from urllib.request import build_opener

import grpc
import httpx
import pytest

from helix_cli.stack.liveness import open_directly
from helix_memory.transport.credentials import CallCredentials
from helix_shared.endpoint.client import _past_proxies

METHOD = "/test.Echo/Say"
NOBODY = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that does not answer, as for a laptop outside of its company."""
    for name in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, NOBODY)
        monkeypatch.setenv(name.upper(), NOBODY)
    for name in ("no_proxy", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def echo() -> Iterator[str]:
    """Address of a gRPC server that says what it hears."""
    server = grpc.server(ThreadPoolExecutor(1))
    handler = grpc.unary_unary_rpc_method_handler(lambda request, _: request)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Echo", {"Say": handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None)


@pytest.fixture
def page() -> Iterator[str]:
    """Address of an HTTP server."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing is written to standard error."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


async def test_calls_to_this_machine_pass_no_proxy(echo: str) -> None:
    """With and without asyncio; a channel as gRPC makes it by itself asks the proxy."""
    with CallCredentials().channel(echo) as channel:
        assert channel.unary_unary(METHOD)(b"a", timeout=30) == b"a"
    async with CallCredentials().aio_channel(echo) as channel:
        assert await channel.unary_unary(METHOD)(b"b", timeout=30) == b"b"
    with grpc.insecure_channel(echo) as channel, pytest.raises(grpc.RpcError):
        channel.unary_unary(METHOD)(b"c", timeout=30)


@pytest.mark.parametrize("host", ["127.0.0.1:11434", "localhost:11434", "[::1]:11434", "localhost"])
async def test_a_language_model_on_this_machine_is_asked_past_a_proxy(host: str) -> None:
    """One elsewhere is asked through it."""
    here = httpx.URL(f"http://{host}/v1")
    async with httpx.AsyncClient(mounts=_past_proxies(here)) as client:
        assert client._transport_for_url(here) is client._transport
        elsewhere = httpx.URL("http://models.example/v1")
        assert client._transport_for_url(elsewhere) is not client._transport
    assert _past_proxies(elsewhere) == {}


def test_the_health_of_a_process_is_asked_past_a_proxy(page: str) -> None:
    """As `helix up` and `helix doctor` ask it; urllib by itself asks the proxy."""
    with open_directly(page, 30) as reply:
        assert reply.status == 200
    with pytest.raises(URLError):
        build_opener().open(page, timeout=30)
