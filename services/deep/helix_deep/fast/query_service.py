"""The client of the query service; its errors become errors of Helix's own tree, with its messages."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import grpc

from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_memory.transport.credentials import CallCredentials
from helix_memory.transport.statuses import REPLY_BYTES, STATUS_OF_NUMBER, error_of

if TYPE_CHECKING:
    from helix_shared.errors import HelixError

Metadata = Sequence[tuple[str, str]]


class QueryService:
    """A connection for all calls of a process; used from one event loop, closed by its owner."""

    def __init__(self, address: str, *, seconds: float, credentials: CallCredentials | None = None) -> None:
        """Connect at the first call; none waits longer than `seconds`, or than until the moment it is given.

        Moments are of the monotonic clock. `credentials` are of the channel; a call has its caller's token.

        Raises:
            InvalidInputError: a file of the credentials cannot be used.
        """
        self._who = f"the query service at {address}"
        self._seconds = seconds
        options = [("grpc.max_receive_message_length", REPLY_BYTES)]
        self._channel = (credentials or CallCredentials()).aio_channel(address, options)
        self._stub: Any = recall_pb2_grpc.RecallServiceStub(self._channel)

    async def close(self) -> None:
        """End the connection."""
        await self._channel.close(None)

    async def recalls(
        self,
        scope: recall_pb2.Scope,
        requests: Sequence[recall_pb2.RecallRequest],
        metadata: Metadata,
        *,
        until: float,
    ) -> list[recall_pb2.RecallResponse | HelixError]:
        """Responses or errors of at most 16 requests without a scope, in order, from one generation.

        Raises:
            HelixError: the query service refuses all of them, or does not answer.
        """
        batch = recall_pb2.BatchRecallRequest(scope=scope, requests=requests)
        reply = await self._call(self._stub.BatchRecall, batch, metadata, until)
        return [
            one.response
            if one.HasField("response")
            else self._error(STATUS_OF_NUMBER[one.error.code], one.error.message)
            for one in reply.results
        ]

    async def profile(
        self, recall: recall_pb2.RecallRequest, *, tokens: int, metadata: Metadata, until: float
    ) -> recall_pb2.Profile:
        """The profile of the caller, within so many tokens.

        Raises:
            HelixError: as `recalls`.
        """
        request = recall_pb2.GetProfileRequest(
            scope=recall.scope, token_budget=tokens, time_zone=recall.time_zone
        )
        for moment in ("as_of", "valid_at"):
            if recall.HasField(moment):
                getattr(request, moment).CopyFrom(getattr(recall, moment))
        reply: recall_pb2.GetProfileResponse = await self._call(
            self._stub.GetProfile, request, metadata, until
        )
        return reply.profile

    async def pack(
        self, recall: recall_pb2.RecallRequest, memory_ids: Sequence[str], metadata: Metadata, *, until: float
    ) -> recall_pb2.PackResponse:
        """The memories packed as the request says; they count as served.

        Raises:
            HelixError: as `recalls`.
        """
        request = recall_pb2.PackRequest(recall=recall, memory_ids=memory_ids)
        reply: recall_pb2.PackResponse = await self._call(self._stub.Pack, request, metadata, until)
        return reply

    async def _call(self, method: Any, request: Any, metadata: Metadata, until: float) -> Any:
        seconds = min(self._seconds, max(0.0, until - time.monotonic()))
        try:
            return await method(request, timeout=seconds, metadata=tuple(metadata))
        except grpc.aio.AioRpcError as error:
            raise self._error(error.code(), str(error.details() or error.code().name)) from error

    def _error(self, code: grpc.StatusCode, details: str) -> HelixError:
        return error_of(code, details, who=self._who)
