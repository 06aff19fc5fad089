"""The client of the query service; its errors become errors of Helix's own tree, with its messages."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import grpc

from helix_deep.fast.replicas import ReplicatedStub
from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_memory.transport.credentials import CallCredentials
from helix_memory.transport.shard_routing import RoutedCall, ShardGuesses, addresses_of
from helix_memory.transport.statuses import REPLY_BYTES, STATUS_OF_NUMBER, error_of, is_loading, stated_number
from helix_shared.errors import InvalidInputError
from helix_shared.rpc.guard import PUSHBACK

if TYPE_CHECKING:
    from helix_shared.errors import HelixError

Metadata = Sequence[tuple[str, str]]
LOADING_SECONDS: Final = 0.1
"""Between two calls of a service that loads the shard of the tenant."""
LEAST_SECONDS: Final = 0.01
"""The shortest wait before the next call of a service that is full."""
MILLISECONDS: Final = 1_000
BATCH_FIELD: Final = "requests"
"""Field of the error for a batch with more requests than the query service has places for."""


class QueryService:
    """A connection for all calls of a process; used from one event loop, closed by its owner."""

    def __init__(self, address: str, *, seconds: float, credentials: CallCredentials | None = None) -> None:
        """Connect at the first call; none waits longer than `seconds`, or than until the moment it is given.

        `address` names the query service of each shard, in order, with commas. Several replicas of one shard
        have `|` between them: another one is asked where one is slow or away.

        Moments are of the monotonic clock. `credentials` are of the channel; a call has its caller's token.

        Raises:
            InvalidInputError: a file of the credentials cannot be used.
        """
        self._who = f"the query service at {address}"
        self._seconds = seconds
        options = [("grpc.max_receive_message_length", REPLY_BYTES)]
        own = credentials or CallCredentials()
        shards = [[own.aio_channel(one, options) for one in replicas] for replicas in addresses_of(address)]
        self._channels = list(chain.from_iterable(shards))
        self._stubs = [_stub_of(replicas) for replicas in shards]
        self._guesses = ShardGuesses(len(self._stubs))

    async def close(self) -> None:
        """End the connections."""
        for channel in self._channels:
            await channel.close(None)

    async def recalls(
        self,
        scope: recall_pb2.Scope,
        requests: Sequence[recall_pb2.RecallRequest],
        metadata: Metadata,
        *,
        until: float,
    ) -> list[recall_pb2.RecallResponse | HelixError]:
        """Responses or errors of at most 16 requests without a scope, in order.

        They are from one generation, unless the query service has fewer places than there are requests
        (`HELIX_QUERY_TENANT_IN_FLIGHT`, `HELIX_QUERY_IN_FLIGHT`): then it is asked for parts, in turn.

        Raises:
            HelixError: the query service refuses all of them, or does not answer.
        """
        until = min(until, time.monotonic() + self._seconds)
        answers: list[recall_pb2.RecallResponse | HelixError] = []
        most = len(requests)
        while len(answers) < len(requests):
            part = requests[len(answers) : len(answers) + most]
            try:
                answers += await self._batch(scope, part, metadata, until)
            except InvalidInputError as error:
                if error.field != BATCH_FIELD or len(part) == 1:
                    raise
                most = (len(part) + 1) // 2
        return answers

    async def _batch(
        self,
        scope: recall_pb2.Scope,
        requests: Sequence[recall_pb2.RecallRequest],
        metadata: Metadata,
        until: float,
    ) -> list[recall_pb2.RecallResponse | HelixError]:
        batch = recall_pb2.BatchRecallRequest(scope=scope, requests=requests)
        reply = await self._call("BatchRecall", batch, metadata, until)
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
        reply: recall_pb2.GetProfileResponse = await self._call("GetProfile", request, metadata, until)
        return reply.profile

    async def pack(
        self, recall: recall_pb2.RecallRequest, memory_ids: Sequence[str], metadata: Metadata, *, until: float
    ) -> recall_pb2.PackResponse:
        """The memories packed as the request says; they count as served.

        Raises:
            HelixError: as `recalls`.
        """
        request = recall_pb2.PackRequest(recall=recall, memory_ids=memory_ids)
        reply: recall_pb2.PackResponse = await self._call("Pack", request, metadata, until)
        return reply

    async def _call(self, name: str, request: Any, metadata: Metadata, until: float) -> Any:
        """The reply of the shard of the tenant; one that refuses the call says which it is.

        A shard that is being loaded is waited for, and a service that is full, or has no more places for this
        tenant now, for as long as it says.
        """
        until = min(until, time.monotonic() + self._seconds)
        routed = RoutedCall(self._guesses, request, metadata)
        while True:
            call = getattr(self._stubs[routed.shard], name)
            seconds = max(0.0, until - time.monotonic())
            try:
                return await call(request, timeout=seconds, metadata=tuple(metadata))
            except grpc.aio.AioRpcError as error:
                wait = _wait_of(error)
                if wait is None:
                    wait = routed.wait_after(error, until)
                if wait is None or time.monotonic() + wait >= until:
                    raise self._error(error.code(), str(error.details() or error.code().name)) from error
            await asyncio.sleep(wait)

    def _error(self, code: grpc.StatusCode, details: str) -> HelixError:
        return error_of(code, details, who=self._who)


def _stub_of(channels: Sequence[Any]) -> Any:
    """What calls the replicas of one shard."""
    stubs = [recall_pb2_grpc.RecallServiceStub(one) for one in channels]
    return stubs[0] if len(stubs) == 1 else ReplicatedStub(stubs)


def _wait_of(error: grpc.aio.AioRpcError) -> float | None:
    """Seconds until the same service may answer the call; None: it would not, or does not say."""
    if is_loading(error):
        return LOADING_SECONDS
    # anything but a number of milliseconds: do not call again (gRFC A6)
    milliseconds = stated_number(error, PUSHBACK)
    if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED or milliseconds is None:
        return None
    seconds = max(milliseconds / MILLISECONDS, LEAST_SECONDS)
    return seconds * random.uniform(1.0, 1.4)  # noqa: S311  jitter, not a secret
