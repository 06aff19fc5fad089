"""The handler of DeepRecallService: bounds the calls, runs one, and streams its progress."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Final

import grpc

from helix_deep.api.requests import day_of, limits_of
from helix_deep.api.results import result_of
from helix_deep.deep_recall import Ask, DeepRecall
from helix_deep.metrics import CALLS
from helix_deep.progress import MILLISECONDS, Progress
from helix_deep.questions.limits import Budget, DailyTokens
from helix_deep.questions.model import NOT_ALLOWED, NOT_CONFIGURED, NOT_SENT, Model
from helix_memory.deep.v1 import deep_pb2
from helix_memory.trace_context import carried
from helix_shared.errors import OverloadedError
from helix_shared.rpc.access.admission import Admission
from helix_shared.rpc.access.credential import RECALL
from helix_shared.rpc.guard import guarded_stream, tolerant
from helix_shared.rpc.traced import traced_stream
from helix_shared.text.flags import holds_secret

if TYPE_CHECKING:
    from helix_deep.fast.query_service import QueryService
    from helix_deep.settings import DeepSettings
    from helix_memory.recall.v1 import recall_pb2
    from helix_shared.endpoint.client import Endpoint

SERVICE_NAME: Final = deep_pb2.DESCRIPTOR.services_by_name["DeepRecallService"].full_name
FORWARDED: Final = ("authorization",)
"""Metadata of the caller that the query service gets, or a gateway before it."""


class DeepHandlers:
    """DeepRecallService; used from one event loop. Without an `endpoint` every result is the plain recall."""

    def __init__(
        self,
        settings: DeepSettings,
        query: QueryService,
        endpoint: Endpoint | None,
        admission: Admission | None = None,
    ) -> None:
        self._admission = Admission(settings) if admission is None else admission
        self._settings = settings
        self._query = query
        self._endpoint = endpoint
        self._daily = DailyTokens(settings.daily_tokens)
        self._running = 0

    def generic_handler(self) -> grpc.GenericRpcHandler[Any, Any]:
        """The handler, with the guard around it and a deserializer that never fails."""
        call = self._admission.checked_stream(self.deep_recall, deep_pb2.DeepRecallRequest, RECALL)
        handler = grpc.unary_stream_rpc_method_handler(
            traced_stream(SERVICE_NAME, "DeepRecall", guarded_stream(call, rpc="DeepRecall")),
            request_deserializer=tolerant(deep_pb2.DeepRecallRequest.FromString),
            response_serializer=lambda reply: reply.SerializeToString(),
        )
        return grpc.method_handlers_generic_handler(SERVICE_NAME, {"DeepRecall": handler})

    async def deep_recall(
        self, request: deep_pb2.DeepRecallRequest, context: Any
    ) -> AsyncIterator[deep_pb2.DeepRecallEvent]:
        """Progress as it happens, then the result.

        Raises:
            OverloadedError: too many calls run.
            HelixError: the query service does not answer the plain recall, or refuses it.
        """
        if self._running >= self._settings.in_flight:
            raise OverloadedError(
                f"{self._running} deep recalls run, as many as HELIX_DEEP_IN_FLIGHT allows; retry later"
            )
        self._running += 1
        CALLS.set(self._running)
        events: asyncio.Queue[deep_pb2.DeepRecallEvent | None] = asyncio.Queue()
        task = asyncio.create_task(self._run(request, context, events))
        try:
            while (event := await events.get()) is not None:
                yield event
            await task
        finally:
            # also if the caller went away
            task.cancel()
            self._running -= 1
            CALLS.set(self._running)

    async def _run(
        self,
        request: deep_pb2.DeepRecallRequest,
        context: Any,
        events: asyncio.Queue[deep_pb2.DeepRecallEvent | None],
    ) -> None:
        began = time.monotonic()
        try:
            limits = limits_of(request, self._settings, seconds_left=context.time_remaining())
            progress = Progress(lambda one: events.put_nowait(deep_pb2.DeepRecallEvent(progress=one)))
            budget = Budget(seconds=limits.seconds, tokens=limits.tokens)
            metadata = [(key, value) for key, value in context.invocation_metadata() if key in FORWARDED]
            metadata += carried().items()
            ask = Ask(
                request.recall,
                limits.stages,
                day_of(request.recall),
                self._settings.candidates,
                metadata,
            )
            no_model = self._no_model(request.recall)
            model = None
            if self._endpoint is not None and not no_model:
                model = Model(self._endpoint, budget, self._daily, request.recall.scope.tenant_id)
            outcome = await DeepRecall(
                ask, self._query, progress, model, began + limits.seconds, no_model
            ).run()
            result = result_of(
                outcome,
                progress,
                budget,
                model=self._settings.model if self._endpoint is not None else "",
                milliseconds=(time.monotonic() - began) * MILLISECONDS,
            )
            events.put_nowait(deep_pb2.DeepRecallEvent(result=result))
        finally:
            events.put_nowait(None)

    def _no_model(self, recall: recall_pb2.RecallRequest) -> str:
        """Why the language model is not asked; empty: it is."""
        if self._endpoint is None:
            return NOT_CONFIGURED
        if not self._settings.allows(recall.scope.tenant_id):
            return NOT_ALLOWED
        return NOT_SENT if holds_secret(recall.query) else ""
