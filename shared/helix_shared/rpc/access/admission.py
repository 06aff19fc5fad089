"""Admission of calls: checks the credential, the role, and the scope that the credential allows.

With authentication the scope of a request is bounded by the credential before a handler sees it, so that no
handler can forget to. Without authentication the request's own word counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from helix_shared.errors import DeniedError, UnauthenticatedError
from helix_shared.rpc.access.authenticator import Authenticator
from helix_shared.rpc.access.credential import ADMIN, Credential
from helix_shared.rpc.guard import MALFORMED
from helix_shared.telemetry.logs import logger
from helix_shared.telemetry.metrics import CALLS_DENIED

if TYPE_CHECKING:
    from helix_shared.rpc.access.settings import AccessSettings
    from helix_shared.rpc.guard import Call, Stream

_CREDENTIAL: ContextVar[Credential | None] = ContextVar("helix_credential", default=None)
_log = logger(__name__)

NO_SCOPE: Final = frozenset({"GetStatusRequest", "StreamAccessesRequest"})
"""Requests that name no caller."""
RECHECK_SECONDS: Final = 1.0
"""How often the credential of an open stream is checked again."""


class Admission:
    """Admits calls to one service."""

    def __init__(self, settings: AccessSettings) -> None:
        """Read the credentials that the settings name; without authentication, log that.

        Raises:
            InvalidInputError: a file is missing or invalid.
        """
        self._authenticator = Authenticator(settings) if settings.modes else None
        if self._authenticator is None:
            prefix = str(settings.model_config.get("env_prefix", ""))
            _log.warning(
                "no authentication: whoever reaches the port may act for every tenant",
                setting=f"{prefix}AUTH",
            )

    def checked(self, call: Call, request_type: Any, role: str | None) -> Call:
        """`call` for credentials with `role` (None: any role), with the scope of its request bounded."""
        scope_of = _scope_finder(request_type)

        async def admitted(request: Any, context: Any) -> Any:
            self._admit(request, context, scope_of, role)
            return await call(request, context)

        return admitted

    def checked_stream(self, call: Stream, request_type: Any, role: str | None) -> Stream:
        """As `checked`, for a handler of a stream, which ends soon after its credential became invalid."""
        scope_of = _scope_finder(request_type)

        async def admitted(request: Any, context: Any) -> AsyncIterator[Any]:
            def check() -> None:
                self._admit(request, context, scope_of, role)

            check()
            async with aclosing(call(request, context)) as replies:  # type: ignore[type-var]  # a generator
                while True:
                    try:
                        reply = await _next(replies, check)
                    except StopAsyncIteration:
                        return
                    yield reply

        return admitted

    def sees_all_tenants(self) -> bool:
        """Whether the caller of this call may be told about other tenants than its own."""
        credential = _CREDENTIAL.get()
        return self._authenticator is None or (credential is not None and ADMIN in credential.roles)

    def _admit(
        self, request: Any, context: Any, scope_of: Callable[[Any], Any] | None, role: str | None
    ) -> None:
        if self._authenticator is None:
            return
        credential = self._authenticator.authenticate(context.invocation_metadata())
        _CREDENTIAL.set(credential)
        if role not in credential.roles if role else not credential.roles:
            CALLS_DENIED.labels("role").inc()
            raise DeniedError(
                f"the credential lacks the role {role}" if role else "the credential has no role"
            )
        if scope_of is None or request is MALFORMED:
            return
        try:
            credential.bound(scope_of(request))
        except DeniedError:
            CALLS_DENIED.labels("scope").inc()
            _log.warning("scope_denied", credential=credential.id)
            raise


def caller() -> Credential | None:
    """The credential of the call that runs; None without authentication."""
    return _CREDENTIAL.get()


async def _next(replies: AsyncIterator[Any], check: Callable[[], None]) -> Any:
    """The next reply; while it is waited for, `check` raises if the caller may have no more.

    A reply that has arrived is not dropped: what a stream hands over is gone from where it was kept.
    """
    refused: Exception | None = None
    timer: asyncio.TimerHandle | None = None

    def again() -> None:
        nonlocal refused, timer
        try:
            check()
        except (DeniedError, UnauthenticatedError) as error:
            refused = error
            waiting.reschedule(loop.time())
        else:
            timer = loop.call_later(RECHECK_SECONDS, again)

    loop = asyncio.get_running_loop()
    check()
    try:
        async with asyncio.timeout(None) as waiting:
            timer = loop.call_later(RECHECK_SECONDS, again)
            try:
                return await anext(replies)
            finally:
                if timer is not None:
                    timer.cancel()
    except TimeoutError:
        if refused is None:
            raise
        raise refused from None


def _scope_finder(request_type: Any) -> Callable[[Any], Any] | None:
    """Where a request of this type has its scope; every type has one unless `NO_SCOPE` names it."""
    fields = request_type.DESCRIPTOR.fields_by_name
    if "scope" in fields:
        return lambda request: request.scope
    if "recall" in fields:
        return lambda request: request.recall.scope
    if request_type.DESCRIPTOR.name in NO_SCOPE:
        return None
    message = f"{request_type.DESCRIPTOR.full_name} has no scope that a credential could bound"
    raise TypeError(message)
