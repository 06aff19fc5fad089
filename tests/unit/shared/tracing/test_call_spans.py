"""Spans of calls: a refusal is no error of the server, a fault is one."""

from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from helix_query.api.search_span import in_span
from helix_shared.errors import (
    CorruptArtifactError,
    DeniedError,
    HelixError,
    InvalidInputError,
    NotFoundError,
    OverdueError,
    OverloadedError,
    TemporaryError,
    UnauthenticatedError,
)
from helix_shared.rpc.guard import guarded, guarded_stream
from helix_shared.rpc.traced import traced, traced_stream

REFUSALS = [
    (InvalidInputError("query", "is empty"), grpc.StatusCode.INVALID_ARGUMENT),
    (NotFoundError("no such memory"), grpc.StatusCode.NOT_FOUND),
    (DeniedError("not yours"), grpc.StatusCode.PERMISSION_DENIED),
    (UnauthenticatedError("no token"), grpc.StatusCode.UNAUTHENTICATED),
    (OverloadedError("later", delay_seconds=1), grpc.StatusCode.RESOURCE_EXHAUSTED),
]
FAULTS = [
    (RuntimeError("broken"), grpc.StatusCode.INTERNAL),
    (CorruptArtifactError("damaged"), grpc.StatusCode.DATA_LOSS),
    (TemporaryError("no generation yet"), grpc.StatusCode.UNAVAILABLE),
    (OverdueError("too late"), grpc.StatusCode.DEADLINE_EXCEEDED),
]
CASES = [(*one, False) for one in REFUSALS] + [(*one, True) for one in FAULTS]


class Context:
    """A call that has a status once it was aborted."""

    def __init__(self) -> None:
        self._code: grpc.StatusCode | None = None

    def code(self) -> grpc.StatusCode | None:
        """The status so far."""
        return self._code

    def invocation_metadata(self) -> tuple[()]:
        """The caller sent none."""
        return ()

    async def abort(self, code: grpc.StatusCode, *_: Any) -> None:
        """As grpc does, by an error."""
        self._code = code
        raise grpc.aio.AbortError(code)


@pytest.mark.parametrize(("error", "status", "is_error"), CASES)
async def test_only_a_fault_of_the_server_marks_the_span_of_a_call_as_failed(
    exported: InMemorySpanExporter, error: Exception, status: grpc.StatusCode, is_error: bool
) -> None:
    """Both have their status; by the semantic conventions of OpenTelemetry only some statuses are errors."""

    async def call(_request: Any, _context: Any) -> None:
        raise error

    async def stream(_request: Any, _context: Any) -> AsyncIterator[None]:
        yield None
        raise error

    with pytest.raises(grpc.aio.AbortError):
        await traced("s", "m", guarded(call, rpc="test-span"))(None, Context())
    with pytest.raises(grpc.aio.AbortError):
        async for _ in traced_stream("s", "m", guarded_stream(stream, rpc="test-span"))(None, Context()):
            pass
    if isinstance(error, HelixError):
        with pytest.raises(type(error)):
            in_span(_raising(error), "acme")()
    for span in exported.get_finished_spans():
        attributes = span.attributes or {}
        if "rpc.method" in attributes:
            assert attributes["rpc.grpc.status_code"] == status.value[0]
            assert attributes.get("error.type") == (status.name if is_error else None)
        assert ("error.type" in attributes) is is_error
        assert span.status.is_ok is not is_error


def _raising(error: Exception) -> Any:
    def search() -> None:
        raise error

    return search


async def test_a_call_that_its_caller_ends_is_no_error(exported: InMemorySpanExporter) -> None:
    """Its status is CANCELLED."""

    async def call(_request: Any, _context: Any) -> None:
        raise grpc.aio.AbortError

    with pytest.raises(grpc.aio.AbortError):
        await traced("s", "m", guarded(call, rpc="test-span"))(None, Context())
    [span] = exported.get_finished_spans()
    assert dict(span.attributes or {})["rpc.grpc.status_code"] == grpc.StatusCode.CANCELLED.value[0]
    assert span.status.is_ok
