"""The calls of RecallService: checked request in, one leased generation, reply out.

Every call that reads a generation works on the threads of `turns`, never on the event loop, and keeps its
place there until its last thread has ended, so that calls given up by their callers cannot pile up.
GetStatus alone is outside: it copies fields of a manifest that is in memory. Recalls that have to wait for
their event first have as many places of their own: they take none from those that can be answered now, and
who has waited is not refused then. `guard` turns whatever is raised into a status.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import grpc

from helix_memory.recall.v1 import recall_pb2
from helix_query.api.batch import batch_response, in_order, queries_of
from helix_query.api.guard import Call, guarded, refused_of, tolerant
from helix_query.api.requests import memory_id_of, moment_of, query_of, scope_of
from helix_query.api.responses import memory_message, recall_response, status_response
from helix_query.api.server import SERVICE_NAME
from helix_query.api.why_not_call import WhyNotSearch
from helix_query.diagnostics.explain import explained
from helix_query.recall.channels import LANES
from helix_query.recall.context import RecallContext
from helix_query.recall.packing.memory import get_memory
from helix_query.recall.query import Query
from helix_query.recall.recall import recall
from helix_query.scheduling.deadline import PASSED, PASSED_IN_QUEUE, left
from helix_query.scheduling.fair_executor import FairExecutor
from helix_shared.errors import OverdueError, TemporaryError
from helix_shared.telemetry import RECALL_SECONDS

if TYPE_CHECKING:
    from helix_query.generations.snapshot import Snapshot, SnapshotSource
    from helix_query.profile.profile import RankingProfile
    from helix_query.scheduling.fair_queue import Work
    from helix_query.settings import QuerySettings

WAIT: Final = "wait"
"""Name, among the times of the stages, of the time a recall waited for its event."""
SEARCHING: Final = 0.6
"""Share of the deadline of a WhyNot in which changes are tried."""

T = TypeVar("T")


class RecallHandlers:
    """RecallService; owns the threads its calls run in."""

    def __init__(
        self, current: SnapshotSource, profiles: Mapping[str, RankingProfile], settings: QuerySettings
    ) -> None:
        self._current = current
        self._profiles = profiles
        self._settings = settings
        self._started = time.monotonic()
        self._executor = FairExecutor(
            workers=settings.threads,
            places=settings.in_flight,
            channels=LANES,
            stuck_seconds=settings.stuck_seconds,
        )

    @property
    def stuck(self) -> int:
        """Threads that run long after the deadline of their call."""
        return self._executor.stuck

    def on_too_many_stuck(self, then: Callable[[], None]) -> None:
        """Call `then` once, from any thread, when the process should be ended for its stuck threads."""
        self._executor.on_too_many_stuck(then)

    def close(self) -> None:
        """End the threads; what has begun is finished first, as far as it ends at all."""
        self._executor.close()

    def generic_handler(self) -> grpc.GenericRpcHandler[Any, Any]:
        """All calls, each with a deserializer that never fails and the guard around it."""
        calls: dict[str, tuple[Call, Any]] = {
            "Recall": (self.recall, recall_pb2.RecallRequest),
            "BatchRecall": (self.batch_recall, recall_pb2.BatchRecallRequest),
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
        until = self._until(context)
        query = query_of(request, profiles=self._profiles, clock=datetime.now(UTC))
        _, [answer] = await self._answers("Recall", [query], until)
        return _answer(answer)

    async def batch_recall(
        self, request: recall_pb2.BatchRecallRequest, context: Any
    ) -> recall_pb2.BatchRecallResponse:
        """Several recalls of one generation; each has its answer or its own error."""
        until = self._until(context)
        asked = queries_of(request, profiles=self._profiles, clock=datetime.now(UTC))
        queries = [one for one in asked if isinstance(one, Query)]
        generation, answers = await self._answers("BatchRecall", queries, until)
        outcomes = in_order(asked, iter(answers))
        told = [refused_of(one) if isinstance(one, BaseException) else one for one in outcomes]
        return batch_response(told, generation=generation)

    async def get_memory(
        self, request: recall_pb2.GetMemoryRequest, context: Any
    ) -> recall_pb2.GetMemoryResponse:
        """One memory by id."""
        until = self._until(context)
        memory_id = memory_id_of(request.memory_id)
        scope = scope_of(request.scope, as_of=moment_of(request))

        def work(snapshot: Snapshot, _channels: Mapping[str, Executor]) -> recall_pb2.GetMemoryResponse:
            row, entities = get_memory(memory_id, scope, snapshot, now=datetime.now(UTC), deadline=until)
            return recall_pb2.GetMemoryResponse(
                memory=memory_message(row, entities), generation=snapshot.number
            )

        _, begun = self._begin("GetMemory", scope.tenant_id, [work], until)
        [memory] = await _outcomes(begun, until)
        return _answer(memory)

    async def why_not(self, request: recall_pb2.WhyNotRequest, context: Any) -> recall_pb2.WhyNotResponse:
        """Why a memory is not in an answer; looks for a change as long as there is time to say it."""
        until = self._until(context)
        now = time.monotonic()
        parse = partial(query_of, profiles=self._profiles, clock=datetime.now(UTC))
        memory_id_of(request.memory_id)
        tenant = parse(request.recall).selection.tenant_id
        search = WhyNotSearch(
            request,
            self._profiles,
            self._settings.channel_deadline_seconds,
            parse=parse,
            searching=now + SEARCHING * (until - now),
            until=until,
        )
        try:
            _, begun = self._begin("WhyNot", tenant, [search.step], until)
            [reason] = await _outcomes(begun, until)
        finally:
            # of a call that was given up or is late nothing further is tried
            search.stop()
        reply: recall_pb2.WhyNotResponse = _answer(reason)
        return reply

    async def get_status(
        self, _request: recall_pb2.GetStatusRequest, _context: Any
    ) -> recall_pb2.GetStatusResponse:
        """What the server serves; answers even while there is nothing to serve."""
        uptime = time.monotonic() - self._started
        try:
            with self._current.lease() as snapshot:
                return status_response(snapshot, uptime_seconds=uptime, instance=self._settings.instance)
        except TemporaryError:
            return status_response(None, uptime_seconds=uptime, instance=self._settings.instance)

    async def _answers(
        self, rpc: str, queries: Sequence[Query], until: float
    ) -> tuple[int, list[recall_pb2.RecallResponse | BaseException]]:
        """A generation's number, and what each question of one caller leads to on it, answer or error.

        With an event that is wanted once that can be recalled, or when only the time to answer is left.
        """
        wanted, progress = max((one.min_sequence for one in queries), default=0), self._current.progress
        if progress.has_reached(wanted):
            return await self._ask(rpc, queries, until)
        with self._executor.reserved(len(queries)):
            started = time.monotonic()
            answering = min(self._settings.channel_deadline_seconds * len(queries), (until - started) / 2)
            await progress.reach(wanted, seconds=until - answering - started)
            return await self._ask(rpc, queries, until, waited_seconds=time.monotonic() - started)

    async def _ask(
        self, rpc: str, queries: Sequence[Query], until: float, *, waited_seconds: float = 0.0
    ) -> tuple[int, list[recall_pb2.RecallResponse | BaseException]]:
        works = [partial(self._recall, one, until=until, waited_seconds=waited_seconds) for one in queries]
        tenant = queries[0].selection.tenant_id if queries else ""
        generation, begun = self._begin(rpc, tenant, works, until, reserved=waited_seconds > 0)
        return generation, await _outcomes(begun, until)

    def _begin(
        self,
        rpc: str,
        tenant: str,
        works: Sequence[Callable[[Snapshot, Mapping[str, Executor]], T]],
        until: float,
        *,
        reserved: bool = False,
    ) -> tuple[int, list[Future[T]]]:
        """Works in the queue, and their generation's number; it is leased until their last thread ends."""
        with ExitStack() as lease:
            snapshot = lease.enter_context(self._current.lease())
            bound: list[Work] = [partial(work, snapshot) for work in works]
            release = lease.pop_all().close
        try:
            begun = self._executor.submit(
                tenant, bound, until=until, rpc=rpc, reserved=reserved, on_end=release
            )
        except BaseException:
            release()
            raise
        return snapshot.number, begun

    def _recall(
        self,
        query: Query,
        snapshot: Snapshot,
        channels: Mapping[str, Executor],
        *,
        until: float,
        waited_seconds: float,
    ) -> recall_pb2.RecallResponse:
        started = time.perf_counter()
        context = RecallContext.of(query, snapshot, self._profiles[query.profile], deadline=until)
        result = recall(
            context, lanes=channels, channel_deadline_seconds=self._settings.channel_deadline_seconds
        )
        result, explanation = explained(result, context)
        elapsed = time.perf_counter() - started
        RECALL_SECONDS.labels("total").observe(elapsed)
        if waited_seconds:
            result = replace(result, seconds=((WAIT, waited_seconds), *result.seconds))
        total_seconds = waited_seconds + elapsed
        return recall_response(result, query, snapshot, total_seconds=total_seconds, explanation=explanation)

    def _until(self, context: Any) -> float:
        """Moment of the monotonic clock: the sooner of the caller's deadline and our own."""
        remaining, limit = context.time_remaining(), self._settings.deadline_seconds
        return time.monotonic() + (limit if remaining is None else min(limit, max(remaining, 0.0)))


async def _outcomes(begun: Sequence[Future[T]], until: float) -> list[T | BaseException]:
    """The results or errors of what was begun; OverdueError for what is not done by `until`."""
    answers = [asyncio.wrap_future(one) for one in begun]
    try:
        if answers:
            await asyncio.wait(answers, timeout=left(until))
    finally:
        # a place in the queue is left at once, one in work when its threads have ended
        for one, answer in zip(begun, answers, strict=True):
            one.cancel()
            answer.cancel()
    return list(map(_outcome, begun, answers))


def _outcome(begun: Future[T], answer: asyncio.Future[T]) -> T | BaseException:
    if not answer.cancelled():
        return answer.exception() or answer.result()
    return OverdueError(PASSED_IN_QUEUE if begun.cancelled() else PASSED)


def _answer(outcome: T | BaseException) -> T:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
