"""The calls of RecallService: checked request in, one leased generation, reply out.

Work runs on the workers of `turns`, never on the event loop, and keeps its place there until its thread
is really done, so that calls given up by their callers cannot pile up. Recalls that have to wait for
their event first have as many places of their own and keep them to the end: they take none from those
that can be answered now, and who has waited is not refused then. The guard is the outermost frame:
whatever is raised, a Rust panic too, becomes a status.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import grpc

from helix.recall.v1 import recall_pb2
from helix_query.attempts import Attempts
from helix_query.batch import Refused, batch_response, in_order, questions_of
from helix_query.memory import get_memory
from helix_query.pool import SEARCHED
from helix_query.question import Question
from helix_query.recall import recall
from helix_query.reply import memory_message, recall_response, status_response
from helix_query.request import MALFORMED, memory_id_of, moment_of, question_of, scope_of
from helix_query.status import status_of
from helix_query.turns import Turns, after_all
from helix_query.why_not import why_not
from helix_query.why_not_reply import why_not_response
from helix_shared.errors import HelixError, InvalidInputError, OverloadedError, TemporaryError
from helix_shared.telemetry import RECALL_SECONDS, logger

if TYPE_CHECKING:
    from helix_query.profile import RankingProfile
    from helix_query.served import Served
    from helix_query.serving import Serving
    from helix_query.settings import QuerySettings

WAIT: Final = "wait"
"""Name, among the times of the stages, of the time a recall waited for its event."""
SEARCHING: Final = 0.6
"""Share of the deadline of a WhyNot in which changes are tried."""
PUSHBACK: Final = "grpc-retry-pushback-ms"
"""Trailing metadata that gRPC's own retries keep to (proposal A6)."""
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
        self._turns = Turns(workers=settings.threads, places=settings.in_flight)
        # each replays many recalls, so the workers stay with those who ask
        self._whys = ThreadPoolExecutor(1, thread_name_prefix="why-not")
        self._why_free = threading.Semaphore(1)
        self._lanes = {
            channel: ThreadPoolExecutor(settings.threads, thread_name_prefix=channel) for channel in SEARCHED
        }

    def close(self) -> None:
        """End the pools; what has begun is finished first."""
        self._turns.close()
        for pool in (self._whys, *self._lanes.values()):
            pool.shutdown(wait=True, cancel_futures=True)

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
        question = question_of(request, profiles=self._profiles, clock=datetime.now(UTC))
        _, [answer] = await self._answers([question], until)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def batch_recall(
        self, request: recall_pb2.BatchRecallRequest, context: Any
    ) -> recall_pb2.BatchRecallResponse:
        """Several recalls of one generation; each has its answer or its own error."""
        until = self._until(context)
        asked = questions_of(request, profiles=self._profiles, clock=datetime.now(UTC))
        questions = [one for one in asked if isinstance(one, Question)]
        generation, answers = await self._answers(questions, until)
        outcomes = in_order(asked, iter(answers))
        told = [told_of(one) if isinstance(one, BaseException) else one for one in outcomes]
        return batch_response(told, generation=generation)

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

        until = self._until(context)
        [memory] = self._turns.enter(scope.tenant_id, [work], until=until)
        return await _by(until, memory)

    async def why_not(self, request: recall_pb2.WhyNotRequest, context: Any) -> recall_pb2.WhyNotResponse:
        """Why a memory is not in an answer; looks for a change as long as there is time to say it."""
        memory_id, until = memory_id_of(request.memory_id), self._until(context)
        now = time.monotonic()
        searching = now + SEARCHING * (until - now)

        def work() -> recall_pb2.WhyNotResponse:
            with self._serving.lease() as served:
                attempts = Attempts(
                    served,
                    self._profiles,
                    self._lanes,
                    self._settings.channel_deadline_seconds,
                    clock=datetime.now(UTC),
                    until=searching,
                )
                return why_not_response(why_not(request.recall, memory_id, attempts), served)

        if not self._why_free.acquire(blocking=False):
            raise OverloadedError("as many why_not calls as may run at once (1) are at work; back off")
        reason = self._whys.submit(work)
        reason.add_done_callback(lambda _: self._why_free.release())
        return await _by(until, reason)

    async def get_status(
        self, _request: recall_pb2.GetStatusRequest, _context: Any
    ) -> recall_pb2.GetStatusResponse:
        """What the server serves; answers even while there is nothing to serve."""
        uptime = time.monotonic() - self._started
        try:
            with self._serving.lease() as served:
                return status_response(served, uptime_seconds=uptime, instance=self._settings.instance)
        except TemporaryError:
            return status_response(None, uptime_seconds=uptime, instance=self._settings.instance)

    async def _answers(
        self, questions: Sequence[Question], until: float
    ) -> tuple[int, list[recall_pb2.RecallResponse | BaseException]]:
        """A generation's number, and what each question of one caller leads to on it, answer or error.

        With an event that is wanted once that can be recalled, or when only the time to answer is left.
        """
        wanted, progress = max((one.min_sequence for one in questions), default=0), self._serving.progress
        if progress.has_reached(wanted):
            return await self._ask(questions, until)
        with self._turns.reserved(len(questions)):
            started = time.monotonic()
            answering = min(self._settings.channel_deadline_seconds * len(questions), (until - started) / 2)
            await progress.reach(wanted, seconds=until - answering - started)
            return await self._ask(questions, until, waited_seconds=time.monotonic() - started)

    async def _ask(
        self, questions: Sequence[Question], until: float, *, waited_seconds: float = 0.0
    ) -> tuple[int, list[recall_pb2.RecallResponse | BaseException]]:
        served, begun = self._begin(questions, until, waited_seconds)
        answers = [asyncio.wrap_future(one) for one in begun]
        try:
            if answers:
                await asyncio.wait(answers, timeout=max(0.0, until - time.monotonic()))
        finally:
            # a place in the queue is left at once, one in work when its thread is done
            for answer in answers:
                answer.cancel()
        return served.number, [_outcome(answer) for answer in answers]

    def _begin(
        self, questions: Sequence[Question], until: float, waited_seconds: float
    ) -> tuple[Served, list[Future[recall_pb2.RecallResponse]]]:
        """The questions in the queue, and the generation, leased until the last of them is done."""
        with ExitStack() as lease:
            served = lease.enter_context(self._serving.lease())
            works = [partial(self._recall, one, served, waited_seconds=waited_seconds) for one in questions]
            tenant = questions[0].selection.tenant_id if questions else ""
            begun = self._turns.enter(tenant, works, until=until, reserved=waited_seconds > 0)
            after_all(begun, lease.pop_all().close)
        return served, begun

    def _recall(
        self, question: Question, served: Served, *, waited_seconds: float
    ) -> recall_pb2.RecallResponse:
        started = time.perf_counter()
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

    def _until(self, context: Any) -> float:
        """Moment of the monotonic clock: the sooner of the caller's deadline and our own."""
        remaining, limit = context.time_remaining(), self._settings.deadline_seconds
        return time.monotonic() + (limit if remaining is None else min(limit, max(remaining, 0.0)))


