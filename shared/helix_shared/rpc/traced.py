"""The span of a call: around the guard, so that it knows the status that the caller gets.

Conventions: OpenTelemetry RPC spans. The trace of the caller comes in the metadata `traceparent`. A call that
is refused has its status in its span, and is no error of the server.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

import grpc

from helix_memory.trace_context import TRACEPARENT
from helix_memory.transport.statuses import STATUS_OF_NUMBER
from helix_shared.rpc.statuses import FAULTS
from helix_shared.telemetry.tracing import attributes, spans

if TYPE_CHECKING:
    from helix_shared.rpc.guard import Call, Stream
    from helix_shared.telemetry.tracing.spans import Span

_OK: Final = 0


def traced(service: str, method: str, call: Call) -> Call:
    """`call`, a guarded handler, in a span of its own while tracing is on."""

    async def answer(request: Any, context: Any) -> Any:
        if not spans.is_on():
            return await call(request, context)
        with _span(service, method, context) as span:
            try:
                reply = await call(request, context)
            except BaseException:
                _failed(span, context)
                raise
            span.set({attributes.RPC_STATUS: _OK})
            return reply

    return answer


def traced_stream(service: str, method: str, call: Stream) -> Stream:
    """As `traced`, for a handler of a stream."""

    async def answer(request: Any, context: Any) -> AsyncIterator[Any]:
        with _span(service, method, context) as span:
            try:
                async with aclosing(call(request, context)) as replies:  # type: ignore[type-var]  # a generator
                    async for reply in replies:
                        yield reply
            except BaseException:
                _failed(span, context)
                raise
            span.set({attributes.RPC_STATUS: _OK})

    return answer


def _span(service: str, method: str, context: Any) -> Any:
    metadata = context.invocation_metadata() if spans.is_on() else ()
    given = next((str(value) for key, value in metadata or () if key == TRACEPARENT), "")
    values: dict[str, attributes.Value] = {
        attributes.RPC_SYSTEM: "grpc",
        attributes.RPC_SERVICE: service,
        attributes.RPC_METHOD: method,
    }
    return spans.span(
        f"{service}/{method}",
        spans.SERVER,
        values,
        parent=spans.of_traceparent(given),
        is_failure=lambda _: _status(context) in FAULTS,
    )


def _failed(span: Span, context: Any) -> None:
    """State how the call failed."""
    status = _status(context)
    span.set({attributes.RPC_STATUS: status.value[0]})
    if status in FAULTS:
        span.fail(status.name)


def _status(context: Any) -> grpc.StatusCode:
    """The status of a call that failed; one without a status was cancelled by its caller."""
    stated = context.code()
    if isinstance(stated, grpc.StatusCode):
        return stated
    return STATUS_OF_NUMBER[int(stated)] if stated else grpc.StatusCode.CANCELLED
