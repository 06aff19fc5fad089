"""`helix doctor` names the processes that are not ready, with their reasons."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from helix_cli.doctor.process_checks import process_checks

NOBODY = "127.0.0.1:9"


class Health(BaseHTTPRequestHandler):
    """Ready only where asked in the name of the ready one."""

    def do_GET(self) -> None:
        """Answer as `/readyz` of a process does."""
        is_ready = self.server.server_port == getattr(self.server, "ready_port", 0)
        self.send_response(200 if is_ready else 503)
        self.end_headers()
        self.wfile.write(b"ok\n" if is_ready else b"nats: not connected\n")

    def log_message(self, *_: object) -> None:
        """Nothing is written to standard error."""


def _served(*, is_ready: bool) -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Health) as server:
        server.ready_port = server.server_port if is_ready else 0  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def ready() -> Iterator[str]:
    """Address of a process that does its work."""
    yield from _served(is_ready=True)


@pytest.fixture
def unready() -> Iterator[str]:
    """Address of a process without NATS."""
    yield from _served(is_ready=False)


async def test_what_is_not_ready_is_named_with_its_reason(ready: str, unready: str) -> None:
    """Also one that does not answer; the others are listed in one line."""
    found = await process_checks({"kg-1": ready, "ingest-1": unready, "query-1": NOBODY}, ready_seconds=0)
    assert [one.level for one in found] == ["problem", "problem", "ok"]
    assert found[0].found == "ingest-1: nats: not connected"
    assert found[1].found.startswith(f"query-1: does not answer on {NOBODY}")
    assert found[2].found == "ready: kg-1"


async def test_nothing_is_said_where_no_process_tells_its_health() -> None:
    """As for a home whose processes run elsewhere."""
    assert await process_checks({}) == []