async def _by(until: float, work: Future[Answer]) -> Answer:
    """The result of `work`, or TimeoutError at `until`."""
    return await asyncio.wait_for(asyncio.wrap_future(work), max(0.0, until - time.monotonic()))


def _outcome(answer: asyncio.Future[recall_pb2.RecallResponse]) -> recall_pb2.RecallResponse | BaseException:
    return TimeoutError() if answer.cancelled() else answer.exception() or answer.result()


def told_of(error: BaseException) -> Refused:
    """Status and message for the caller; the message of an unknown error stays here."""
    code, message = status_of(error)
    if not isinstance(error, HelixError | TimeoutError):
        _log.error("call_failed", error=type(error).__name__, status=code.name)
    return code, message


def guarded(call: Call) -> Call:
    """`call` with every error turned into a status, and the time to come back where one is overload."""

    async def answer(request: Any, context: Any) -> Any:
        try:
            if request is MALFORMED:
                raise InvalidInputError("request", "is not a valid message; strings must be utf-8")  # noqa: TRY301 - one way to a status
            return await call(request, context)
        except (asyncio.CancelledError, grpc.aio.AbortError):
            raise
        except BaseException as error:  # noqa: BLE001 - grpc turns a panic into a call without an end
            code, message = told_of(error)
            if isinstance(error, OverloadedError):
                await context.abort(code, message, ((PUSHBACK, str(round(error.delay_seconds * 1_000))),))
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
