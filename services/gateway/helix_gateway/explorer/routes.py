"""The paths of the explorer, and how its requests differ from those of machines."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from helix_gateway.door import Manner
from helix_gateway.explorer import signing_in
from helix_gateway.explorer.asked import Asked
from helix_gateway.explorer.broker import Broker
from helix_gateway.explorer.door_page import OPEN, DoorPages, TypedText
from helix_gateway.explorer.pages import graph, lab, letters, memories, memory, overview, timeline
from helix_gateway.explorer.rendering import (
    HEADERS,
    STATIC_FILES,
    go_to,
    here,
    loaded_anew,
    page,
    section_of,
    static_digest,
    url,
    zone_named,
)
from helix_gateway.explorer.signing_in import ROOT, Cookies
from helix_gateway.failures import as_told
from helix_shared.errors import NotFoundError, UnauthenticatedError
from helix_shared.rpc.access.credential import ADMIN, RECALL, WRITE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import Receive, Scope

    from helix_gateway.callers import Caller, Callers
    from helix_gateway.settings import GatewaySettings

EXPLORER: Final = ROOT.removeprefix("/")
FORM: Final = "application/x-www-form-urlencoded"
STATIC: Final = f"{ROOT}/static"
FIRST: Final = ("/", f"{ROOT}/")
"""They lead to the first page: people type the address of the gateway alone."""
KEPT: Final = "max-age=31536000, immutable"
"""A file under the address with its digest, which never changes; under any other a browser asks again."""
READ_AT_ONCE: Final = 8
"""Forms of requests that were refused, perhaps for want of a place, which are read for what was typed."""

Build = Callable[[Asked], Awaitable[dict[str, Any]]]
Endpoint = Callable[[Request], Awaitable[Response]]
Act = Callable[[Asked, dict[str, str]], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class _Page:
    path: str
    template: str
    build: Build
    role: str | None = RECALL


@dataclass(frozen=True, slots=True)
class _Action:
    """What a form does; it returns where the browser goes then."""

    path: str
    act: Act
    role: str = WRITE


class Explorer:
    """The pages of one gateway."""

    def __init__(self, settings: GatewaySettings, callers: Callers) -> None:
        self._broker, self._wait_seconds = Broker(settings), settings.wait_seconds
        self._door = DoorPages(callers, needs_token=bool(settings.modes))
        self._reading = 0

    @contextlib.asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serve inside; its connection to NATS ends afterwards."""
        try:
            yield
        finally:
            await self._broker.close()

    def manner(self) -> Manner:
        """How requests are let in: cookies name the caller, bodies are forms, failures are pages."""
        return Manner(FORM, _is_open, signing_in.headers_of, self._failed)

    async def _failed(self, scope: Scope, receive: Receive, error: BaseException) -> Response:
        request, error = Request(scope, receive), as_told(error)
        typed = await self._typed(request)
        if isinstance(error, UnauthenticatedError):
            back = url("/login", next=here(request))
            return self._door.ask_again(request, typed, error) if typed.text else go_to(back)
        caller = scope["state"].get("caller")
        title = "Not found" if isinstance(error, NotFoundError) else "Not done"
        values = {
            "title": title,
            "restorable": _restorable(request, error),
            "typed": typed,
            "section": section_of(request.url.path),
        }
        return page(request, "failed.html", values, error=error, caller=caller)

    async def _typed(self, request: Request) -> TypedText:
        """What was typed; nothing where as many forms of refused requests are read as may be."""
        if self._reading >= READ_AT_ONCE:
            return TypedText()
        self._reading += 1
        try:
            return TypedText.of(await signing_in.kept_form(request), request.url.path)
        finally:
            self._reading -= 1

    def routes(self) -> list[BaseRoute]:
        """Every path."""
        watched, dead = (
            overview.Overview(self._broker),
            letters.Letters(self._broker, wait_seconds=self._wait_seconds),
        )
        shown = (
            _Page("", "overview.html", watched.build, None),
            _Page("/memories", "memories.html", memories.build),
            _Page("/memories/{id}", "memory.html", memory.build),
            _Page("/timeline", "timeline.html", timeline.build),
            _Page("/sessions", "sessions.html", timeline.sessions),
            _Page("/sessions/{session}", "session.html", timeline.session),
            _Page("/lab", "lab.html", lab.build),
            _Page("/lab/why-not/{id}", "why_not.html", lab.why_not),
            _Page("/graph", "graph.html", graph.build),
            _Page("/letters", "letters.html", dead.build, ADMIN),
            _Page("/letters/{sequence}", "letter.html", dead.one, ADMIN),
        )
        actions = (
            _Action("/memories/{id}/correct", memory.correct),
            _Action("/memories/{id}/forget", memory.forget),
            _Action("/memories/{id}/restore", memory.restore),
            _Action("/memories/{id}/undo", memory.undo),
            _Action("/letters/redrive", dead.redrive, ADMIN),
            _Action("/letters/drop", dead.drop, ADMIN),
        )
        return [
            *(Route(ROOT + one.path, _shows(one), methods=["GET"]) for one in shown),
            *(Route(ROOT + one.path, _acts(one), methods=["POST"]) for one in actions),
            Route(f"{ROOT}/pulse", _pulse(watched), methods=["GET"]),
            *self._door.routes(),
            Mount(STATIC, _Static(directory=STATIC_FILES)),
            *(Route(path, _first, methods=["GET"]) for path in FIRST),
            Route(f"{ROOT}/{{rest:path}}", _missing, methods=["GET", "POST"]),
        ]


