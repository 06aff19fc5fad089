"""Calls over several query services of one shard: another one is asked where one is slow or away.

Every call of the service only reads, so it may be asked twice. A tenant is asked for at the same replica as
long as that one answers, because its pages are in memory there. Another replica is asked as well when the
first has not answered in the time that 95 of 100 calls take (a hedged request: Dean and Barroso, The Tail at
Scale, 2013), and at once when it cannot be reached or is full. The first reply counts; the other call is
cancelled. A call that waits for `min_seq` is not slow, and is never sent twice for its time.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import grpc

from helix_memory.sharding import rendezvous_order
from helix_memory.transport.retrying import backoffs
from helix_memory.transport.statuses import is_loading

HEDGE_QUANTILE: Final = 0.95
FIRST_HEDGE_SECONDS: Final = 0.1
"""The wait for a second replica until `FEWEST_CALLS` calls of a method were timed."""
LEAST_HEDGE_SECONDS: Final = 0.01
FEWEST_CALLS: Final = 20
TIMED_CALLS: Final = 200
"""The last calls of a method whose times count."""
HEDGE_SHARE: Final = 0.1
"""The most second calls for their time, as a share of all: where all replicas are slow they only add load."""
MOST_CREDIT: Final = 5.0
"""Second calls that may come at once."""
ASIDE_SECONDS: Final = 5.0
"""A replica that could not be reached, was full or is overtaken repeatedly is asked last for this time."""
MOST_OVERTAKEN: Final = 3
"""Calls in a row that another replica answered first: it may stand still, and each call would wait for it."""

ELSEWHERE: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)
"""Another replica may answer a call that ends so; any other status is that of the request."""


class ReplicaChoice:
    """Which of `count` replicas of a shard to ask for a tenant, and when a second one; thread-safe."""

    def __init__(self, count: int) -> None:
        self._lock = threading.Lock()
        self._aside_until = [0.0] * count
        self._overtaken = [0] * count
        self._seconds: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=TIMED_CALLS))
        self._credit = MOST_CREDIT

    def order(self, tenant: str) -> Iterator[int]:
        """The replicas in the order in which a tenant's calls go to them."""
        now = time.monotonic()
        with self._lock:
            aside = [until > now for until in self._aside_until]
        return iter(sorted(rendezvous_order(tenant, len(aside)), key=aside.__getitem__))

    def hedge_seconds(self, name: str, request: Any) -> float:
        """Seconds after which a call counts as slow; infinite where it waits for an event."""
        if _waits_for_event(request):
            return math.inf
        with self._lock:
            self._credit = min(self._credit + HEDGE_SHARE, MOST_CREDIT)
            seconds = sorted(self._seconds[name])
        if len(seconds) < FEWEST_CALLS:
            return FIRST_HEDGE_SECONDS
        return max(seconds[int(HEDGE_QUANTILE * len(seconds))], LEAST_HEDGE_SECONDS)

    def may_hedge(self) -> bool:
        """Whether a slow call may be sent to a second replica; it counts as sent."""
        with self._lock:
            if self._credit < 1.0:
                return False
            self._credit -= 1.0
            return True

    def note_reply(self, name: str, seconds: float, replica: int, overtaken: Iterable[int]) -> None:
        """Keep the time of a call, and which replicas another one overtook."""
        with self._lock:
            self._seconds[name].append(seconds)
            self._overtaken[replica] = 0
            for other in overtaken:
                self._overtaken[other] += 1
                if self._overtaken[other] >= MOST_OVERTAKEN:
                    self._put_aside(other)

    def require_elsewhere(self, replica: int, error: grpc.RpcError) -> None:
        """Put a replica that did not answer aside.

        Raises:
            grpc.RpcError: `error`, which another replica would give as well.
        """
        is_for_another = error.code() in ELSEWHERE
        if is_for_another or error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
            self._put_aside(replica)
        if not is_for_another:
            raise error

    def _put_aside(self, replica: int) -> None:
        self._aside_until[replica] = time.monotonic() + ASIDE_SECONDS


class ReplicatedStub:
    """The calls of `RecallServiceStub`, over a stub for each replica; thread-safe."""

    def __init__(self, stubs: Sequence[Any], attempts: int = 1) -> None:
        """Call over `stubs`; where no replica can be reached or all are full, `attempts` times in all."""
        self._stubs = tuple(stubs)
        self._attempts = attempts
        self._choice = ReplicaChoice(len(self._stubs))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(request: Any, *, timeout: float, metadata: Any = None) -> Any:
            until = time.monotonic() + timeout
            for wait in backoffs(self._attempts):
                try:
                    return self._first_reply(name, request, until, metadata)
                except grpc.RpcError as error:
                    if error.code() not in ELSEWHERE or time.monotonic() + wait >= until:
                        raise
                time.sleep(wait)
            return self._first_reply(name, request, until, metadata)

        return call

    def _first_reply(self, name: str, request: Any, until: float, metadata: Any) -> Any:
        """The first reply by `until`, else the most telling error of the replicas that were asked.

        Raises:
            grpc.RpcError: what a replica refuses, or that none answers.
        """
        began, choice = time.monotonic(), self._choice
        hedge_at = began + choice.hedge_seconds(name, request)
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        running: dict[Any, int] = {}
        others = choice.order(tenant_of(request))

        def ask(replica: int) -> None:
            future = getattr(self._stubs[replica], name).future(
                request, timeout=max(0.0, until - time.monotonic()), metadata=metadata
            )
            running[future] = replica
            future.add_done_callback(ended.put)

        ask(next(others))
        error: grpc.RpcError | None = None
        try:
            while True:
                try:
                    future = ended.get(timeout=seconds_to(hedge_at))
                except queue.Empty:
                    hedge_at = math.inf
                    replica = next(others, None) if choice.may_hedge() else None
                    if replica is not None:
                        ask(replica)
                    continue
                replica = running.pop(future)
                if future.code() is grpc.StatusCode.OK:
                    choice.note_reply(name, time.monotonic() - began, replica, overtaken=running.values())
                    return future.result()
                choice.require_elsewhere(replica, future)
                error = more_telling(error, future)
                other = next(others, None)
                if other is not None:
                    ask(other)
                elif not running:
                    raise error
        finally:
            for future in running:
                future.cancel()


def tenant_of(request: Any) -> str:
    """The tenant that a request names; empty where only its credential says it."""
    scope = request.scope if "scope" in request.DESCRIPTOR.fields_by_name else request.recall.scope
    return str(scope.tenant_id)


def _waits_for_event(request: Any) -> bool:
    """Whether a call, or one of a batch, has a `min_seq`."""
    each = getattr(request, "requests", None) or (getattr(request, "recall", request),)
    return any(getattr(one, "min_seq", 0) for one in each)


def more_telling(error: grpc.RpcError | None, other: grpc.RpcError) -> grpc.RpcError:
    """Of two errors the one that says more of when to ask again: soon, later, or nothing at all."""

    def tells(one: grpc.RpcError) -> int:
        return 2 if is_loading(one) else int(one.code() is not grpc.StatusCode.UNAVAILABLE)

    return other if error is None else max(error, other, key=tells)


def seconds_to(moment: float) -> float | None:
    """The time until a moment of the monotonic clock; None: it never comes."""
    return None if math.isinf(moment) else max(0.0, moment - time.monotonic())
