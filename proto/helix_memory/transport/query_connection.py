"""A connection to the query service of each shard: deadlines, repeated calls, errors of Helix's own tree."""

from __future__ import annotations

import copy
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, Final, NoReturn, Self, TypeVar

import grpc

from helix_memory.errors import CLOSED, HelixError, OtherInstanceError, PermanentError
from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_memory.transport.credentials import CallCredentials
from helix_memory.transport.polling import POLL_SECONDS
from helix_memory.transport.retrying import retry_policy
from helix_memory.transport.shard_routing import addresses_of, stub_of
from helix_memory.transport.statuses import REPLY_BYTES, error_of, is_loading

CALL_SECONDS: Final = 10.0
LONGEST_POLL_SECONDS: Final = 0.4
"""Between two calls to a service that is not ready; doubled from the first."""
LAST_SECONDS: Final = 0.5
"""Time left in which a service that is behind is not asked again."""

_LATER: Final = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
)
"""A call that ends so would be answered at another time."""

T = TypeVar("T")


class QueryConnection:
    """A connection to one query service; a context manager."""

    def __init__(
        self,
        address: str,
        *,
        call_seconds: float = CALL_SECONDS,
        instance: str = "",
        attempts: int = 1,
        credentials: CallCredentials | None = None,
    ) -> None:
        """Connect at the first call; with `instance`, refuse a service of another instance.

        `address` is host:port; where there are several shards, those of all, in order, with commas. Several
        replicas of one shard have `|` between them: another one is asked where one is slow or away.

        A call has `call_seconds`. With `attempts` (1 to 5), gRPC repeats a call within that time while the
        service does not answer or is full, and waits as long as the service says (gRFC A6).

        Raises:
            InvalidInputError: a file of the credentials cannot be used, or an address is empty.
        """
        self.address = address
        self._instance = instance
        self._call_seconds = call_seconds
        self._closed = threading.Event()
        self._credentials = credentials or CallCredentials()
        shards = addresses_of(address)
        self._addresses = tuple(chain.from_iterable(shards))
        self._is_sharded = len(shards) > 1
        self._channels: list[grpc.Channel] = []
        self._stub: Any = stub_of([self._stubs_at(replicas, attempts) for replicas in shards], attempts)

    def _stubs_at(self, replicas: Sequence[str], attempts: int) -> list[recall_pb2_grpc.RecallServiceStub]:
        options: list[tuple[str, Any]] = [("grpc.max_receive_message_length", REPLY_BYTES)]
        # where another replica can be asked, the channel of one must not repeat the call first
        if attempts > 1 and len(replicas) == 1:
            options.append(("grpc.service_config", json.dumps(retry_policy(attempts))))
        channels = [self._credentials.channel(one, options) for one in replicas]
        self._channels += channels
        return [recall_pb2_grpc.RecallServiceStub(channel) for channel in channels]

    def with_token(self, token: str) -> Self:
        """The same connection for the calls of another caller; closing either closes both.

        Raises:
            InvalidInputError: the token would go to another machine in the clear.
        """
        other = copy.copy(self)
        other._credentials = replace(self._credentials, token=token, token_file=None)  # noqa: SLF001  of this class
        for address in self._addresses:
            other._credentials.require_safe(address)  # noqa: SLF001  likewise
        return other

    def status(self, tenant_id: str = "") -> recall_pb2.GetStatusResponse:
        """Status of the service; of several, of that with the shard of a tenant, else of all together.

        Raises:
            HelixError: what the status of gRPC says, else nothing answers.
        """
        return self._answer(partial(self._status, tenant_id))

    def close(self) -> None:
        """Close the connection; a call under way raises PermanentError. Closing again does nothing."""
        self._closed.set()
        for channel in self._channels:
            channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(self, method: Callable[..., T], request: object, seconds: float | None = None) -> T:
        """The reply of a method of the stub, in `seconds`, else in those of every call.

        Raises:
            HelixError: what the status says, else nothing answers.
        """

        def call() -> T:
            if self._instance:
                self._status()
            limit = self._call_seconds if seconds is None else seconds
            return self._asked(method, request, time.monotonic() + limit)

        return self._answer(call)

    def _asked(self, method: Callable[..., T], request: object, until: float) -> T:
        """The reply by `until`, a moment of the monotonic clock.

        A service waits for `min_seq` no longer than its own limit, and may have too little of it left for the
        answer; it is asked again while time is left. What it answered without that event is better than no
        answer. A shard that is being loaded is waited for as well.
        """
        waits = bool(getattr(getattr(request, "recall", request), "min_seq", 0))
        stale: T | None = None
        wait = POLL_SECONDS
        while True:
            left = until - time.monotonic()
            try:
                reply = method(request, timeout=left, metadata=self._credentials.metadata())
            except grpc.RpcError as error:
                is_later = is_loading(error) or (waits and error.code() in _LATER)
                if not is_later or _is_near(until):
                    if stale is not None and error.code() in _LATER:
                        return stale
                    raise
                time.sleep(wait)
                wait = min(2 * wait, LONGEST_POLL_SECONDS)
            else:
                if not waits or not getattr(reply, "stale", False) or _is_near(until):
                    return reply
                stale = reply

    def _answer(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except (grpc.RpcError, ValueError) as error:
            if self._closed.is_set():  # a closed channel raises ValueError
                raise PermanentError(CLOSED) from error
            if isinstance(error, grpc.RpcError):
                self._raise(error)
            raise

    def _status(self, tenant_id: str = "") -> recall_pb2.GetStatusResponse:
        """Status of the service; the first reply is checked for the right instance."""
        # one service has one status, which is told to a credential of any tenant
        scope = recall_pb2.Scope(tenant_id=tenant_id) if self._is_sharded else None
        reply: recall_pb2.GetStatusResponse = self._stub.GetStatus(
            recall_pb2.GetStatusRequest(scope=scope),
            timeout=self._call_seconds,
            metadata=self._credentials.metadata(),
        )
        if self._instance and reply.instance != self._instance:
            raise OtherInstanceError(f"the query service at {self.address}")
        self._instance = ""
        return reply

    def _raise(self, error: grpc.RpcError) -> NoReturn:
        code = error.code()
        raise self._error_of(code, str(error.details() or code.name)) from error

    def _error_of(self, code: grpc.StatusCode, details: str) -> HelixError:
        error = error_of(code, details, who=f"the query service at {self.address}")
        is_away = code == grpc.StatusCode.UNAVAILABLE  # what is late may well run
        return type(error)(f"{error}; is `helix up` running?") if is_away else error


def _is_near(until: float) -> bool:
    return until - time.monotonic() < LAST_SECONDS
