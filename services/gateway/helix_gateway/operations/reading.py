"""Operations that read: lists, recalls and their explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import AwareDatetime, Field

from helix_gateway.operations.operation import Operation
from helix_gateway.operations.replies import reply_of
from helix_gateway.operations.requests import Arguments, MemoryId, WriteSequence, arguments, given
from helix_memory import limits
from helix_memory.client.options import ListOptions, PageOptions, RecallOptions, TimelineOptions
from helix_memory.client.pages import EntityPage, MemoryPage, SessionPage
from helix_memory.client.results import Profile, Recalled, StoredMemory
from helix_memory.recall.v1 import recall_pb2
from helix_shared.rpc.access.credential import RECALL

if TYPE_CHECKING:
    from helix_memory.client import AsyncHelix

_RECALL: Final = arguments("RecallRequest", RecallOptions, query=str)
_EXPLAINED: Final = arguments(
    "ExplainRequest",
    RecallOptions,
    query=str,
    explained_candidates=(
        int | None,
        Field(
            default=None,
            ge=1,
            le=limits.EXPLAINED_CANDIDATES,
            description="Candidates in the explanation at most, the best first; by default all.",
        ),
    ),
)
_ASKED: Final = arguments("WhyRequest", RecallOptions, id=MemoryId, query=str)
_ONE: Final = arguments("MemoryRequest", id=MemoryId)
_PAGE: Final = arguments("PageRequest", PageOptions)


async def _recall(helix: AsyncHelix, sent: Any) -> Recalled:
    return await helix.recall(sent.query, **given(sent, "query"))


async def _list(helix: AsyncHelix, sent: Any) -> MemoryPage:
    return await helix.list(**given(sent))


async def _get(helix: AsyncHelix, sent: Any) -> StoredMemory:
    return await helix.get(sent.id)


async def _history(helix: AsyncHelix, sent: Any) -> recall_pb2.GetHistoryResponse:
    return await helix.history(sent.id)


async def _explain(helix: AsyncHelix, sent: Any) -> recall_pb2.RecallResponse:
    return await helix.explain(sent.query, **given(sent, "query"))


async def _why(helix: AsyncHelix, sent: Any) -> recall_pb2.Candidate:
    return await helix.why(sent.id, sent.query, **given(sent, "id", "query"))


async def _why_not(helix: AsyncHelix, sent: Any) -> recall_pb2.WhyNotResponse:
    return await helix.why_not(sent.id, sent.query, **given(sent, "id", "query"))


async def _timeline(helix: AsyncHelix, sent: Any) -> MemoryPage:
    return await helix.timeline(**given(sent))


async def _sessions(helix: AsyncHelix, sent: Any) -> SessionPage:
    return await helix.sessions(**given(sent))


async def _entities(helix: AsyncHelix, sent: Any) -> EntityPage:
    return await helix.entities(**given(sent))


async def _neighbours(helix: AsyncHelix, sent: Any) -> recall_pb2.NeighboursResponse:
    return await helix.neighbours(**given(sent))


async def _profile(helix: AsyncHelix, sent: Any) -> Profile:
    return await helix.profile(**given(sent))


async def _status(helix: AsyncHelix, _: Arguments) -> recall_pb2.GetStatusResponse:
    return await helix.status()


READING: Final = (
    Operation(
        "recall",
        "POST",
        "/recall",
        RECALL,
        "The memories that answer a query, and the same packed for a prompt",
        _RECALL,
        reply_of(Recalled),
        _recall,
    ),
    Operation(
        "list",
        "GET",
        "/memories",
        RECALL,
        "A page of memories, in the order in which they happened",
        arguments("ListRequest", ListOptions),
        reply_of(MemoryPage),
        _list,
    ),
    Operation("get", "GET", "/memories/{id}", RECALL, "One memory", _ONE, reply_of(StoredMemory), _get),
    Operation(
        "history",
        "GET",
        "/memories/{id}/history",
        RECALL,
        "What a memory replaced, what replaced it, and why",
        _ONE,
        reply_of(recall_pb2.GetHistoryResponse),
        _history,
    ),
    Operation(
        "explain",
        "POST",
        "/explain",
        RECALL,
        "A recall with all numbers behind every candidate; large",
        _EXPLAINED,
        reply_of(recall_pb2.RecallResponse),
        _explain,
    ),
    Operation(
        "why",
        "POST",
        "/memories/{id}/why",
        RECALL,
        "What the score of a memory is made of",
        _ASKED,
        reply_of(recall_pb2.Candidate),
        _why,
    ),
    Operation(
        "why_not",
        "POST",
        "/memories/{id}/why_not",
        RECALL,
        "Why a recall does not return a memory, and the smallest change that would; slow",
        _ASKED,
        reply_of(recall_pb2.WhyNotResponse),
        _why_not,
    ),
    Operation(
        "timeline",
        "GET",
        "/timeline",
        RECALL,
        "What happened around a memory, in a session or in a span of time",
        arguments("TimelineRequest", TimelineOptions),
        reply_of(MemoryPage),
        _timeline,
    ),
    Operation(
        "sessions",
        "GET",
        "/sessions",
        RECALL,
        "A page of sessions, the one with the newest memory first",
        _PAGE,
        reply_of(SessionPage),
        _sessions,
    ),
    Operation(
        "entities",
        "GET",
        "/entities",
        RECALL,
        "A page of entities, the one with the newest memory first",
        _PAGE,
        reply_of(EntityPage),
        _entities,
    ),
    Operation(
        "neighbours",
        "GET",
        "/neighbours",
        RECALL,
        "The graph around a memory or an entity, at most 2 hops and 150 nodes",
        arguments(
            "NeighboursRequest",
            around=(MemoryId | None, None),
            entity=(str | None, None),
            hops=(int | None, None),
            nodes=(int | None, None),
        ),
        reply_of(recall_pb2.NeighboursResponse),
        _neighbours,
    ),
    Operation(
        "profile",
        "GET",
        "/profile",
        RECALL,
        "What the user's own statements say about them",
        arguments(
            "ProfileRequest",
            token_budget=(int | None, None),
            as_of=(AwareDatetime | None, None),
            after=(WriteSequence | None, None),
        ),
        reply_of(Profile),
        _profile,
    ),
    Operation(
        "status",
        "GET",
        "/status",
        None,
        "The generation that is served, and how far the log is applied",
        arguments("StatusRequest"),
        reply_of(recall_pb2.GetStatusResponse),
        _status,
    ),
)
