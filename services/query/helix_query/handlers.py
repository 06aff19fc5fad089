"""The calls of RecallService: checked request in, one leased generation, reply out.

Work runs in a pool, never on the event loop; at most `in_flight` recalls are accepted, counted until
their thread is really done, so that calls given up by their callers cannot pile up. Recalls that have
to wait for their event first have as many places of their own and keep them to the end: they take none
from those that can be answered now, and who has waited is not refused then. The guard is the outermost
frame: whatever is raised, a Rust panic too, becomes a status.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import grpc

from helix.recall.v1 import recall_pb2
from helix_query.attempts import Attempts
from helix_query.memory import get_memory
from helix_query.pool import SEARCHED
from helix_query.question import Question
from helix_query.recall import recall
from helix_query.reply import memory_message, recall_response, status_response
from helix_query.request import MALFORMED, memory_id_of, moment_of, question_of, scope_of
from helix_query.status import status_of
from helix_query.why_not import why_not
from helix_query.why_not_reply import why_not_response
from helix_shared.errors import HelixError, InvalidInputError, OverloadedError, TemporaryError
from helix_shared.telemetry import RECALL_SECONDS, logger

if TYPE_CHECKING:
    from helix_query.profile import RankingProfile
    from helix_query.serving import Serving
    from helix_query.settings import QuerySettings

WAIT: Final = "wait"
"""Name, among the times of the stages, of the time a recall waited for its event."""
SEARCHING: Final = 0.6
"""Share of the deadline of a WhyNot in which changes are tried."""
SERVICE_NAME: Final = recall_pb2.DESCRIPTOR.services_by_name["RecallService"].full_name

Answer = TypeVar("Answer")
Call = Callable[[Any, Any], Awaitable[Any]]

_log = logger(__name__)


class RecallHandlers:
    """RecallService; owns the pools its calls run in."""

    def __init__(
        self, serving: Serving, profiles: Mapping[str, RankingProfile], settings: QuerySettings
    ) -> None:
        self._serving = serving
        self._profiles = profiles
        self._settings = settings
        self._started = time.monotonic()
        self._free = threading.Semaphore(settings.in_flight)
        # each replays many recalls: most of the threads stay with those who ask
        self._whys = threading.Semaphore(max(1, settings.threads // 4))
        self._patient = threading.Semaphore(settings.in_flight)
        self._workers = ThreadPoolExecutor(settings.threads, thread_name_prefix="recall")
        self._lanes = {
            channel: ThreadPoolExecutor(settings.threads, thread_name_prefix=channel) for channel in SEARCHED
        }

    def close(self) -> None:
        """End the pools; what has begun is finished first."""
        for pool in (self._workers, *self._lanes.values()):
            pool.shutdown(wait=True, cancel_futures=True)

    def generic_handler(self) -> grpc.GenericRpcHandler[Any, Any]:
        """All calls, each with a deserializer that never fails and the guard around it."""
        calls: dict[str, tuple[Call, Any]] = {
            "Recall": (self.recall, recall_pb2.RecallRequest),
            "GetMemory": (self.get_memory, recall_pb2.GetMemoryRequest),
            "GetStatus": (self.get_status, recall_pb2.GetStatusRequest),
            "WhyNot": (self.why_not, recall_pb2.WhyNotRequest),
        }
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(
                guarded(call),
                request_deserializer=tolerant(request.FromString),
                response_serializer=lambda reply: reply.SerializeToString(),
            )
            for name, (call, request) in calls.items()
        }
        return grpc.method_handlers_generic_handler(SERVICE_NAME, handlers)

    async def recall(self, request: recall_pb2.RecallRequest, context: Any) -> recall_pb2.RecallResponse:
        """The memories that answer a query."""
        question = question_of(request, profiles=self._profiles, clock=datetime.now(UTC))
        limit = self._seconds_left(context)
        if self._serving.progress.has_reached(question.min_sequence):
            return await self._run(lambda: self._recall(question), limit)
        return await self._recall_later(question, limit)

    async def get_memory(
        self, request: recall_pb2.GetMemoryRequest, context: Any
    ) -> recall_pb2.GetMemoryResponse:
        """One memory by id."""
        memory_id = memory_id_of(request.memory_id)
        scope = scope_of(request.scope, as_of=moment_of(request))

        def work() -> recall_pb2.GetMemoryResponse:
            with self._serving.lease() as served:
                row, entities = get_memory(memory_id, scope, served, now=datetime.now(UTC))
                return recall_pb2.GetMemoryResponse(
                    memory=memory_message(row, entities), generation=served.number
                )

        return await self._run(work, self._seconds_left(context))

    async def why_not(self, request: recall_pb2.WhyNotRequest, context: Any) -> recall_pb2.WhyNotResponse:
        """Why a memory is not in an answer; looks for a change as long as there is time to say it."""
        memory_id, limit = memory_id_of(request.memory_id), self._seconds_left(context)
        until = time.monotonic() + SEARCHING * limit

        def work() -> recall_pb2.WhyNotResponse:
            with self._serving.lease() as served:
                attempts = Attempts(
                    served,
                    self._profiles,
                    self._lanes,
                    self._settings.channel_deadline_seconds,
                    clock=datetime.now(UTC),
                    until=until,
                )
                return why_not_response(why_not(request.recall, memory_id, attempts), served)

        if not self._whys.acquire(blocking=False):
            raise OverloadedError("as many why_not calls as may run at once are at work; back off")
        try:
            return await self._run(work, limit)
        finally:
            self._whys.release()

    async def get_status(
        self, _request: recall_pb2.GetStatusRequest, _context: Any
    ) -> recall_pb2.GetStatusResponse:
        """What the server serves; answers even while there is nothing to serve."""
        uptime = time.monotonic() - self._started
        try:
            with self._serving.lease() as served:
                return status_response(served, uptime_seconds=uptime)
        except TemporaryError:
            return status_response(None, uptime_seconds=uptime)

    async def _recall_later(self, question: Question, limit: float) -> recall_pb2.RecallResponse:
        """Answer once the wanted event can be recalled, or when only the time to answer is left."""
        self._enter(self._patient)
        started = time.perf_counter()
        try:
            answering = min(self._settings.channel_deadline_seconds, limit / 2)
            await self._serving.progress.reach(question.min_sequence, seconds=limit - answering)
        except BaseException:
            self._patient.release()
            raise
        waited = time.perf_counter() - started
        work = partial(self._recall, question, waited_seconds=waited)
        return await self._submit(work, limit - waited, self._patient)

    def _recall(self, question: Question, *, waited_seconds: float = 0.0) -> recall_pb2.RecallResponse:
        started = time.perf_counter()
        with self._serving.lease() as served:
            answer = recall(
                question,
                served,
                profile=self._profiles[question.profile],
                lanes=self._lanes,
                channel_deadline_seconds=self._settings.channel_deadline_seconds,
            )
            elapsed = time.perf_counter() - started
            RECALL_SECONDS.labels("total").observe(elapsed)
            if waited_seconds:
                answer = replace(answer, seconds=((WAIT, waited_seconds), *answer.seconds))
            return recall_response(answer, question, served, total_seconds=waited_seconds + elapsed)

    async def _run(self, work: Callable[[], Answer], limit: float) -> Answer:
        """Run `work` in the pool, within `limit` seconds."""
        self._enter(self._free)
        return await self._submit(work, limit, self._free)

    def _enter(self, places: threading.Semaphore) -> None:
        if not places.acquire(blocking=False):
            raise OverloadedError(f"{self._settings.in_flight} calls are in work already; back off")

    async def _submit(self, work: Callable[[], Answer], limit: float, places: threading.Semaphore) -> Answer:
        """Run `work` on a place of `places` that is taken already and is free again when it is done."""
        try:
            future = self._workers.submit(work)
        except BaseException:
            places.release()
            raise
        future.add_done_callback(lambda _: places.release())
        return await asyncio.wait_for(asyncio.wrap_future(future), max(limit, 0.0))

    def _seconds_left(self, context: Any) -> float:
        """To the sooner of the caller's deadline and our own."""
        remaining, limit = context.time_remaining(), self._settings.deadline_seconds
        return limit if remaining is None else min(limit, max(remaining, 0.0))


def guarded(call: Call) -> Call:
    """`call` with every error turned into a status; the message of an unknown one stays here."""

    async def answer(request: Any, context: Any) -> Any:
        try:
            if request is MALFORMED:
                raise InvalidInputError("request", "is not a valid message; strings must be utf-8")  # noqa: TRY301 - one way to a status
            return await call(request, context)
        except (asyncio.CancelledError, grpc.aio.AbortError):
            raise
        except BaseException as error:  # noqa: BLE001 - grpc turns a panic into a call without an end
            code, message = status_of(error)
            if not isinstance(error, HelixError | TimeoutError):
                _log.error("call_failed", error=type(error).__name__, status=code.name)
            await context.abort(code, message)

    return answer


def tolerant(parse: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """`parse`, giving `MALFORMED` instead of an error that grpc would turn into an internal one."""

    def read(body: bytes) -> Any:
        try:
            return parse(body)
        except Exception:  # noqa: BLE001 - protobuf's errors share no base across its back ends
            return MALFORMED

    return read
