"""Client of the query service, a method for each of its calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from helix_memory import limits
from helix_memory.errors import HelixError, InvalidInputError, NotFoundError, TemporaryError
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.polling import poll
from helix_memory.transport.query_connection import QueryConnection
from helix_memory.transport.shard_routing import UnsettledTenantError
from helix_memory.transport.statuses import STATUS_OF_NUMBER

APPLIED_POLL_SECONDS: Final = 0.05


Found = recall_pb2.FoundIds | recall_pb2.FindIdsResponse
"""What was found for one beginning of an id."""


class RecallClient(QueryConnection):
    """A connection to one query service and its calls; a context manager."""

    def recall(
        self, request: recall_pb2.RecallRequest, *, seconds: float | None = None
    ) -> recall_pb2.RecallResponse:
        """Memories for a query, in `seconds` or those of every call; `min_seq` is waited for as long.

        Raises:
            TemporaryError: nothing answers, or there is no generation yet.
            InvalidInputError: the request breaks a limit.
            PermanentError: anything else the service refuses.
        """
        reply: recall_pb2.RecallResponse = self._call(self._stub.Recall, request, seconds)
        return reply

    def recall_many(
        self, requests: Sequence[recall_pb2.RecallRequest]
    ) -> tuple[recall_pb2.RecallResponse | HelixError, ...]:
        """Replies or errors of up to 16 requests of one scope, in order and from one generation.

        Raises:
            InvalidInputError: there are none or too many, or their scopes differ.
            OverloadedError: the service cannot take all of them now.
            TemporaryError, PermanentError: as `recall`.
        """
        scopes = [one.scope for one in requests]
        if any(scope != scopes[0] for scope in scopes):
            raise InvalidInputError("requests", "must be of one scope")
        batch = recall_pb2.BatchRecallRequest(scope=next(iter(scopes), None), requests=requests)
        for one in batch.requests:
            one.ClearField("scope")
        reply: recall_pb2.BatchRecallResponse = self._call(self._stub.BatchRecall, batch)
        return tuple(self._outcome(one) for one in reply.results)

    def memory(self, scope: recall_pb2.Scope, memory_id: str) -> recall_pb2.Memory:
        """One memory by id.

        Raises:
            NotFoundError: it does not exist, or `scope` may not see it.
            InvalidInputError, TemporaryError, PermanentError: as `recall`.
        """
        request = recall_pb2.GetMemoryRequest(scope=scope, memory_id=memory_id)
        reply: recall_pb2.GetMemoryResponse = self._call(self._stub.GetMemory, request)
        return reply.memory

    def history(self, request: recall_pb2.GetHistoryRequest) -> recall_pb2.GetHistoryResponse:
        """What a memory replaced, what replaced it, and why.

        Raises:
            NotFoundError: it does not exist, or the caller may not see it.
            InvalidInputError, TemporaryError, PermanentError: as `recall`.
        """
        reply: recall_pb2.GetHistoryResponse = self._call(self._stub.GetHistory, request)
        return reply

    def erasure(self, scope: recall_pb2.Scope, event_id: str) -> recall_pb2.GetErasureResponse:
        """What an erasure removed, place by place.

        Raises:
            NotFoundError: there is no such erasure of this scope, or it was not carried out yet.
            InvalidInputError, TemporaryError, PermanentError: as `recall`.
        """
        request = recall_pb2.GetErasureRequest(scope=scope, event_id=event_id)
        reply: recall_pb2.GetErasureResponse = self._call(self._stub.GetErasure, request)
        return reply

    def whole_ids(self, scope: recall_pb2.Scope, given: Sequence[str]) -> list[str]:
        """The ids of the memories of `scope` whose ids begin so, one for each of `given`.

        Raises:
            NotFoundError: none begins with one of them.
            InvalidInputError: several do, or one of `given` is no beginning of an id.
            TemporaryError, PermanentError: as `recall`.
        """
        found, _ = self._find(scope, given)
        return [_only(*one) for one in zip(given, found, strict=True)]

    def state(self, scope: recall_pb2.Scope, memory_id: str) -> recall_pb2.MemoryState | None:
        """Whether a memory of `scope` can be recalled now, or what hides it; None where there is none.

        Raises:
            InvalidInputError, TemporaryError, PermanentError: as `recall`.
        """
        states, _ = self.states(scope, [memory_id])
        return states[memory_id]

    def states(
        self, scope: recall_pb2.Scope, memory_ids: Sequence[str]
    ) -> tuple[dict[str, recall_pb2.MemoryState | None], int]:
        """As `state`, of several memories by id, and the sequence up to which every event is applied there.

        The sequence is 0 where the service does not tell it.

        Raises:
            InvalidInputError, TemporaryError, PermanentError: as `recall`.
        """
        found, applied_sequence = self._find(scope, memory_ids)
        states = (one.states[0] if one.states else None for one in found)
        return dict(zip(memory_ids, states, strict=True)), applied_sequence

    def _find(self, scope: recall_pb2.Scope, prefixes: Sequence[str]) -> tuple[list[Found], int]:
        """What is found for each beginning of an id, and the sequence up to which every event is applied.

        A service of an earlier version looks for the first one alone, so each of the others is a call then.
        """
        found: list[Found] = []
        applied_sequences = []
        while len(found) < len(prefixes):
            first, *more = prefixes[len(found) : len(found) + limits.ID_PREFIXES]
            request = recall_pb2.FindIdsRequest(scope=scope, prefix=first, more_prefixes=more)
            reply: recall_pb2.FindIdsResponse = self._call(self._stub.FindIds, request)
            found += [reply, *reply.more]
            applied_sequences.append(reply.applied_sequence)
        return found, min(applied_sequences, default=0)

    def why_not(
        self, request: recall_pb2.WhyNotRequest, *, seconds: float | None = None
    ) -> recall_pb2.WhyNotResponse:
        """Why a recall does not return a memory, and which change would return it; waits as `recall` does.

        Raises:
            NotFoundError: it does not exist, or the caller may not see it.
            InvalidInputError, TemporaryError, PermanentError: as `recall`.
        """
        reply: recall_pb2.WhyNotResponse = self._call(self._stub.WhyNot, request, seconds)
        return reply

    def profile(
        self, request: recall_pb2.GetProfileRequest, *, seconds: float | None = None
    ) -> recall_pb2.GetProfileResponse:
        """The profile of the caller that the request names.

        Raises:
            InvalidInputError, TemporaryError, PermanentError: as `recall`.
        """
        reply: recall_pb2.GetProfileResponse = self._call(self._stub.GetProfile, request, seconds)
        return reply

    def memories(
        self, request: recall_pb2.ListMemoriesRequest, *, seconds: float | None = None
    ) -> recall_pb2.ListMemoriesResponse:
        """A page of memories.

        Raises:
            InvalidInputError, TemporaryError, PermanentError: as `recall`.
        """
        reply: recall_pb2.ListMemoriesResponse = self._call(self._stub.ListMemories, request, seconds)
        return reply

    def timeline(
        self, request: recall_pb2.TimelineRequest, *, seconds: float | None = None
    ) -> recall_pb2.TimelineResponse:
        """A page of what happened.

        Raises:
            NotFoundError: the memory in the middle does not exist, or the caller may not see it.
            InvalidInputError, TemporaryError, PermanentError: as `recall`.
        """
        reply: recall_pb2.TimelineResponse = self._call(self._stub.Timeline, request, seconds)
        return reply

    def sessions(
        self, request: recall_pb2.ListSessionsRequest, *, seconds: float | None = None
    ) -> recall_pb2.ListSessionsResponse:
        """A page of sessions.

        Raises:
            InvalidInputError, TemporaryError, PermanentError: as `recall`.
        """
        reply: recall_pb2.ListSessionsResponse = self._call(self._stub.ListSessions, request, seconds)
        return reply

    def entities(
        self, request: recall_pb2.ListEntitiesRequest, *, seconds: float | None = None
    ) -> recall_pb2.ListEntitiesResponse:
        """A page of entities.

        Raises:
            InvalidInputError, TemporaryError, PermanentError: as `recall`.
        """
        reply: recall_pb2.ListEntitiesResponse = self._call(self._stub.ListEntities, request, seconds)
        return reply

    def neighbours(
        self, request: recall_pb2.NeighboursRequest, *, seconds: float | None = None
    ) -> recall_pb2.NeighboursResponse:
        """The graph around a memory or an entity.

        Raises:
            NotFoundError: there is no such memory or entity, or the caller may not see it.
            InvalidInputError, TemporaryError, PermanentError: as `recall`.
        """
        reply: recall_pb2.NeighboursResponse = self._call(self._stub.Neighbours, request, seconds)
        return reply

    def wait_until_applied(
        self,
        sequence: int,
        *,
        wait_seconds: float,
        progress: Callable[[int], None] = lambda _: None,
        tenant_id: str = "",
    ) -> recall_pb2.GetStatusResponse:
        """Return when every event up to `sequence` can be recalled; with a tenant, every one of its shard.

        Also waits for a service that does not answer yet, and for a tenant that is being moved. Calls
        `progress` with the sequence applied so far.

        Raises:
            TemporaryError: `wait_seconds` are over.
        """
        reason = ""
        for _ in poll(wait_seconds, every_seconds=APPLIED_POLL_SECONDS):
            try:
                reached = self.status(tenant_id)
            except (TemporaryError, UnsettledTenantError) as error:
                reason = str(error)
            else:
                if reached.applied_sequence >= sequence:
                    return reached
                progress(reached.applied_sequence)
                reason = f"only {reached.applied_sequence} is; `helix status` shows where it waits"
        raise TemporaryError(f"sequence {sequence} is not applied after {wait_seconds:g} s: {reason}")

    def _outcome(self, result: recall_pb2.RecallResult) -> recall_pb2.RecallResponse | HelixError:
        if result.HasField("response"):
            return result.response
        return self._error_of(STATUS_OF_NUMBER[result.error.code], result.error.message)


def _only(given: str, found: Found) -> str:
    """The only id that was found for the beginning `given`."""
    if not found.memory_ids:
        raise NotFoundError(f"no memory whose id begins with {given} is visible to this scope")
    if len(found.memory_ids) > 1:
        more = ", ..." if found.truncated else ""
        reason = f"{given} begins the ids of several memories: {', '.join(found.memory_ids)}{more}"
        raise InvalidInputError("id", f"{reason}; give more of its digits")
    return str(found.memory_ids[0])


def unknown_ids(
    states: Mapping[str, recall_pb2.MemoryState | None],
    applied_sequence: int,
    *,
    erased_at: int | None = None,
) -> list[str] | None:
    """The ids of no memory, or of none that is processed yet, from what `states` returned.

    With `erased_at`, the sequence of an erasure, those that were of none before it. None: it was applied
    already, or may have been, so that nothing tells what it removed from what never was.
    """
    unknown = [
        name
        for name, one in states.items()
        if one is None or (one.loss == recall_pb2.LOSS_ERASED and one.event_sequence != erased_at)
    ]
    is_before = erased_at is None or 0 < applied_sequence < erased_at
    return unknown if is_before or not unknown else None
