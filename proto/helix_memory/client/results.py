"""What the methods of the client return: values, made once, never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, Final, Self

from helix_memory.recall.v1 import recall_pb2


@dataclass(frozen=True, slots=True)
class Written:
    """What the stream acknowledged; it goes into `recall(after=...)`, `wait`, `correct` and so on."""

    event_id: str
    memory_id: str
    """The memory it makes, of a text in several pieces the first; empty for an event that makes none."""
    sequence: int
    """Position in the log, 1 and up."""
    duplicate: bool
    """An event with this id was written before; this one changed nothing."""


@dataclass(frozen=True, slots=True)
class MemoryStates:
    """Whether memories can be recalled now, or what hides them; all of one moment."""

    by_id: Mapping[str, recall_pb2.MemoryState | None]
    """None where this caller has no memory with the id."""
    applied_sequence: int
    """Every event up to this position in the log counts; 0: the service does not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A memory; `recall.proto` describes each field. Times are UTC, None where there is none."""

    id: str
    text: str
    type: str
    title: str
    context: str
    """Text around it in its source."""
    user_id: str
    project_id: str
    session_id: str
    event_id: str
    event_kind: str
    document_id: str
    source_uri: str
    piece: int
    """Its number in its source, 0 and up."""
    char_start: int
    """Where it begins in its source, in characters."""
    char_end: int
    speaker: str
    role: str
    created_at: datetime | None
    occurred_at: datetime | None
    event_start: datetime | None
    event_end: datetime | None
    valid_from: datetime | None
    valid_to: datetime | None
    expires_at: datetime | None
    """It is hidden from then on, as its author asked."""
    event_guessed: bool
    """Whether the event times are guessed: "Dentist on 2 April" names no year."""
    salience: float
    confidence: float
    pinned: bool
    priority: float
    token_count: int
    categories: tuple[str, ...]
    entities: tuple[str, ...]
    flags: tuple[str, ...]
    facets: tuple[str, ...]
    expansions: tuple[str, ...]
    """Questions that it answers, predicted at ingest."""
    source_class: str
    """Who says it: user, agent, tool or document."""
    speech_act: str
    superseded_by: str
    answers: str
    answered_by: str
    derived_from: str

    @classmethod
    def of(cls, message: recall_pb2.Memory, **more: Any) -> Self:
        """The memory of a reply; `more` are the fields of a subclass."""
        found: dict[str, Any] = {name: getattr(message, name) for name in _PLAIN}
        found |= {name: getattr(message.source, name) for name in _SOURCE}
        found |= {name: moment_of(message, name) for name in _TIMES}
        found |= {name: tuple(getattr(message, name)) for name in _LISTS}
        return cls(id=message.memory_id, **found, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMemory(Memory):
    """A memory by its id, with who may recall it and how it was used."""

    owner: str
    """The only user who may recall it; empty: every user of the tenant."""
    audience: tuple[str, ...]
    """Principals of which a caller must have one; `*`: every caller has it."""
    access_count: int
    """How often it was served, as far as that is known."""
    last_accessed_at: datetime | None
    decayed_at: datetime | None
    """Since when it is hidden by decay."""
    stream_sequence: int
    """Of its event in the log."""
    entity_display_names: tuple[str, ...]
    """For each of `entities`, as most of the latest memories write it."""

    @classmethod
    def of_id(cls, message: recall_pb2.Memory) -> Self:
        """The memory of a reply about one id."""
        return cls.of(
            message,
            owner=message.owner,
            audience=tuple(message.audience),
            access_count=message.access_count,
            last_accessed_at=moment_of(message, "last_accessed_at"),
            decayed_at=moment_of(message, "decayed_at"),
            stream_sequence=message.source.stream_sequence,
            # a history has none, and neither has a service of an earlier version
            entity_display_names=tuple(message.entity_display_names or message.entities),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledMemory(Memory):
    """A memory as the answer to a query."""

    rank: int
    """1 is best."""
    score: float
    """Comparable inside one answer only."""
    relevance: float | None
    """Calibrated probability that it is relevant, 0 to 1; None where the ranking profile has no model."""
    channels: tuple[str, ...]
    """What found it: dense, lexical, entity, associative, graph."""
    packed: bool
    """Whether it is part of the packed context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """The answer to a query."""

    memories: tuple[RecalledMemory, ...]
    """Best first."""
    context: str
    """The memories packed for a prompt, each with its citation [1] and up; empty where it abstained."""
    context_ids: tuple[str, ...]
    """Citation [n] is the n-th id."""
    tokens: int
    """Of the context."""
    relevance: float | None
    """Calibrated probability that any of the memories is relevant, 0 to 1."""
    abstained: bool
    """Nothing was packed: no memory is relevant enough, or there is none."""
    abstained_because: str
    """Empty where it did not abstain."""
    skipped: bool
    """The question needs no memory, so nothing was searched."""
    stale: bool
    """What `after` asked for is not in yet."""
    degraded: tuple[str, ...]
    """Searches that failed or were late."""
    milliseconds: float
    """Of the whole recall in the server."""
    message: recall_pb2.RecallResponse
    """The whole reply."""

    @classmethod
    def of(cls, reply: recall_pb2.RecallResponse) -> Self:
        """The answer of a reply."""
        return cls(
            memories=tuple(
                RecalledMemory.of(
                    one.memory,
                    rank=one.rank,
                    score=one.score,
                    relevance=one.relevance if one.HasField("relevance") else None,
                    channels=tuple(one.channels),
                    packed=one.packed,
                )
                for one in reply.memories
            ),
            context=reply.context.text,
            context_ids=tuple(reply.context.memory_ids),
            tokens=reply.context.tokens,
            relevance=reply.relevance if reply.HasField("relevance") else None,
            abstained=reply.abstained,
            abstained_because=reply.abstained_because,
            skipped=reply.route.skipped,
            stale=reply.stale,
            degraded=tuple(reply.degraded),
            milliseconds=reply.total_milliseconds,
            message=reply,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileLine:
    """One statement of a profile."""

    text: str
    part: str
    """"static" for what lasts, "dynamic" for what is going on."""
    facets: tuple[str, ...]
    memory_ids: tuple[str, ...]
    """The memories that say so, the latest first."""
    occurred_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a user's own statements say about them."""

    text: str
    """For a prompt; a line ends with its citation [p1] and up."""
    lines: tuple[ProfileLine, ...]
    left_out: int
    """Lines that the token budget had no room for."""
    stale: bool
    """What `after` asked for is not in yet."""

    @classmethod
    def of(cls, reply: recall_pb2.GetProfileResponse) -> Self:
        """The profile of a reply."""
        return cls(
            text=reply.profile.text,
            lines=tuple(
                ProfileLine(
                    text=one.text,
                    part=recall_pb2.ProfilePart.Name(one.part).removeprefix("PROFILE_PART_").lower(),
                    facets=tuple(one.facets),
                    memory_ids=tuple(one.memory_ids),
                    occurred_at=moment_of(one, "occurred_at"),
                )
                for one in reply.profile.lines
            ),
            left_out=reply.profile.left_out,
            stale=reply.stale,
        )


def moment_of(message: Any, name: str) -> datetime | None:
    """A timestamp of a message as a moment in UTC; None where it is not set."""
    return getattr(message, name).ToDatetime(tzinfo=UTC) if message.HasField(name) else None


_SOURCE: Final = (
    "event_id", "event_kind", "document_id", "source_uri", "piece", "char_start", "char_end", "speaker",
    "role",
)  # fmt: skip
_TIMES: Final = (
    "created_at", "occurred_at", "event_start", "event_end", "valid_from", "valid_to", "expires_at",
)  # fmt: skip
_LISTS: Final = ("categories", "entities", "flags", "facets", "expansions")
_PLAIN: Final[Sequence[str]] = tuple(
    one.name for one in fields(Memory) if one.name not in {"id", *_SOURCE, *_TIMES, *_LISTS}
)
