"""MCP on standard input and output, passed on to the gateway: one message a line, one HTTP request each.

The gateway answers the protocol. A process that agents start needs no SDK for that, so it answers in a
fraction of a second.
"""

from __future__ import annotations

import base64
import http.client
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from helix_memory.errors import HelixError

if TYPE_CHECKING:
    import ssl

CALLS: Final = 8
"""Messages at once."""
SECONDS: Final = 700.0
"""Longest wait for the gateway, which ends its requests before (HELIX_GATEWAY_WAIT_SECONDS)."""
FAILED: Final = -32000
"""Code of JSON-RPC for what the gateway refused, or if it does not answer."""
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
OK: Final = 200
VERSION: Final = "MCP-Protocol-Version"
_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Parameter that the header Mcp-Name repeats, by method (revision 2026-07-28)."""


@dataclass(slots=True)
class Bridge:
    """Passes messages to one address of a gateway."""

    url: str
    headers: Callable[[], Mapping[str, str]]
    """Those of one request: token, tenant, user. May raise a `HelixError`, which is told to the host."""
    write: Callable[[str], object]
    """Writes one line to the host."""
    tls: ssl.SSLContext | None = None
    _version: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def serve(self, lines: Iterable[bytes]) -> None:
        """Answer every line until they end; the handshake alone is waited for."""
        with ThreadPoolExecutor(CALLS, "mcp") as pool:
            for line in lines:
                if not line.strip():
                    continue
                try:
                    message = json.loads(line)
                except (ValueError, RecursionError):
                    self._say(_error(None, PARSE_ERROR, "is not JSON"))
                    continue
                if reason := _broken(message):
                    self._say(_error(None, INVALID_REQUEST, reason))
                elif message.get("method") == "initialize":
                    self._pass_on(message)
                else:
                    pool.submit(self._pass_on, message)

    def _pass_on(self, message: dict[str, Any]) -> None:
        """Send one message, and write what comes back; a notification and an answer have no number."""
        number = message.get("id") if "method" in message else None
        try:
            status, body = self._post(message)
        except (OSError, http.client.HTTPException) as error:
            reason = f"no answer from the gateway at {self.url}: {error}; is `helix up` running?"
            answer: Any = _error(number, FAILED, reason)
        except (ValueError, RecursionError, HelixError) as error:  # of a header or number that cannot be sent
            answer = _error(number, FAILED, f"cannot be sent: {error}")
        else:
            answer = _answer(number, status, body)
        if number is None:
            return
        if message.get("method") == "initialize":
            result = answer.get("result")
            self._version = str(result.get("protocolVersion", "")) if isinstance(result, dict) else ""
        self._say(answer)

    def _post(self, message: dict[str, Any]) -> tuple[int, bytes]:
        """A connection of its own for each message: none that is reused can be closed by then."""
        place = urlsplit(self.url)
        if place.scheme == "https":
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                place.netloc, timeout=SECONDS, context=self.tls
            )
        else:
            connection = http.client.HTTPConnection(place.netloc, timeout=SECONDS)
        try:
            connection.request("POST", place.path, json.dumps(message).encode(), self._headers(message))
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def _headers(self, message: dict[str, Any]) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **self.headers(),
        }
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        stated = meta.get(_VERSION_KEY) if isinstance(meta, dict) else None
        if stated:
            method = str(message.get("method", ""))
            headers |= {VERSION: str(stated), "Mcp-Method": method}
            if method in _NAMED:
                headers["Mcp-Name"] = _header_value(str(params.get(_NAMED[method], "")))
        elif self._version:
            headers[VERSION] = self._version
        return headers

    def _say(self, answer: Any) -> None:
        with self._lock:
            self.write(json.dumps(answer, ensure_ascii=False, separators=(",", ":")) + "\n")


def _broken(message: object) -> str:
    """Why a line is no message of the protocol; empty: it is a request, a notification or an answer."""
    if not isinstance(message, dict):
        return "must be one JSON object; the protocol has no batches"
    if not isinstance(message.get("method"), str):
        return "" if "result" in message or "error" in message else "method: must be a string"
    if "id" in message and (isinstance(message["id"], bool) or not isinstance(message["id"], str | int)):
        return "id: must be a string or a whole number"
    return ""


def _answer(number: Any, status: int, body: bytes) -> Any:
    """What the gateway said, as a message of JSON-RPC."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict) and "jsonrpc" in found:
        return found
    told = found.get("error", {}) if isinstance(found, dict) else {}
    reason = told.get("message") if isinstance(told, dict) else None
    return _error(number, FAILED, reason or f"the gateway answered with HTTP status {status}")


def _error(number: Any, code: int, reason: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": reason}}


def _header_value(value: str) -> str:
    """A value as the protocol writes it into a header: in base64 where it is not plain ASCII."""
    if value.isascii() and value.isprintable() and value == value.strip() and not value.startswith("=?"):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'replace')).decode()}?="
