"""Client of the deep service; its errors are those of Helix's own tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import grpc

from helix_memory.deep.v1 import deep_pb2, deep_pb2_grpc
from helix_memory.transport.credentials import CallCredentials
from helix_memory.transport.statuses import REPLY_BYTES, error_of
from helix_shared.errors import TemporaryError

LONGEST_SECONDS: Final = 600.0
"""Bound of the server's own limit."""
MARGIN_SECONDS: Final = 10.0


def deep_recall(
    address: str,
    request: deep_pb2.DeepRecallRequest,
    told: Callable[[deep_pb2.StageProgress], None],
    *,
    credentials: CallCredentials | None = None,
) -> deep_pb2.DeepRecallResult:
    """The result of one deep recall; `told` is called as stages begin and end.

    Raises:
        TemporaryError: nothing answers, or the query service behind it does not.
        InvalidInputError: the request breaks a limit.
        PermanentError: anything else the service refuses.
    """
    seconds = request.seconds if request.HasField("seconds") else LONGEST_SECONDS
    options = [("grpc.max_receive_message_length", REPLY_BYTES)]
    who = f"the deep service at {address}"
    called = credentials or CallCredentials()
    with called.channel(address, options) as channel:
        stub: Any = deep_pb2_grpc.DeepRecallServiceStub(channel)
        try:
            for event in stub.DeepRecall(
                request, timeout=seconds + MARGIN_SECONDS, metadata=called.metadata()
            ):
                if event.HasField("result"):
                    result: deep_pb2.DeepRecallResult = event.result
                    return result
                told(event.progress)
        except grpc.RpcError as error:
            # of a stream it is a call as well
            code: grpc.StatusCode = error.code()
            raise error_of(code, str(error.details() or code.name), who=who) from error
    raise TemporaryError(f"{who} ended the stream without a result")


def is_listening(address: str, *, wait_seconds: float, credentials: CallCredentials | None = None) -> bool:
    """Whether a gRPC server listens there, or does within this time."""
    with (credentials or CallCredentials()).channel(address) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=wait_seconds)
        except grpc.FutureTimeoutError:
            return False
    return True
