"""The gRPC status of every error class.

Other errors become INTERNAL without their message, which may quote a memory or a query.
"""

from __future__ import annotations

from typing import Final

import grpc

from helix_query.scheduling.deadline import PASSED
from helix_shared.errors import (
    CorruptArtifactError,
    InvalidInputError,
    NotFoundError,
    OverdueError,
    OverloadedError,
    TemporaryError,
)

_STATUS: Final[tuple[tuple[type[BaseException], grpc.StatusCode], ...]] = (
    (InvalidInputError, grpc.StatusCode.INVALID_ARGUMENT),
    (NotFoundError, grpc.StatusCode.NOT_FOUND),
    (OverdueError, grpc.StatusCode.DEADLINE_EXCEEDED),
    (OverloadedError, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (TemporaryError, grpc.StatusCode.UNAVAILABLE),
)


def status_of(error: BaseException) -> tuple[grpc.StatusCode, str]:
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
