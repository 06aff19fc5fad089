"""What can be listed without a question, a page at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Unpack

from helix_memory import limits
from helix_memory.client import arguments, messages
from helix_memory.client.options import ListOptions, PageOptions, TimelineOptions
from helix_memory.client.pages import EntityPage, MemoryPage, SessionPage
from helix_memory.errors import InvalidInputError
from helix_memory.recall import checks
from helix_memory.recall.v1 import recall_pb2

if TYPE_CHECKING:
    from helix_memory.client.options import MemoryRef
    from helix_memory.transport.recall_client import RecallClient

_ORDERS: Final = {"newest": recall_pb2.ORDER_NEWEST, "oldest": recall_pb2.ORDER_OLDEST}
_NOT_BESIDE_AROUND: Final = ("session", "since", "until", "page_token")


class Listing:
    """Lists what a recall of the caller could return."""

    _scope: recall_pb2.Scope
    _reader: RecallClient

    def status(self) -> recall_pb2.GetStatusResponse:
        """The generation that is served, and how far the log is applied, as `recall.proto` describes."""
        return self._reader.status(self._scope.tenant_id)

    def list(self, **options: Unpack[ListOptions]) -> MemoryPage:
        """A page of memories, in the order in which they happened."""
        arguments.known_options(options, ListOptions)
        order = arguments.one_of("order", options.get("order", "newest"), tuple(_ORDERS))
        request = recall_pb2.ListMemoriesRequest(
            scope=self._scope,
            filter=messages.filter_of(options),
            speakers=checks.names("speakers", arguments.several("speakers", options.get("speakers", ()))),
            texts=checks.texts("texts", arguments.several("texts", options.get("texts", ()))),
            order=_ORDERS[order],
            as_of=arguments.moment("as_of", options.get("as_of")),
            valid_at=arguments.moment("valid_at", options.get("valid_at")),
            **_page(options),
        )
        return MemoryPage.of(self._reader.memories(request, seconds=arguments.deadline_of(options)))

    def timeline(self, **options: Unpack[TimelineOptions]) -> MemoryPage:
        """A page of what happened around a memory, in a session, or in a span of time, the first first.

        A session is in the order of the log.
        """
        arguments.known_options(options, TimelineOptions)
        since, until = arguments.span(options, "since", "until")
        beside = [name for name in _NOT_BESIDE_AROUND if options.get(name)]
        if "around" in options and beside:
            raise InvalidInputError("around", f"excludes {beside[0]}")
        request = recall_pb2.TimelineRequest(
            scope=self._scope,
            memory_id=messages.id_of(options["around"], "around") if "around" in options else "",
            session_id=checks.name("session", options.get("session", "")),
            after=since,
            before=until,
            **_page(options),
        )
        return MemoryPage.of(self._reader.timeline(request, seconds=arguments.deadline_of(options)))

    def sessions(self, **options: Unpack[PageOptions]) -> SessionPage:
        """A page of sessions, the one with the newest memory first."""
        arguments.known_options(options, PageOptions)
        request = recall_pb2.ListSessionsRequest(scope=self._scope, **_page(options))
        return SessionPage.of(self._reader.sessions(request, seconds=arguments.deadline_of(options)))

    def entities(self, **options: Unpack[PageOptions]) -> EntityPage:
        """A page of entities, the one with the newest memory first."""
        arguments.known_options(options, PageOptions)
        request = recall_pb2.ListEntitiesRequest(scope=self._scope, **_page(options))
        return EntityPage.of(self._reader.entities(request, seconds=arguments.deadline_of(options)))

    def neighbours(
        self,
        *,
        around: MemoryRef | None = None,
        entity: str = "",
        hops: int = 1,
        nodes: int = limits.GRAPH_NODES,
        deadline_seconds: float | None = None,
    ) -> recall_pb2.NeighboursResponse:
        """The graph around a memory or an entity, at most 2 hops and 150 nodes, as `recall.proto` describes.

        Raises:
            NotFoundError: there is no such memory or entity, or the caller may not see it.
        """
        if (around is None) == (not entity):
            raise InvalidInputError("around", "exactly one of around and entity must be given")
        request = recall_pb2.NeighboursRequest(
            scope=self._scope,
            memory_id="" if around is None else messages.id_of(around, "around"),
            entity=checks.name("entity", entity),
            hops=checks.bounded("hops", hops, limits.GRAPH_HOPS),
            nodes=checks.bounded("nodes", nodes, limits.GRAPH_NODES),
        )
        seconds = arguments.deadline_of({"deadline_seconds": deadline_seconds})
        return self._reader.neighbours(request, seconds=seconds)


def _page(options: PageOptions) -> dict[str, Any]:
    """The fields of a request that say which page."""
    fields: dict[str, Any] = {
        "page_token": checks.text("page_token", options.get("page_token", "")),
        "min_seq": messages.sequence_of(options.get("after")),
    }
    if "page_size" in options:
        fields["page_size"] = checks.bounded("page_size", options["page_size"], limits.PAGE_SIZE)
    return fields
