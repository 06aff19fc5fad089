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

from helix_memory.errors import InvalidInputError, PermanentError
from helix_memory.recall.v1 import recall_pb2
from helix_memory.sharding import MOST_SHARDS, hashed_shard
from helix_memory.transport.replicas import ReplicatedStub, tenant_of
from helix_memory.transport.statuses import stated_shard

FIRST_WAIT_SECONDS: Final = 0.02
LONGEST_WAIT_SECONDS: Final = 0.5
"""Between two calls where each of two shards says that the other has the tenant; doubled from the first."""
MOST_REPLICAS: Final = 16
"""Of one shard; a name of DNS may stand for more."""
MOST_KEPT: Final = 10_000
"""Tenants of which a client knows that they lie elsewhere than hashing says."""


def addresses_of(text: str) -> tuple[tuple[str, ...], ...]:
    """The addresses of the replicas of each shard, in the order of shards.

    Commas are between shards, `|` between the replicas of one: `a:7461|b:7461,c:7461`.

    Raises:
        InvalidInputError: one is empty, or there are too many.
    """
    found = tuple(tuple(one.strip() for one in shard.split("|")) for shard in text.split(","))
    if not all(map(all, found)) or len(found) > MOST_SHARDS:
        raise InvalidInputError(
            "address",
            f"must name 1 to {MOST_SHARDS} shards, with commas between them and | between replicas of one",
        )
    if max(map(len, found)) > MOST_REPLICAS:
        raise InvalidInputError("address", f"must name 1 to {MOST_REPLICAS} replicas of a shard")
    return found


def stub_of(shards: Sequence[Sequence[Any]], attempts: int) -> Any:
    """What calls the service, over a stub for each replica of each shard, in order.

    Calls to several replicas of a shard are repeated `attempts` times, those to a single one by its channel.
    """
    stubs = [replicas[0] if len(replicas) == 1 else ReplicatedStub(replicas, attempts) for replicas in shards]
    return stubs[0] if len(stubs) == 1 else ShardedStub(stubs)


class UnsettledTenantError(PermanentError):
    """Each of two shards named the other until the time of the call was over: the tenant is being moved."""


class ShardGuesses:
    """Where tenants lie, of `count` shards, as far as refused calls have told."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._elsewhere: dict[object, int] = {}

    def of(self, key: object, tenant_id: str) -> int:
        """The shard to call first."""
        known = self._elsewhere.get(key)
        return hashed_shard(tenant_id, self.count) if known is None else known

    def tell(self, key: object, shard: int) -> None:
        """A refused call named the shard."""
        if len(self._elsewhere) >= MOST_KEPT:
            self._elsewhere.clear()
        self._elsewhere[key] = shard


class RoutedCall:
    """One call: its `shard`, and whether and when it is called again after a refusal."""

    def __init__(self, guesses: ShardGuesses, request: Any, metadata: Any) -> None:
        tenant = tenant_of(request)
        self._guesses = guesses
        # without a tenant in the request the credential has it
        self._key: object = tenant or tuple(metadata or ())
        self._refused = set[int]()
        self.is_moving = False
        """Whether each of two shards said that the other has the tenant."""
        self._wait = FIRST_WAIT_SECONDS
        self.shard = guesses.of(self._key, tenant)

    def wait_after(self, error: grpc.RpcError, until: float) -> float | None:
        """Seconds to wait before the next call, of `shard`; None: there is none, the error stands.

        `until` is of the monotonic clock.
        """
        other = _other_shard(error)
        if other is None or other >= self._guesses.count:
            return None
        self._refused.add(self.shard)
        wait = 0.0
        if other in self._refused:
            # it is being moved: one of the two does not serve the generation of after the move yet
            self.is_moving = True
            wait, self._wait = self._wait, min(2 * self._wait, LONGEST_WAIT_SECONDS)
            if time.monotonic() + wait >= until:
                return None
        self._guesses.tell(self._key, other)
        self.shard = other
        return wait


class ShardedStub:
    """The calls of `RecallServiceStub`, over a stub for every shard, in order."""

    def __init__(self, stubs: Sequence[Any]) -> None:
        self._stubs = tuple(stubs)
        self._guesses = ShardGuesses(len(self._stubs))

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
        replies, reason = [], ""
        for stub in self._stubs:
            try:
                replies.append(stub.GetStatus(request, timeout=until - time.monotonic(), metadata=metadata))
            except grpc.RpcError as error:
                # a credential of one tenant is told of its shard alone
                if _other_shard(error) is None:
                    raise
                reason = str(error.details())
        if not replies:
            raise UnsettledTenantError(reason)
        return status_of_all(replies)

    def _routed(self, name: str, request: Any, until: float, metadata: Any) -> Any:
        routed = RoutedCall(self._guesses, request, metadata)
        while True:
            try:
                return getattr(self._stubs[routed.shard], name)(
                    request, timeout=until - time.monotonic(), metadata=metadata
                )
            except grpc.RpcError as error:
                wait = routed.wait_after(error, until)
                if wait is None and routed.is_moving:
                    raise UnsettledTenantError(str(error.details())) from error
                if wait is None:
                    raise
                time.sleep(wait)


def _other_shard(error: grpc.RpcError) -> int | None:
    """The shard in which the tenant of a refused call lies; None: it was refused for another reason."""
    return stated_shard(error) if error.code() == grpc.StatusCode.FAILED_PRECONDITION else None


def status_of_all(replies: Sequence[recall_pb2.GetStatusResponse]) -> recall_pb2.GetStatusResponse:
    """The reply of the shard that is behind the others, with the counts of all."""
    whole = recall_pb2.GetStatusResponse()
    whole.CopyFrom(min(replies, key=lambda reply: (reply.applied_sequence, reply.generation)))
    for count in ("memories", "entities", "edges", "decayed"):
        setattr(whole, count, sum(getattr(reply, count) for reply in replies))
    accesses = [reply.accesses for reply in replies if reply.HasField("accesses")]
    adapters = [reply.learned_adapters for reply in replies if reply.HasField("learned_adapters")]
    if accesses:
        for count in ("waiting", "dropped", "forwarders"):
            setattr(whole.accesses, count, sum(getattr(one, count) for one in accesses))
    if adapters:
        for count in ("fitting", "refused"):
            setattr(whole.learned_adapters, count, sum(getattr(one, count) for one in adapters))
    del whole.shards[:]
    whole.shards.extend(sorted((one for reply in replies for one in reply.shards), key=lambda one: one.shard))
    return whole
