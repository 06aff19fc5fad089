"""The outermost frame of every call: whatever is raised, a Rust panic too, becomes a status."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import grpc

from helix_query.api.batch import Refused
from helix_query.api.errors import status_of
from helix_query.api.requests import MALFORMED
from helix_shared.errors import HelixError, InvalidInputError, OverloadedError
from helix_shared.telemetry import logger

Call = Callable[[Any, Any], Awaitable[Any]]
"""Request and context in, reply out."""
PUSHBACK: Final = "grpc-retry-pushback-ms"
"""Trailing metadata that gRPC's own retries keep to (proposal A6)."""

_log = logger(__name__)


def told_of(error: BaseException) -> Refused:
    """Status and message for the caller; the message of an unknown error stays here."""
    code, message = status_of(error)
    if not isinstance(error, HelixError | TimeoutError):
        _log.error("call_failed", error=type(error).__name__, status=code.name)
    return code, message


def guarded(call: Call) -> Call:
    """`call` with every error turned into a status, and the time to come back where one is overload."""

    async def answer(request: Any, context: Any) -> Any:
        try:
            if request is MALFORMED:
                raise InvalidInputError("request", "is not a valid message; strings must be utf-8")  # noqa: TRY301 - one way to a status
            return await call(request, context)
        except (asyncio.CancelledError, grpc.aio.AbortError):
            raise
        except BaseException as error:  # noqa: BLE001 - grpc turns a panic into a call without an end
            code, message = told_of(error)
            if isinstance(error, OverloadedError):
                await context.abort(code, message, ((PUSHBACK, str(round(error.delay_seconds * 1_000))),))
            await context.abort(code, message)

    return answer


def tolerant(parse: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """`parse`, giving `MALFORMED` instead of an error that grpc would turn into an internal one."""

    def read(body: bytes) -> Any:
        try:
            return parse(body)
        except Exception:  # noqa: BLE001 - protobuf's errors share no base across its back ends
            return MALFORMED

    return read
