"""The calls that list: their requests, checked, and the task of each on one generation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_memory import limits
from helix_memory.recall import checks
from helix_memory.recall.v1 import recall_pb2
from helix_query.api.neighbours_call import neighbours_query, neighbours_reply
from helix_query.api.requests import scope_of, selection_of
from helix_query.api.responses.recall import memory_message, timestamp
from helix_query.listing import cursor, timeline
from helix_query.listing.entities import ByEntity
from helix_query.listing.groups import Group, groups_page
from helix_query.listing.pages import MOST_RECORDS, MOST_SCANNED, Page, page_of
from helix_query.listing.sessions import BySession
from helix_query.listing.visible import VisibleMemories
from helix_query.recall.packing.rows import moment_or_none
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from numpy.typing import NDArray

    from helix_query.generations.snapshot import Snapshot
    from helix_query.listing.cursor import Cursor
    from helix_shared.artifacts.filter.selection import Selection

DEFAULT_PAGE: Final = 50
ORDERS: Final = {
    recall_pb2.ORDER_UNSPECIFIED: True,
    recall_pb2.ORDER_NEWEST: True,
    recall_pb2.ORDER_OLDEST: False,
}
"""Whether the newest comes first."""


UNBOUNDED: Final = timeline.Span(None, None)


@dataclass(frozen=True, slots=True)
class Listing:
    """One list as a caller asks for it."""

    request: Any
    selection: Selection
    size: int
    fingerprint: bytes
    """Of the list, for its page tokens."""
    after: Cursor | None
    newest_first: bool = True
    span: timeline.Span = UNBOUNDED

    @classmethod
    def of(cls, request: Any, selection: Selection, **more: Any) -> Listing:
        """The list of a request with a page size and a page token.

        Raises:
            InvalidInputError: one of these is invalid; names the field.
        """
        size = checks.optional_number(request, "page_size", limits.PAGE_SIZE) or DEFAULT_PAGE
        fingerprint = cursor.list_fingerprint(request)
        after = cursor.cursor_of(request.page_token, fingerprint)
        return cls(request, selection, size, fingerprint, after, **more)

    def visible(self, snapshot: Snapshot, until: float) -> VisibleMemories:
        """What the caller may see of a generation now."""
        return VisibleMemories.of(snapshot, self.selection, datetime.now(UTC), until=until)

    def about(self, snapshot: Snapshot, end: Cursor | None) -> dict[str, Any]:
        """The fields that every reply has."""
        return {
            "next_page_token": cursor.token_of(end, self.fingerprint),
            "generation": snapshot.number,
            "stale": snapshot.is_stale(self.request.min_seq),
        }


def memories_listing(request: recall_pb2.ListMemoriesRequest) -> Listing:
    """The list that a ListMemories asks for.

    Raises:
        InvalidInputError: a field breaks its limit.
    """
    if request.order not in ORDERS:
        raise InvalidInputError("order", "is unknown; known: 0 to 2")
    checks.names("speakers", request.speakers)
    checks.texts("texts", request.texts)
    return Listing.of(request, selection_of(request), newest_first=ORDERS[request.order])


def timeline_listing(request: recall_pb2.TimelineRequest) -> Listing:
    """The list that a Timeline asks for.

    Raises:
        InvalidInputError: a field breaks its limit, or a memory is named beside another field.
    """
    after, before = (checks.optional_moment(request, name) for name in ("after", "before"))
    if after is not None and before is not None and after >= before:
        raise InvalidInputError("after", "must be earlier than before")
    if request.memory_id:
        checks.memory_id(request.memory_id)
        if after or before or request.session_id or request.page_token:
            raise InvalidInputError("memory_id", "excludes session_id, after, before and page_token")
    checks.name("session_id", request.session_id)
    selection = scope_of(request.scope, request)
    return Listing.of(request, selection, newest_first=False, span=timeline.Span(after, before))


def groups_listing(request: recall_pb2.ListSessionsRequest | recall_pb2.ListEntitiesRequest) -> Listing:
    """The list that a ListSessions or a ListEntities asks for.

    Raises:
        InvalidInputError: a field breaks its limit.
    """
    return Listing.of(request, scope_of(request.scope))


def memories_reply(
    listing: Listing, snapshot: Snapshot, _lanes: Mapping[str, Executor], *, until: float
) -> recall_pb2.ListMemoriesResponse:
    """The reply to ListMemories.

    Raises:
        OverdueError: `until`, a moment of the monotonic clock, has passed.
    """
    visible, speakers = listing.visible(snapshot, until), listing.request.speakers
    texts = listing.request.texts
    page = page_of(
        visible.runs_with(texts) if texts else visible.runs(),
        visible.signals,
        visible.said_by(speakers) if speakers else visible.is_visible,
        after=listing.after,
        newest_first=listing.newest_first,
        size=listing.size,
        until=until,
        most=MOST_RECORDS if speakers else MOST_SCANNED,
    )
    memories = _messages(visible, page.ordinals)
    return recall_pb2.ListMemoriesResponse(memories=memories, **listing.about(snapshot, page.end))


def timeline_reply(
    listing: Listing, snapshot: Snapshot, _lanes: Mapping[str, Executor], *, until: float
) -> recall_pb2.TimelineResponse:
    """The reply to Timeline.

    Raises:
        NotFoundError: there is no such memory, or the caller may not see it.
        OverdueError: as `memories_reply`.
    """
    visible, request = listing.visible(snapshot, until), listing.request
    span, size, after = listing.span, listing.size, listing.after
    if request.memory_id:
        page = Page(timeline.around(request.memory_id, visible, size=size, until=until), None)
    elif request.session_id:
        page = timeline.in_session(request.session_id, span, visible, after=after, size=size, until=until)
    else:
        page = timeline.in_span(span, visible, after=after, size=size, until=until)
    memories = _messages(visible, page.ordinals)
    return recall_pb2.TimelineResponse(memories=memories, **listing.about(snapshot, page.end))


def sessions_reply(
    listing: Listing, snapshot: Snapshot, _lanes: Mapping[str, Executor], *, until: float
) -> recall_pb2.ListSessionsResponse:
    """The reply to ListSessions.

    Raises:
        OverdueError: as `memories_reply`.
    """
    visible = listing.visible(snapshot, until)
    by_session = BySession(visible)
    found, end = groups_page(visible, by_session, after=listing.after, size=listing.size, until=until)
    names = by_session.names(np.array([one.newest for one in found], np.int64))
    sessions = [
        recall_pb2.SessionSummary(session_id=names[one.newest], **_counts(one))
        for one in found
        if one.newest in names
    ]
    return recall_pb2.ListSessionsResponse(sessions=sessions, **listing.about(snapshot, end))


def entities_reply(
    listing: Listing, snapshot: Snapshot, _lanes: Mapping[str, Executor], *, until: float
) -> recall_pb2.ListEntitiesResponse:
    """The reply to ListEntities.

    Raises:
        OverdueError: as `memories_reply`.
    """
    visible = listing.visible(snapshot, until)
    found, end = groups_page(visible, ByEntity(visible), after=listing.after, size=listing.size, until=until)
    nodes = np.array([one.group for one in found], np.int64)
    names = snapshot.generation.graph.entity_names(nodes)
    entities = [
        recall_pb2.EntitySummary(name=name, display_name=shown, **_counts(one))
        for name, shown, one in zip(names, visible.display_names().of(nodes), found, strict=True)
    ]
    return recall_pb2.ListEntitiesResponse(entities=entities, **listing.about(snapshot, end))


LISTINGS: Final[Mapping[str, tuple[Any, Callable[[Any], Any], Callable[..., Any]]]] = {
    "ListMemories": (recall_pb2.ListMemoriesRequest, memories_listing, memories_reply),
    "Timeline": (recall_pb2.TimelineRequest, timeline_listing, timeline_reply),
    "ListSessions": (recall_pb2.ListSessionsRequest, groups_listing, sessions_reply),
    "ListEntities": (recall_pb2.ListEntitiesRequest, groups_listing, entities_reply),
    "Neighbours": (recall_pb2.NeighboursRequest, neighbours_query, neighbours_reply),
}
"""Type of the request, its reader and the task, by the name of the call."""


def _messages(visible: VisibleMemories, ordinals: NDArray[np.int64]) -> list[recall_pb2.Memory]:
    return [memory_message(row, entities) for row, entities in visible.listed(ordinals)]


def _counts(group: Group) -> dict[str, Any]:
    moments = {"first_at": moment_or_none(group.first_at), "last_at": moment_or_none(group.last_at)}
    times = {name: timestamp(moment) for name, moment in moments.items() if moment is not None}
    return {"memories": group.memories, **times}
