"""What every request passes first: where it comes from, whether there is room, its caller, size and time.

A page of another site must not reach the gateway through a browser. So a request for another host than this
gateway is refused (DNS rebinding), and one from another origin; a body must be JSON, which a page of another
site cannot send unasked. Pages for people have a `Manner` of their own: they send forms, and guard these
themselves.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers

from helix_gateway.callers import only_known
from helix_gateway.failures import ForeignError, TooLargeError, response_of
from helix_gateway.metrics import REFUSED_SOURCES, REQUEST_SECONDS, REQUESTS
from helix_memory import limits
from helix_memory.transport.credentials import is_loopback
from helix_shared.errors import PASSED, InvalidInputError, OverdueError, OverloadedError

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from helix_gateway.callers import Callers

BODY_BYTES: Final = 2 * limits.EVENT_BYTES
"""An event, and what JSON and a request add to it."""
OPEN_PATHS: Final = frozenset({"/healthz", "/readyz", "/v1/openapi.json"})
"""They need no credential and tell nothing about memories."""
JSON: Final = "application/json"
UNKNOWN: Final = "none"
"""Operation in metrics of a request that reached none."""


def _none(_: str) -> bool:
    return False


async def _as_json(_: Scope, __: Receive, error: BaseException) -> Response:
    return response_of(error)


@dataclass(frozen=True, slots=True)
class Manner:
    """How requests below a path name their caller, what they send, and how they are told of a failure."""

    body: str = JSON
    """Type of a body."""
    is_open: Callable[[str], bool] = _none
    """Whether a path needs no caller."""
    headers: Callable[[Headers], Headers] = only_known
    """The headers that name the caller."""
    failed: Callable[[Scope, Receive, BaseException], Awaitable[Response]] = _as_json
    """The response to a request that failed, whose body may be unread."""


MACHINES: Final = Manner()
"""That of REST, MCP and hooks."""


class Door:
    """An ASGI application before another; used from one event loop."""

    def __init__(
        self,
        app: ASGIApp,
        callers: Callers,
        *,
        hosts: Collection[str],
        in_flight: int,
        seconds: float,
        manners: Mapping[str, Manner] = MappingProxyType({}),
    ) -> None:
        """`hosts` are accepted besides loopback names; `seconds` is the longest request.

        `manners` are those of other callers than machines, by the first part of the path.
        """
        self._app = app
        self._callers = callers
        self._hosts = frozenset(hosts)
        self._in_flight = in_flight
        self._seconds = seconds
        self._manners = manners
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; the lifespan of the application passes through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, sent = time.perf_counter(), _Sent(send)
        state = scope.setdefault("state", {})
        manner = self._manners.get(scope["path"].removeprefix("/").partition("/")[0], MACHINES)
        try:
            await self._served(scope, receive, sent, state, manner)
        except Exception as error:  # noqa: BLE001 - every error becomes a response
            if not sent.status:
                response = await manner.failed(scope, _bounded(receive), error)
                await response(scope, receive, sent)
        finally:
            seconds = time.perf_counter() - began
            REQUEST_SECONDS.labels(state.get("operation", UNKNOWN), str(sent.status)).observe(seconds)

    async def _served(
        self, scope: Scope, receive: Receive, send: Send, state: dict[str, object], manner: Manner
    ) -> None:
        if scope["path"] in OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        self._check_source(headers)
        if not manner.is_open(scope["path"]):
            state["caller"] = self._callers.of(manner.headers(headers))
        _check_body(scope["method"], headers, manner.body)
        if self._running >= self._in_flight:
            raise OverloadedError(
                f"{self._running} requests run, as many as HELIX_GATEWAY_IN_FLIGHT allows; retry later"
            )
        self._running += 1
        REQUESTS.set(self._running)
        try:
            async with asyncio.timeout(self._seconds):
                await self._app(scope, _bounded(receive), send)
        except TimeoutError as error:
            raise OverdueError(PASSED) from error
        finally:
            self._running -= 1
            REQUESTS.set(self._running)

    def _check_source(self, headers: Headers) -> None:
        """Refuse another Host than this gateway, and an Origin that is not the same.

        Raises:
            ForeignError: it is another.
        """
        host = headers.get("host", "")
        name = host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host
        if not is_loopback(name) and name.lower() not in self._hosts:
            REFUSED_SOURCES.labels("host").inc()
            raise ForeignError(
                f"the header Host names {host[:100]!r}, not this gateway (HELIX_GATEWAY_HOSTS)"
            )
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            REFUSED_SOURCES.labels("origin").inc()
            raise ForeignError(f"the page of {origin[:100]!r} is of another origin than this gateway")


class _Sent:
    """`send`, and the status that went out; 0: none yet."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)


def _check_body(method: str, headers: Headers, kind: str) -> None:
    if method != "POST":
        return
    if headers.get("content-type", "").partition(";")[0].strip().lower() != kind:
        raise InvalidInputError("content-type", f"must be {kind}")
    declared = headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared) > BODY_BYTES:
        raise TooLargeError("body", f"must have at most {BODY_BYTES} bytes")


def _bounded(receive: Receive) -> Receive:
    """`receive` that fails for a body that is larger than it said."""
    total = 0

    async def bounded() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > BODY_BYTES:
            raise TooLargeError("body", f"must have at most {BODY_BYTES} bytes")
        return message

    return bounded
