"""The paths of the hooks: `POST /hooks/<agent>`. Answers 200, or 401, 403, 400 if the request is refused.

An agent waits for a hook before it sends a prompt. So a hook ends at its deadline, and any trouble is an
empty answer: the prompt goes on as without Helix. The header `Helix-Hook` says what happened, for `helix
agent check`. A request without a valid credential, for another host or in another form is refused, so that
its user learns that the hooks are installed wrongly.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import time
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from starlette.responses import JSONResponse
from starlette.routing import Route

from helix_gateway.door import Manner
from helix_gateway.failures import TooLargeError, response_of
from helix_gateway.hooks.handing_over import HandingOver
from helix_gateway.hooks.hosts import Hook, HookCall, call_of, reply_of
from helix_gateway.hooks.injecting import Injection, for_prompt, for_start
from helix_gateway.hooks.metrics import HOOK_SECONDS, HOOKS
from helix_gateway.hooks.sessions import Sessions
from helix_shared.errors import DeniedError, HelixError, InvalidInputError, TemporaryError
from helix_shared.rpc.access.credential import RECALL, WRITE
from helix_shared.sources.agents import Agent
from helix_shared.sources.projects import project_of
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Receive, Scope

    from helix_gateway.callers import Caller
    from helix_gateway.settings import GatewaySettings

HOOKS_PATH: Final = "hooks"
DEADLINE_SECONDS: Final = 0.3
OUTCOME: Final = "Helix-Hook"
UNKNOWN: Final = "unknown"
FORWARDED: Final = frozenset({"forwarded", "x-forwarded-for", "x-real-ip", "via"})
"""Headers of proxies."""

_log = logger(__name__)


def hook_routes(settings: GatewaySettings) -> list[Route]:
    """The route of every hook."""
    sessions = Sessions(settings.hook_sessions_dir)
    hooks = _Hooks(sessions, HandingOver(sessions, settings.hook_transcripts))
    return [Route(f"/{HOOKS_PATH}/{{agent}}", hooks.answer, methods=["POST"])]


def hook_manner() -> Manner:
    """Hooks get an empty answer where the gateway is full or busy, or the body too large."""
    return Manner(failed=_failed)


def _trouble(error: BaseException) -> str:
    """What `OUTCOME` says of a hook that went wrong."""
    return f"trouble {type(error).__name__}"


async def _failed(scope: Scope, _: Receive, error: BaseException) -> Response:
    if not isinstance(error, TemporaryError | TooLargeError):
        return response_of(error)
    scope["state"]["operation"] = f"hook {UNKNOWN}"
    _log.warning("hook_failed", hook=UNKNOWN, error=type(error).__name__)
    HOOKS.labels(UNKNOWN, UNKNOWN, "trouble").inc()
    return JSONResponse({}, headers={OUTCOME: _trouble(error)})


class _Hooks:
    """Answers hooks; used from one event loop."""

    def __init__(self, sessions: Sessions, handing_over: HandingOver) -> None:
        self._sessions = sessions
        self._handing_over = handing_over
        self._prompts: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def answer(self, request: Request) -> JSONResponse:
        """What the agent is told: memories, or nothing."""
        began, call = time.perf_counter(), None
        injection, outcome = Injection(), "trouble"
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                call = call_of(Agent(request.path_params["agent"]), json.loads(await request.body()))
                request.scope["state"]["operation"] = f"hook {call.hook}"
                injection, outcome = await self._served(request, call)
        except (HelixError, TimeoutError, ValueError, RecursionError, OSError) as error:
            outcome = _trouble(error)
            told = {"field": error.field} if isinstance(error, InvalidInputError) else {}
            _log.warning(
                "hook_failed", hook=call.hook if call else UNKNOWN, error=type(error).__name__, **told
            )
        except Exception as error:  # noqa: BLE001  whatever it is, the prompt goes on
            outcome = _trouble(error)
            _log.exception("hook_failed", hook=call.hook if call else UNKNOWN)
        self._count(call, outcome.partition(" ")[0], time.perf_counter() - began)
        body = reply_of(call.agent, call.event, injection.text) if call else {}
        return JSONResponse(body, headers={OUTCOME: outcome})

    async def _served(self, request: Request, call: HookCall) -> tuple[Injection, str]:
        caller: Caller = request.state.caller
        if call.hook is Hook.STOP:
            self._hand_over(request, caller, call)
            return Injection(), "accepted"
        if call.hook is Hook.START:  # first, because the rest may be late
            self._resume(request, caller)
        caller.require(RECALL)
        key = self._sessions.key(caller, call)
        async with self._prompts.setdefault(key, asyncio.Lock()):
            injection = await self._injection(caller, call, key)
            if injection.text:
                self._sessions.add_served(key, injected=injection.memory_ids)
        return injection, "injected" if injection.text else "nothing"

    async def _injection(self, caller: Caller, call: HookCall, key: str) -> Injection:
        if call.is_emptied:
            self._sessions.forget_served(key)
        served, project = self._sessions.served(key), project_of(call.folder)
        if served.is_full:
            return Injection()
        if call.hook is Hook.PROMPT:
            return await for_prompt(caller.helix, call.prompt, project=project, served=served.ids)
        return await for_start(caller.helix, project=project, served=served.ids)

    def _hand_over(self, request: Request, caller: Caller, call: HookCall) -> None:
        caller.require(WRITE)
        if not _is_on_this_machine(request):
            raise DeniedError("transcripts are read only for callers on this machine")
        self._handing_over.accept(caller, call)

    def _resume(self, request: Request, caller: Caller) -> None:
        """Read what an outage left unread."""
        self._handing_over.remove_old()
        if caller.may(WRITE) and _is_on_this_machine(request):
            self._handing_over.resume(caller)

    def _count(self, call: HookCall | None, outcome: str, seconds: float) -> None:
        agent, hook = (call.agent, call.hook) if call else (UNKNOWN, UNKNOWN)
        HOOKS.labels(agent, hook, outcome).inc()
        HOOK_SECONDS.labels(hook).observe(seconds)


def _is_on_this_machine(request: Request) -> bool:
    """Whether the caller is; a proxy on this machine speaks for callers elsewhere."""
    if not FORWARDED.isdisjoint(request.headers):
        return False
    try:
        return request.client is not None and ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False