class _Static(StaticFiles):
    """Own and vendored files; they tell nothing about memories."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """As in the base class, but that it fails as every page does.

        Raises:
            NotFoundError: there is no such file, or the method is none for files.
        """
        try:
            response = await super().get_response(path, scope)
        except HTTPException as error:
            raise NotFoundError("the explorer has no such file") from error
        named = Request(scope).query_params.get("v", "")
        kept = KEPT if named and named == static_digest(path) else "no-cache"
        response.headers.update({**HEADERS, "Cache-Control": kept})
        return response


def _is_open(path: str) -> bool:
    return path in OPEN or path in FIRST or path.startswith(f"{STATIC}/")


def _asked(request: Request) -> Asked:
    zone = zone_named(Cookies.of(request.headers).scope.get("time_zone", ""))
    return Asked(request, request.state.caller, zone)


def _shows(shown: _Page) -> Endpoint:
    name = f"explorer {shown.template.removesuffix('.html')}"

    async def answer(request: Request) -> Response:
        request.state.operation = name
        if (anew := loaded_anew(request)) is not None:
            return anew
        caller: Caller = request.state.caller
        caller.require(shown.role)
        values = await shown.build(_asked(request))
        # a long text takes a while to be made safe, and other requests must not wait for it
        return await asyncio.to_thread(page, request, shown.template, values, caller=caller)

    return answer


def _acts(action: _Action) -> Endpoint:
    name = f"explorer {action.path.rpartition('/')[2]}"

    async def answer(request: Request) -> Response:
        request.state.operation = name
        caller: Caller = request.state.caller
        caller.require(action.role)
        return go_to(await action.act(_asked(request), await signing_in.form_of(request)))

    return answer


def _pulse(watched: overview.Overview) -> Endpoint:
    async def answer(request: Request) -> Response:
        request.state.operation = "explorer pulse"
        return JSONResponse(await watched.pulse(_asked(request)), headers=HEADERS)

    return answer


async def _first(_: Request) -> Response:
    return go_to(ROOT)


async def _missing(_: Request) -> Response:
    raise NotFoundError("the explorer has no such page")


def _restorable(request: Request, error: BaseException) -> str:
    """Id of the memory that was asked for and is not there: it may be a forgotten one."""
    asked = request.scope.get("path_params", {}).get("id", "")
    return asked if isinstance(error, NotFoundError) and "/memories/" in request.url.path else ""
