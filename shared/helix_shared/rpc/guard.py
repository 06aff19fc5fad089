"""The outermost wrapper of every call: turns every error, also a Rust panic, into a gRPC status."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Final

import grpc

from helix_memory.sharding import SHARD_KEY
from helix_shared.errors import InvalidInputError, LoadingError, OtherShardError, OverloadedError
from helix_shared.rpc.statuses import refused_of
from helix_shared.telemetry.metrics import RPC_SECONDS

Call = Callable[[Any, Any], Awaitable[Any]]
"""A handler: request and context in, reply out."""
Stream = Callable[[Any, Any], AsyncIterator[Any]]
"""A handler of a stream: an async generator of replies."""
MALFORMED: Final = object()
"""Replaces a request that is not a valid protobuf message."""
PUSHBACK: Final = "grpc-retry-pushback-ms"
"""Trailing metadata with the delay that gRPC clients wait before a retry (gRFC A6)."""


def guarded(call: Call, *, rpc: str) -> Call:
    """`call` with every error turned into a status, and its time and status counted under the name `rpc`.

    An overload carries the delay for a retry. A tenant of another shard carries the number of that shard,
    and a shard that is being loaded its own.
    """

    async def answer(request: Any, context: Any) -> Any:
        timed = _Timed(rpc)
        try:
            _check(request)
            reply = await call(request, context)
        except (asyncio.CancelledError, grpc.aio.AbortError):
            timed.end(grpc.StatusCode.CANCELLED)
            raise
        except BaseException as error:  # noqa: BLE001 - grpc never ends a call that panics
            await _abort(error, context, timed)
        else:
            timed.end(grpc.StatusCode.OK)
            return reply

    return answer


def guarded_stream(call: Stream, *, rpc: str) -> Stream:
    """`guarded` for a handler of a stream; `call` is closed as soon as the caller goes away."""

    async def answer(request: Any, context: Any) -> AsyncIterator[Any]:
        timed = _Timed(rpc)
        try:
            _check(request)
            async with aclosing(call(request, context)) as replies:  # type: ignore[type-var]  # a generator
                async for reply in replies:
                    yield reply
            timed.end(grpc.StatusCode.OK)
        except (asyncio.CancelledError, grpc.aio.AbortError, GeneratorExit):
            timed.end(grpc.StatusCode.CANCELLED)
            raise
        except BaseException as error:  # noqa: BLE001 - as above
            await _abort(error, context, timed)

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


class _Timed:
    """The time of one call, observed once with its status."""

    def __init__(self, rpc: str) -> None:
        self._rpc = rpc
        self._began = time.perf_counter()

    def end(self, code: grpc.StatusCode) -> None:
        RPC_SECONDS.labels(self._rpc, code.name).observe(time.perf_counter() - self._began)


async def _abort(error: BaseException, context: Any, timed: _Timed) -> None:
    code, message = refused_of(error)
    timed.end(code)
    if isinstance(error, OverloadedError):
        await context.abort(code, message, ((PUSHBACK, str(round(error.delay_seconds * 1_000))),))
    if isinstance(error, OtherShardError | LoadingError):
        await context.abort(code, message, ((SHARD_KEY, str(error.shard)),))
    await context.abort(code, message)
