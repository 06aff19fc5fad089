"""Why a memory is as it is, and why a recall returns it or does not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Unpack

from helix_memory import limits
from helix_memory.client import arguments, messages
from helix_memory.client.results import MemoryStates
from helix_memory.errors import NotFoundError
from helix_memory.recall import checks
from helix_memory.recall.v1 import recall_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_memory.client.options import MemoryRef, RecallOptions
    from helix_memory.transport.recall_client import RecallClient


class Explaining(ABC):
    """Explains memories and recalls of the caller."""

    _scope: recall_pb2.Scope
    _reader: RecallClient

    @abstractmethod
    def _request(self, query: str, options: RecallOptions) -> recall_pb2.RecallRequest:
        """The request of a recall."""

    def history(self, memory: MemoryRef) -> recall_pb2.GetHistoryResponse:
        """What a memory replaced, what replaced it, and why, as `recall.proto` describes.

        Raises:
            NotFoundError: there is no such memory, or the caller may not see it.
        """
        request = recall_pb2.GetHistoryRequest(scope=self._scope, memory_id=messages.id_of(memory))
        return self._reader.history(request)

    def state(self, memory: MemoryRef) -> recall_pb2.MemoryState | None:
        """Whether a memory can be recalled now, or what hides it; None where this caller has none of the id.

        None also for one that is not processed yet (`wait`), or was erased.
        """
        return self._reader.state(self._scope, messages.id_of(memory))

    def states(self, memories: Iterable[MemoryRef]) -> MemoryStates:
        """As `state`, of several memories in one call."""
        return MemoryStates(*self._reader.states(self._scope, messages.ids_of("memories", memories)))

    def explain(
        self, query: str, *, explained_candidates: int | None = None, **options: Unpack[RecallOptions]
    ) -> recall_pb2.RecallResponse:
        """A recall with all numbers behind every candidate; its memories do not count as served.

        With `explained_candidates` only behind so many, the best first, which is faster.
        """
        request = self._request(query, options)
        request.explain, request.not_served = True, True
        if explained_candidates is not None:
            request.explained_candidates = checks.bounded(
                "explained_candidates", explained_candidates, limits.EXPLAINED_CANDIDATES
            )
        return self._reader.recall(request, seconds=arguments.deadline_of(options))

    def why(self, memory: MemoryRef, query: str, **options: Unpack[RecallOptions]) -> recall_pb2.Candidate:
        """What the score of a memory is made of, as `recall.proto` describes.

        Raises:
            NotFoundError: it was no candidate; `why_not` says why.
        """
        wanted = messages.id_of(memory)
        reply = self.explain(query, **options)
        candidate: recall_pb2.Candidate
        for candidate in reply.explanation.candidates:
            if candidate.memory_id == wanted:
                return candidate
        raise NotFoundError(f"{wanted} was no candidate of this query; ask why_not")

    def why_not(
        self, memory: MemoryRef, query: str, **options: Unpack[RecallOptions]
    ) -> recall_pb2.WhyNotResponse:
        """Why a recall does not return a memory, and the smallest change that would; slow, for debugging.

        It waits for `after`; `stale` in the reply: that is not in.

        Raises:
            NotFoundError: there is no such memory, or the caller may not see it.
        """
        request = self._request(query, options)
        asked = recall_pb2.WhyNotRequest(recall=request, memory_id=messages.id_of(memory))
        return self._reader.why_not(asked, seconds=arguments.deadline_of(options))
