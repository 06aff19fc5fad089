"""The outermost frame of every call: every error, also a Rust panic, becomes a gRPC status."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Final

import grpc

from helix_shared.errors import InvalidInputError, OverloadedError
from helix_shared.rpc.statuses import refused_of

Call = Callable[[Any, Any], Awaitable[Any]]
"""A handler: request and context in, reply out."""
Stream = Callable[[Any, Any], AsyncIterator[Any]]
"""A handler of a stream: an async generator of replies."""
MALFORMED: Final = object()
"""Replaces a request that is not a valid protobuf message."""
PUSHBACK: Final = "grpc-retry-pushback-ms"
"""Trailing metadata with the delay that gRPC clients wait before a retry (gRFC A6)."""


def guarded(call: Call) -> Call:
    """`call` with every error turned into a status; an overload carries the delay for a retry."""

    async def answer(request: Any, context: Any) -> Any:
        try:
            _check(request)
            return await call(request, context)
        except (asyncio.CancelledError, grpc.aio.AbortError):
            raise
        except BaseException as error:  # noqa: BLE001 - grpc never ends a call that panics
            await _abort(error, context)

    return answer


def guarded_stream(call: Stream) -> Stream:
    """`guarded` for a handler of a stream; `call` is closed as soon as the caller goes away."""

    async def answer(request: Any, context: Any) -> AsyncIterator[Any]:
        try:
            _check(request)
            async with aclosing(call(request, context)) as replies:  # type: ignore[type-var]  # a generator
                async for reply in replies:
                    yield reply
        except (asyncio.CancelledError, grpc.aio.AbortError, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - as above
            await _abort(error, context)

    return answer


def tolerant(parse: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """`parse`, returning `MALFORMED` for bytes that grpc would answer with an internal error."""

    def read(body: bytes) -> Any:
        try:
            return parse(body)
        except Exception:  # noqa: BLE001 - protobuf back ends share no error class
            return MALFORMED

    return read


def _check(request: Any) -> None:
    if request is MALFORMED:
        raise InvalidInputError("request", "is not a valid message; strings must be utf-8")


async def _abort(error: BaseException, context: Any) -> None:
    code, message = refused_of(error)
    if isinstance(error, OverloadedError):
        await context.abort(code, message, ((PUSHBACK, str(round(error.delay_seconds * 1_000))),))
    await context.abort(code, message)
