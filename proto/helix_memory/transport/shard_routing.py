"""Calls go to the query service of the shard of their tenant; with one address there is nothing to choose.

The shard is guessed by hashing. A service of another shard refuses the call and says which one it is, so a
client needs no map, and a tenant that was moved is found again by one refused call. While it is moved both
may refuse it for a moment; then they are called again until one has it, or the time of the call is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import grpc

from helix_memory.errors import InvalidInputError
from helix_memory.recall.v1 import recall_pb2
from helix_memory.sharding import MOST_SHARDS, SHARD_KEY, hashed_shard

FIRST_WAIT_SECONDS: Final = 0.02
LONGEST_WAIT_SECONDS: Final = 0.5
"""Between two calls where each of two shards says that the other has the tenant; doubled from the first."""
MOST_KEPT: Final = 10_000
"""Tenants of which a client knows that they lie elsewhere than hashing says."""


def addresses_of(text: str) -> tuple[str, ...]:
    """The addresses in a list with commas, one for each shard, in order.

    Raises:
        InvalidInputError: one is empty, or there are too many.
    """
    found = tuple(one.strip() for one in text.split(","))
    if not all(found) or len(found) > MOST_SHARDS:
        raise InvalidInputError("address", f"must name 1 to {MOST_SHARDS} services, with commas between them")
    return found


class ShardedStub:
    """The calls of `RecallServiceStub`, over a stub for every shard, in order."""

    def __init__(self, stubs: Sequence[Any]) -> None:
        self._stubs = tuple(stubs)
        self._elsewhere: dict[object, int] = {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(request: Any, *, timeout: float, metadata: Any = None) -> Any:
            return self._routed(name, request, time.monotonic() + timeout, metadata)

        return call

    def GetStatus(  # noqa: N802  as the stub names it
        self, request: recall_pb2.GetStatusRequest, *, timeout: float, metadata: Any = None
    ) -> recall_pb2.GetStatusResponse:
        """The status of the shard of a tenant; without one, of all shards."""
        until = time.monotonic() + timeout
        if request.scope.tenant_id:
            found: recall_pb2.GetStatusResponse = self._routed("GetStatus", request, until, metadata)
            return found
        replies = []
        for stub in self._stubs:
            try:
                replies.append(stub.GetStatus(request, timeout=until - time.monotonic(), metadata=metadata))
            except grpc.RpcError as error:
                # a credential of one tenant is told of its shard alone
                if _other_shard(error) is None:
                    raise
        return _of_all(replies)

    def _routed(self, name: str, request: Any, until: float, metadata: Any) -> Any:
        tenant = _tenant_of(request)
        # without a tenant in the request the credential has it
        key: object = tenant or tuple(metadata or ())
        refused, wait = set[int](), FIRST_WAIT_SECONDS
        while True:
            shard = self._elsewhere.get(key)
            if shard is None:
                shard = hashed_shard(tenant, len(self._stubs))
            try:
                return getattr(self._stubs[shard], name)(
                    request, timeout=until - time.monotonic(), metadata=metadata
                )
            except grpc.RpcError as error:
                other = _other_shard(error)
                if other is None or other >= len(self._stubs):
                    raise
                refused.add(shard)
                if other in refused:
                    # it is being moved: one of the two does not serve the generation of after the move yet
                    if time.monotonic() + wait >= until:
                        raise
                    time.sleep(wait)
                    wait = min(2 * wait, LONGEST_WAIT_SECONDS)
                if len(self._elsewhere) >= MOST_KEPT:
                    self._elsewhere.clear()
                self._elsewhere[key] = other


def _tenant_of(request: Any) -> str:
    scope = request.scope if "scope" in request.DESCRIPTOR.fields_by_name else request.recall.scope
    return str(scope.tenant_id)


def _other_shard(error: grpc.RpcError) -> int | None:
    """The shard in which the tenant of a refused call lies; None: it was refused for another reason."""
    if error.code() != grpc.StatusCode.FAILED_PRECONDITION:
        return None
    stated = [str(one.value) for one in error.trailing_metadata() or () if one.key == SHARD_KEY]
    return int(stated[0]) if stated and stated[0].isdecimal() else None


def _of_all(replies: Sequence[recall_pb2.GetStatusResponse]) -> recall_pb2.GetStatusResponse:
    """The reply of the shard that is behind the others, with the counts of all."""
    whole = recall_pb2.GetStatusResponse()
    whole.CopyFrom(min(replies, key=lambda reply: (reply.applied_sequence, reply.generation)))
    for count in ("memories", "entities", "edges", "decayed"):
        setattr(whole, count, sum(getattr(reply, count) for reply in replies))
    return whole
