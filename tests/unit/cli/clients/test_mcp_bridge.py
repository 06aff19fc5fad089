"""What `helix mcp` makes of the lines of a host, and of what the gateway answers."""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helix_cli.clients.mcp_bridge import FAILED, INVALID_REQUEST, PARSE_ERROR, Bridge
from helix_cli.commands.mcp import mcp_command
from helix_shared.broker.server import free_port
from helix_shared.errors import InvalidInputError

INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


class Gateway(HTTPServer):
    """Answers as a test says, and keeps what came."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[tuple[dict[str, str], Any]] = []
        self.status, self.body = 200, b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}'

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}/mcp"


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Gateway

    def do_POST(self) -> None:
        """Keep it and answer."""
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.seen.append((dict(self.headers), json.loads(body)))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    """One that runs."""
    server = Gateway()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def answers(url: str, *messages: object) -> list[Any]:
    """What the host reads after these lines."""
    written: list[str] = []
    lines = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in messages]
    Bridge(url, lambda: {"Helix-User": "ana"}, written.append).serve(lines)
    return [json.loads(line) for line in written]


def test_the_handshake_decides_the_version_of_later_messages(gateway: Gateway) -> None:
    """The gateway keeps no session, so each request says it."""
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert answers(gateway.url, INITIALIZE, call)[0]["result"]["protocolVersion"] == "2025-11-25"
    (first, _), (second, message) = gateway.seen
    assert "MCP-Protocol-Version" not in first
    assert (second["MCP-Protocol-Version"], second["Helix-User"], message) == ("2025-11-25", "ana", call)


def test_a_message_of_the_new_revision_repeats_its_method_and_name_in_headers(gateway: Gateway) -> None:
    """What is not plain ASCII is in base64."""
    for uri, header in (("helix://profile", "helix://profile"), ("é", "=?base64?w6k=?=")):
        read = {"id": 3, "method": "resources/read", "params": {"uri": uri, "_meta": META}}
        answers(gateway.url, read)
        headers = gateway.seen[-1][0]
        assert headers["MCP-Protocol-Version"] == "2026-07-28"
        assert (headers["Mcp-Method"], headers["Mcp-Name"]) == ("resources/read", header)


def test_a_notification_has_no_answer(gateway: Gateway) -> None:
    """It is passed on all the same."""
    gateway.status, gateway.body = 202, b""
    assert answers(gateway.url, {"jsonrpc": "2.0", "method": "notifications/initialized"}, b"  ") == []
    assert len(gateway.seen) == 1


def test_what_the_gateway_refuses_is_an_error_of_the_message(gateway: Gateway) -> None:
    """With its words; also where it says none."""
    gateway.status, gateway.body = 401, b'{"error": {"type": "unauthenticated", "message": "no credential"}}'
    [answer] = answers(gateway.url, INITIALIZE)
    assert (answer["id"], answer["error"]) == (1, {"code": FAILED, "message": "no credential"})
    gateway.status, gateway.body = 502, b"<html>"
    [answer] = answers(gateway.url, INITIALIZE)
    assert "HTTP status 502" in answer["error"]["message"]


def test_a_line_that_is_not_json_and_a_gateway_that_is_not_there_are_answered() -> None:
    """The host can tell its user what to do."""
    first, second = answers(f"http://127.0.0.1:{free_port()}/mcp", b"{", INITIALIZE)
    assert first["error"]["code"] == PARSE_ERROR
    assert "is `helix up` running?" in second["error"]["message"]


def test_a_message_that_cannot_be_sent_is_answered(gateway: Gateway) -> None:
    """A host waits for each of its numbers; a version with a line break is no header."""
    odd = {"io.modelcontextprotocol/protocolVersion": "1\r\nX: y"}
    [answer] = answers(gateway.url, {"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"_meta": odd}})
    assert (answer["id"], answer["error"]["code"]) == (7, FAILED)


def test_the_bridge_goes_on_after_rubbish(gateway: Gateway) -> None:
    """A result of the handshake that is no object, and JSON that is too deep."""
    gateway.body = b'{"jsonrpc":"2.0","id":1,"result":[]}'
    written: list[str] = []
    Bridge(gateway.url, dict, written.append).serve([json.dumps(INITIALIZE).encode(), b"[" * 100_000])
    assert [json.loads(one).get("error", {}).get("code") for one in written] == [None, PARSE_ERROR]


@pytest.mark.parametrize(
    ("line", "field"),
    [
        (b"5", "object"),
        (b"null", "object"),
        (b'"ping"', "object"),
        (b"[1,2]", "object"),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', "object"),
        (b"{}", "method"),
        (b'{"jsonrpc":"2.0","id":4}', "method"),
        (b'{"jsonrpc":"2.0","id":4,"method":7}', "method"),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', "id"),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', "id"),
    ],
)
def test_a_line_that_is_json_and_no_message_is_answered(gateway: Gateway, line: bytes, field: str) -> None:
    """With no number, and it is not passed on; the next line is."""
    first, second = answers(gateway.url, line, INITIALIZE)
    assert (first["id"], first["error"]["code"], field in first["error"]["message"]) == (
        None, INVALID_REQUEST, True,
    )  # fmt: skip
    assert second["id"] == 1
    assert len(gateway.seen) == 1


def test_an_answer_of_the_host_is_passed_on_and_has_none(gateway: Gateway) -> None:
    """A result or an error has a number, and none comes back under it."""
    gateway.status, gateway.body = 202, b""
    assert answers(gateway.url, {"jsonrpc": "2.0", "id": 9, "result": {}}) == []
    assert len(gateway.seen) == 1


def test_the_token_is_read_for_every_message(
    gateway: Gateway,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    """A host runs for days, and its token is replaced before it ends; one that cannot be read is told."""
    token = tmp_path / "token"

    def lines() -> Iterator[bytes]:
        for content in ("first", "second", ""):
            token.write_text(content)
            token.chmod(0o600)
            yield json.dumps(INITIALIZE).encode() + b"\n"

    monkeypatch.setenv("HELIX_TOKEN_FILE", str(token))
    token.write_text("of the start")
    token.chmod(0o600)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=lines()))
    mcp_command(home=tmp_path, url=gateway.url.removesuffix("/mcp"))
    assert [headers["Authorization"] for headers, _ in gateway.seen] == ["Bearer first", "Bearer second"]
    last = json.loads(capsysbinary.readouterr().out.splitlines()[-1])
    assert "token is empty" in last["error"]["message"]


@pytest.mark.parametrize(
    ("url", "is_safe"), [("http://localhost", True), ("http://[::1]", True), ("http://helix.example", False)]
)
def test_a_token_is_sent_to_other_machines_encrypted_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, *, is_safe: bool
) -> None:
    """An address need not name its port."""
    token = tmp_path / "token"
    token.write_text("t")
    token.chmod(0o600)
    monkeypatch.setenv("HELIX_TOKEN_FILE", str(token))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=iter(())))
    if is_safe:
        mcp_command(home=tmp_path, url=url)
    else:
        with pytest.raises(InvalidInputError, match="in the clear"):
            mcp_command(home=tmp_path, url=url)
