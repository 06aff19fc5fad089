"""What a gRPC status says: the error that it stands for, and the shard that it is about.

`helix_shared.rpc.statuses` has the status of an error.
"""

from __future__ import annotations

from typing import Any, Final

import grpc

from helix_memory.errors import (
    DeniedError,
    HelixError,
    InvalidInputError,
    NotFoundError,
    OverdueError,
    OverloadedError,
    PermanentError,
    TemporaryError,
    UnauthenticatedError,
)
from helix_memory.sharding import SHARD_KEY

STATUS_OF_NUMBER: Final = {code.value[0]: code for code in grpc.StatusCode}
"""By the number that a batch gives for a request that failed."""
_PLAIN: Final[dict[grpc.StatusCode, type[HelixError]]] = {
    grpc.StatusCode.NOT_FOUND: NotFoundError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: OverloadedError,
}
"""Errors with the message of the service."""
_NAMED: Final[dict[grpc.StatusCode, tuple[type[HelixError], str]]] = {
    grpc.StatusCode.UNAVAILABLE: (TemporaryError, "no answer from {who}"),
    grpc.StatusCode.DEADLINE_EXCEEDED: (OverdueError, "no answer from {who}"),
    grpc.StatusCode.UNAUTHENTICATED: (UnauthenticatedError, "{who} refused the call"),
    grpc.StatusCode.PERMISSION_DENIED: (DeniedError, "{who} refused the call"),
}
"""Errors whose message says who answered."""
REPLY_BYTES: Final = 64 * 1024 * 1024
"""Largest reply that a caller accepts; 200 memories of the longest text can in theory have 80 MB."""


def error_of(code: grpc.StatusCode, details: str, *, who: str) -> HelixError:
    """The error that a status of `who` stands for."""
    if code == grpc.StatusCode.INVALID_ARGUMENT:
        field, _, reason = details.partition(": ")
        return InvalidInputError(field, reason) if reason else InvalidInputError("request", details)
    if (plain := _PLAIN.get(code)) is not None:
        return plain(details)
    if (named := _NAMED.get(code)) is not None:
        kind, what = named
        return kind(f"{what.format(who=who)}: {details}")
    return PermanentError(f"{who} failed with {code.name}: {details}")


def is_loading(error: grpc.RpcError) -> bool:
    """Whether the service answers once it has loaded the shard."""
    return error.code() == grpc.StatusCode.UNAVAILABLE and stated_shard(error) is not None


def stated_shard(error: grpc.RpcError) -> int | None:
    """The shard that a status is about; None: it names none."""
    return stated_number(error, SHARD_KEY)


def stated_number(error: grpc.RpcError, key: str) -> int | None:
    """The number that a status has under a key of its metadata; None: it has none, or something else."""
    # pairs, of another class for asyncio
    metadata: Any = error.trailing_metadata() or ()
    stated = [str(value) for name, value in metadata if name == key]
    return int(stated[0]) if stated and stated[0].isdecimal() else None
