"""The handlers of RecallService: a checked request in, one leased snapshot, a reply out.

Calls that read a snapshot run on the threads of the fair executor (`calls`), never on the event loop.
GetStatus copies fields of a manifest on the event loop, and counts the adapters of tenants on a thread, since
that reads a folder; it needs no place in the executor, so it answers while that is full. `guard` turns
errors into statuses.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import grpc

from helix_memory.recall import checks
from helix_memory.recall.v1 import recall_pb2
from helix_query.accesses.audited import audited
from helix_query.accesses.ring import AccessRing
from helix_query.api.calls import Calls, result_of
from helix_query.api.erasure_call import erasure_reply
from helix_query.api.listing_calls import LISTINGS
from helix_query.api.pack_call import pack_reply
from helix_query.api.profile_call import profile_reply
from helix_query.api.recall_call import recall_reply
from helix_query.api.requests import (
    packed_ids_of,
    profile_query_of,
    queries_of,
    query_of,
    scope_of,
)
from helix_query.api.responses.found_ids import ids_reply
from helix_query.api.responses.memory import history_reply, memory_reply
from helix_query.api.responses.recall import batch_response, without_other_tenants
from helix_query.api.search_span import in_span
from helix_query.api.status_call import status_reply
from helix_query.api.why_not_call import WhyNotSearch
from helix_query.profile.profile import DEFAULT_PROFILE
from helix_query.recall.channels import LANES
from helix_query.recall.query import Query
from helix_query.scheduling.deadline import deadline_of
from helix_query.scheduling.fair_executor import FairExecutor
from helix_query.scheduling.tenant_limits import TenantLimits
from helix_shared.rpc.access.admission import Admission
from helix_shared.rpc.access.credential import RECALL
from helix_shared.rpc.guard import Call, guarded, tolerant
from helix_shared.rpc.statuses import refused_of
from helix_shared.rpc.traced import traced

if TYPE_CHECKING:
    from helix_query.generations.shards.source import ShardSource
    from helix_query.profile.profile import RankingProfile
    from helix_query.settings import QuerySettings

SERVICE_NAME: Final = recall_pb2.DESCRIPTOR.services_by_name["RecallService"].full_name


class RecallHandlers:
    """RecallService; owns the threads that run its calls."""

    def __init__(
        self,
        shards: ShardSource,
        profiles: Mapping[str, RankingProfile],
        settings: QuerySettings,
        accesses: AccessRing | None = None,
        admission: Admission | None = None,
    ) -> None:
        self._admission = Admission(settings) if admission is None else admission
        self._accesses = AccessRing(0) if accesses is None else accesses
        self._shards = shards
        self._profiles = profiles
        self._profile_tokens = profiles[DEFAULT_PROFILE].pack.profile_tokens
        self._settings = settings
        self._started = time.monotonic()
        self._executor = FairExecutor(
            workers=settings.threads,
            slots=settings.in_flight,
            lanes=LANES,
            stuck_seconds=settings.stuck_seconds,
        )
        self._calls = Calls(
            shards,
            self._executor,
            TenantLimits(
                in_flight=settings.tenant_in_flight, rate=settings.tenant_rate, burst=settings.tenant_burst
            ),
            channel_deadline_seconds=settings.channel_deadline_seconds,
        )

    @property
    def stuck(self) -> int:
        """Number of threads that run long past the deadline of their call."""
        return self._executor.stuck

    def on_too_many_stuck(self, then: Callable[[], None]) -> None:
        """Call `then` once, from any thread, when too many threads are stuck for the process to go on."""
        self._executor.on_too_many_stuck(then)

    def close(self) -> None:
        """End the threads, after running calls have ended or were written off."""
        self._executor.close()

    def generic_handler(self) -> grpc.GenericRpcHandler[Any, Any]:
        """All handlers, each behind guard and admission and with a deserializer that never fails.

        GetStatus takes any role: a program that only writes waits with it.
        """
        calls: dict[str, tuple[Call, Any]] = {
            "Recall": (self.recall, recall_pb2.RecallRequest),
            "BatchRecall": (self.batch_recall, recall_pb2.BatchRecallRequest),
            "GetMemory": (self.get_memory, recall_pb2.GetMemoryRequest),
            "GetHistory": (self.get_history, recall_pb2.GetHistoryRequest),
            "GetErasure": (self.get_erasure, recall_pb2.GetErasureRequest),
            "FindIds": (self.find_ids, recall_pb2.FindIdsRequest),
            "GetStatus": (self.get_status, recall_pb2.GetStatusRequest),
            "WhyNot": (self.why_not, recall_pb2.WhyNotRequest),
            "GetProfile": (self.get_profile, recall_pb2.GetProfileRequest),
            "Pack": (self.pack, recall_pb2.PackRequest),
        }
        calls |= {name: (partial(self._listed, name), request) for name, (request, _, _) in LISTINGS.items()}
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(
                self._wrapped(name, call, request),
                request_deserializer=tolerant(request.FromString),
                response_serializer=lambda reply: reply.SerializeToString(),
            )
            for name, (call, request) in calls.items()
        }
        return grpc.method_handlers_generic_handler(SERVICE_NAME, handlers)

    def _wrapped(self, name: str, call: Call, request: Any) -> Call:
        """`call` behind admission and guard, with its record and span; GetStatus has neither of these."""
        if name == "GetStatus":
            return guarded(self._admission.checked(call, request, None), rpc=name)
        admitted = self._admission.checked(call, request, RECALL)
        return traced(SERVICE_NAME, name, guarded(audited(self._accesses.audits, name, admitted), rpc=name))

    async def recall(self, request: recall_pb2.RecallRequest, context: Any) -> recall_pb2.RecallResponse:
        """The memories that answer a query."""
        until = self._until(context)
        query = query_of(request, profiles=self._profiles, clock=datetime.now(UTC))
        _, [answer] = await self._answers("Recall", [query], until)
        reply: recall_pb2.RecallResponse = result_of(answer)
        self._accesses.record_recall(query, reply)
        return reply

    async def batch_recall(
        self, request: recall_pb2.BatchRecallRequest, context: Any
    ) -> recall_pb2.BatchRecallResponse:
        """Several recalls of one generation; each has a response or an error."""
        until = self._until(context)
        most = self._settings.batch_recalls
        checked = queries_of(request, profiles=self._profiles, clock=datetime.now(UTC), most=most)
        queries = [one for one in checked if isinstance(one, Query)]
        generation, answers = await self._answers("BatchRecall", queries, until)
        for query, answer in zip(queries, answers, strict=True):
            if isinstance(answer, recall_pb2.RecallResponse):
                self._accesses.record_recall(query, answer)
        rest = iter(answers)
        in_order = [next(rest) if isinstance(one, Query) else one for one in checked]
        results = [refused_of(one) if isinstance(one, BaseException) else one for one in in_order]
        return batch_response(results, generation=generation)

    async def get_memory(
        self, request: recall_pb2.GetMemoryRequest, context: Any
    ) -> recall_pb2.GetMemoryResponse:
        """One memory by id."""
        until = self._until(context)
        memory_id, scope = checks.memory_id(request.memory_id), scope_of(request.scope, request)
        task = partial(memory_reply, memory_id, scope, until=until)
        reply = await self._calls.one("GetMemory", scope.tenant_id, task, until)
        self._accesses.record_read(scope, reply)
        return reply

    async def get_history(
        self, request: recall_pb2.GetHistoryRequest, context: Any
    ) -> recall_pb2.GetHistoryResponse:
        """What a memory replaced, and what replaced it."""
        until = self._until(context)
        memory_id, scope = checks.memory_id(request.memory_id), scope_of(request.scope)
        task = partial(history_reply, memory_id, scope, until=until)
        return await self._calls.one("GetHistory", scope.tenant_id, task, until)

    async def get_erasure(
        self, request: recall_pb2.GetErasureRequest, context: Any
    ) -> recall_pb2.GetErasureResponse:
        """What an erasure removed."""
        until = self._until(context)
        event_id, scope = checks.event_id(request.event_id), scope_of(request.scope)
        task = partial(erasure_reply, event_id, scope)
        return await self._calls.one("GetErasure", scope.tenant_id, task, until)

    async def find_ids(self, request: recall_pb2.FindIdsRequest, context: Any) -> recall_pb2.FindIdsResponse:
        """Ids of memories from beginnings of ids."""
        until = self._until(context)
        prefixes = [
            checks.id_prefix(request.prefix),
            *checks.id_prefixes("more_prefixes", request.more_prefixes),
        ]
        scope = scope_of(request.scope)
        task = partial(ids_reply, prefixes, scope, until=until)
        return await self._calls.one("FindIds", scope.tenant_id, task, until)

    async def why_not(self, request: recall_pb2.WhyNotRequest, context: Any) -> recall_pb2.WhyNotResponse:
        """Why a memory is not in an answer, and a change that brings it in, if time allows."""
        until = self._until(context)
        parse = partial(query_of, profiles=self._profiles, clock=datetime.now(UTC))
        checks.memory_id(request.memory_id)
        query = parse(request.recall)
        tenant = query.selection.tenant_id
        search = WhyNotSearch(
            request,
            self._profiles,
            self._settings.channel_deadline_seconds,
            parse=parse,
            until=until,
        )
        try:
            return await self._calls.one(
                "WhyNot", tenant, search.step, until, min_seq=query.min_sequence, answering_seconds=math.inf
            )
        finally:
            # also if the call was cancelled or is late
            search.stop()

    async def get_profile(
        self, request: recall_pb2.GetProfileRequest, context: Any
    ) -> recall_pb2.GetProfileResponse:
        """The profile of the caller."""
        until, query = self._until(context), profile_query_of(request)
        task = partial(profile_reply, query, budget=self._profile_tokens, until=until)
        tenant = query.selection.tenant_id
        return await self._calls.one("GetProfile", tenant, task, until, min_seq=query.min_sequence)

    async def pack(self, request: recall_pb2.PackRequest, context: Any) -> recall_pb2.PackResponse:
        """Memories in the order of the caller, packed."""
        until, memory_ids = self._until(context), packed_ids_of(request)
        query = query_of(request.recall, profiles=self._profiles, clock=datetime.now(UTC))
        task = partial(pack_reply, query, memory_ids, profiles=self._profiles, until=until)
        tenant = query.selection.tenant_id
        reply = await self._calls.one("Pack", tenant, task, until, min_seq=query.min_sequence)
        self._accesses.record_pack(query, reply)
        return reply

    async def get_status(
        self, request: recall_pb2.GetStatusRequest, _context: Any
    ) -> recall_pb2.GetStatusResponse:
        """The loaded generation; answers also while there is none."""
        reply = await status_reply(
            self._shards,
            tenant_id=request.scope.tenant_id,
            profiles=self._profiles,
            instance=self._settings.instance,
            uptime_seconds=time.monotonic() - self._started,
        )
        self._accesses.describe(reply)
        return reply if self._admission.sees_all_tenants() else without_other_tenants(reply)

    async def _listed(self, rpc: str, request: Any, context: Any) -> Any:
        """A page of a list."""
        until = self._until(context)
        _, listing_of, reply = LISTINGS[rpc]
        listing = listing_of(request)
        task, tenant = partial(reply, listing, until=until), listing.selection.tenant_id
        return await self._calls.one(rpc, tenant, task, until, min_seq=request.min_seq)

    async def _answers(
        self, rpc: str, queries: Sequence[Query], until: float
    ) -> tuple[int, list[recall_pb2.RecallResponse | BaseException]]:
        """The generation, and the response or error of each query of one caller on it.

        With `min_seq`, waits until that event can be recalled or only answering time is left.
        """

        def tasks(waited_seconds: float) -> list[Callable[..., recall_pb2.RecallResponse]]:
            search = partial(
                recall_reply,
                profiles=self._profiles,
                channel_deadline_seconds=self._settings.channel_deadline_seconds,
                until=until,
                waited_seconds=waited_seconds,
            )
            return [in_span(partial(search, one), tenant) for one in queries]

        min_seq = max((one.min_sequence for one in queries), default=0)
        tenant = queries[0].selection.tenant_id if queries else ""
        return await self._calls.several(rpc, tenant, tasks, until, count=len(queries), min_seq=min_seq)

    def _until(self, context: Any) -> float:
        """The earlier of the caller's deadline and ours, a moment of the monotonic clock."""
        return deadline_of(context.time_remaining(), limit=self._settings.deadline_seconds)
