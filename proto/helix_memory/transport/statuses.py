"""The error that a gRPC status stands for; `helix_shared.rpc.statuses` has the status of an error."""

from __future__ import annotations

from typing import Final

import grpc

from helix_memory.errors import (
    HelixError,
    InvalidInputError,
    NotFoundError,
    OverdueError,
    OverloadedError,
    PermanentError,
    TemporaryError,
)

STATUS_OF_NUMBER: Final = {code.value[0]: code for code in grpc.StatusCode}
"""By the number that a batch gives for a request that failed."""
REPLY_BYTES: Final = 64 * 1024 * 1024
"""Largest reply that a caller accepts; 200 memories of the longest text can in theory have 80 MB."""


def error_of(code: grpc.StatusCode, details: str, *, who: str) -> HelixError:
    """The error that a status of `who` stands for."""
    if code == grpc.StatusCode.UNAVAILABLE:
        return TemporaryError(f"no answer from {who}: {details}")
    if code == grpc.StatusCode.DEADLINE_EXCEEDED:
        return OverdueError(f"no answer from {who}: {details}")
    if code == grpc.StatusCode.INVALID_ARGUMENT:
        field, _, reason = details.partition(": ")
        return InvalidInputError(field, reason) if reason else InvalidInputError("request", details)
    if code == grpc.StatusCode.NOT_FOUND:
        return NotFoundError(details)
    if code == grpc.StatusCode.RESOURCE_EXHAUSTED:
        return OverloadedError(details)
    return PermanentError(f"{who} failed with {code.name}: {details}")
