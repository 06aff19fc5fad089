"""The outermost frame of every call: every error, also a Rust panic, becomes a gRPC status."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import grpc

from helix_query.api.errors import refused_of
from helix_query.api.requests import MALFORMED
from helix_shared.errors import InvalidInputError, OverloadedError

Call = Callable[[Any, Any], Awaitable[Any]]
"""A handler: request and context in, reply out."""
PUSHBACK: Final = "grpc-retry-pushback-ms"
"""Trailing metadata with the delay that gRPC clients wait before a retry (gRFC A6)."""


def guarded(call: Call) -> Call:
    """`call` with every error turned into a status; an overload carries the delay for a retry."""

    async def answer(request: Any, context: Any) -> Any:
        try:
            if request is MALFORMED:
                raise InvalidInputError("request", "is not a valid message; strings must be utf-8")  # noqa: TRY301 - handled like every other error
            return await call(request, context)
        except (asyncio.CancelledError, grpc.aio.AbortError):
            raise
        except BaseException as error:  # noqa: BLE001 - grpc never ends a call that panics
            code, message = refused_of(error)
            if isinstance(error, OverloadedError):
                await context.abort(code, message, ((PUSHBACK, str(round(error.delay_seconds * 1_000))),))
            await context.abort(code, message)

    return answer


def tolerant(parse: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """`parse`, returning `MALFORMED` for bytes that grpc would answer with an internal error."""

    def read(body: bytes) -> Any:
        try:
            return parse(body)
        except Exception:  # noqa: BLE001 - protobuf back ends share no error class
            return MALFORMED

    return read
