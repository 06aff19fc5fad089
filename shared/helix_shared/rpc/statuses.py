"""The gRPC status of every error class; `helix_memory.transport.statuses` has the error of a status.

Other errors become INTERNAL without their message, which may quote a memory or a query.
"""

from __future__ import annotations

from typing import Final

import grpc

from helix_shared.errors import (
    PASSED,
    CorruptArtifactError,
    DeniedError,
    InvalidInputError,
    NotFoundError,
    OtherShardError,
    OverdueError,
    OverloadedError,
    TemporaryError,
    UnauthenticatedError,
)
from helix_shared.telemetry.logs import logger

_log = logger(__name__)

FAULTS: Final = frozenset(
    {
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.UNIMPLEMENTED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DATA_LOSS,
    }
)
"""Statuses that are errors of a server by the semantic conventions of OpenTelemetry for gRPC; with the others
the server did its work: it refused the call, or the caller ended it."""
Refused = tuple[grpc.StatusCode, str]
"""Status and message of a call or request that failed."""

_STATUS: Final[tuple[tuple[type[BaseException], grpc.StatusCode], ...]] = (
    (InvalidInputError, grpc.StatusCode.INVALID_ARGUMENT),
    (NotFoundError, grpc.StatusCode.NOT_FOUND),
    (UnauthenticatedError, grpc.StatusCode.UNAUTHENTICATED),
    (OtherShardError, grpc.StatusCode.FAILED_PRECONDITION),
    (DeniedError, grpc.StatusCode.PERMISSION_DENIED),
    (OverdueError, grpc.StatusCode.DEADLINE_EXCEEDED),
    (OverloadedError, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (TemporaryError, grpc.StatusCode.UNAVAILABLE),
)


def status_of(error: BaseException) -> Refused:
    """Status and message for the caller."""
    for kind, status in _STATUS:
        if isinstance(error, kind):
            return status, str(error)
    if isinstance(error, CorruptArtifactError):
        # The message of the error names files of the server.
        return grpc.StatusCode.DATA_LOSS, "an artifact is damaged; the operator's log names it"
    if isinstance(error, TimeoutError):
        return grpc.StatusCode.DEADLINE_EXCEEDED, PASSED
    return grpc.StatusCode.INTERNAL, "internal error"


def is_fault(error: BaseException) -> bool:
    """Whether the error is one of the server."""
    return status_of(error)[0] in FAULTS


def refused_of(error: BaseException) -> Refused:
    """Status and message for the caller; an error of which the caller learns nothing is logged."""
    code, message = status_of(error)
    if isinstance(error, CorruptArtifactError):
        _log.error("call_failed", error=type(error).__name__, status=code.name, reason=str(error))
    elif code is grpc.StatusCode.INTERNAL:
        # without its message, which may quote a memory or a query
        _log.error("call_failed", error=type(error).__name__, status=code.name)
    return code, message
