"""Pages of what the client lists: values, made once, never changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from helix_memory.client.results import Memory, moment_of
from helix_memory.recall.v1 import recall_pb2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    """What every page of a list has beside its entries."""

    next_page_token: str
    """For the next page; empty: this is the last one."""
    stale: bool
    """What `after` asked for is not in yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPage(_Page):
    """One page of a list. It may have fewer memories than asked for, also none, before the last one."""

    memories: tuple[Memory, ...]

    @classmethod
    def of(cls, reply: recall_pb2.ListMemoriesResponse | recall_pb2.TimelineResponse) -> Self:
        """The page of a reply."""
        memories = tuple(map(Memory.of, reply.memories))
        return cls(memories=memories, next_page_token=reply.next_page_token, stale=reply.stale)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEntry:
    """A session as the caller could recall it."""

    session_id: str
    memories: int
    """16,384 stands for so many or more."""
    first_at: datetime | None
    last_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage(_Page):
    """One page of sessions, the one with the newest memory first."""

    sessions: tuple[SessionEntry, ...]

    @classmethod
    def of(cls, reply: recall_pb2.ListSessionsResponse) -> Self:
        """The page of a reply."""
        sessions = tuple(
            SessionEntry(
                session_id=one.session_id,
                memories=one.memories,
                first_at=moment_of(one, "first_at"),
                last_at=moment_of(one, "last_at"),
            )
            for one in reply.sessions
        )
        return cls(sessions=sessions, next_page_token=reply.next_page_token, stale=reply.stale)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityEntry:
    """An entity as far as the caller could recall it."""

    name: str
    """Canonical; `neighbours` takes it."""
    display_name: str
    """As most of the latest memories write it."""
    memories: int
    """That mention it; 16,384 stands for so many or more."""
    first_at: datetime | None
    last_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityPage(_Page):
    """One page of entities, the one with the newest memory first."""

    entities: tuple[EntityEntry, ...]

    @classmethod
    def of(cls, reply: recall_pb2.ListEntitiesResponse) -> Self:
        """The page of a reply."""
        entities = tuple(
            EntityEntry(
                name=one.name,
                # a service of an earlier version gives none
                display_name=one.display_name or one.name,
                memories=one.memories,
                first_at=moment_of(one, "first_at"),
                last_at=moment_of(one, "last_at"),
            )
            for one in reply.entities
        )
        return cls(entities=entities, next_page_token=reply.next_page_token, stale=reply.stale)
