"""What the tools return."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Self

from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from helix_memory.client import Memory, Recalled
    from helix_memory.client.results import Written
    from helix_memory.recall.v1 import recall_pb2

INDEX_CHARACTERS: Final = 160


class MemoryFound(BaseModel):
    """A memory."""

    id: str
    text: str
    type: str
    title: str
    occurred_at: datetime | None = Field(description="When it happened.")
    session_id: str
    speaker: str
    source_class: str = Field(description="Who says it: user, agent, tool or document.")
    event_start: datetime | None = Field(description="The time that the text mentions; null: none.")
    event_end: datetime | None = Field(description="End of that time, exclusive; null: a moment.")
    event_guessed: bool = Field(description="That time is guessed: the text names no year, for example.")
    valid_to: datetime | None = Field(description="It held until then; null: it still does.")
    superseded_by: str = Field(description="Id of the memory that replaced it; empty: none.")
    relevance: float | None = Field(None, description="Probability that it answers the query, 0 to 1.")

    @classmethod
    def of(cls, memory: Memory, *, characters: int | None = None, relevance: float | None = None) -> Self:
        """A memory of the client; `characters`: its text is cut."""
        text = memory.text
        if characters is not None and len(text) > characters:
            text = f"{text[: characters - 1]}…"
        return cls(
            id=memory.id,
            text=text,
            type=memory.type,
            title=memory.title,
            occurred_at=memory.occurred_at or memory.created_at,
            session_id=memory.session_id,
            speaker=memory.speaker,
            source_class=memory.source_class,
            event_start=memory.event_start,
            event_end=memory.event_end,
            event_guessed=memory.event_guessed,
            valid_to=memory.valid_to,
            superseded_by=memory.superseded_by,
            relevance=relevance,
        )


class Recollection(BaseModel):
    """The answer to a query."""

    memories: list[MemoryFound] = Field(description="Best first.")
    context: str = Field(description="With detail=context: the memories packed for a prompt, with citations.")
    abstained: bool = Field(description="Nothing relevant is remembered: do not rely on the memories.")
    abstained_because: str = Field(description="Empty where it did not abstain.")
    skipped: bool = Field(description="The query is small talk: nothing was searched.")
    stale: bool = Field(description="What `after` asked for is not in yet.")
    degraded: list[str] = Field(description="Searches that failed or were late: there may be more.")

    @classmethod
    def of(cls, recalled: Recalled, detail: str) -> Self:
        """An answer of the client, as detailed as asked for."""
        cut = None if detail == "text" else INDEX_CHARACTERS
        return cls(
            memories=[
                MemoryFound.of(one, characters=cut, relevance=one.relevance) for one in recalled.memories
            ],
            context=recalled.context if detail == "context" else "",
            abstained=recalled.abstained,
            abstained_because=recalled.abstained_because,
            skipped=recalled.skipped,
            stale=recalled.stale,
            degraded=list(recalled.degraded),
        )


class Kept(BaseModel):
    """A write that the log acknowledged."""

    id: str = Field(description="Id of the memory; empty: the write makes none.")
    sequence: int = Field(description="Give it to recall as `after` to find this for certain.")
    duplicate: bool = Field(description="It was written before; this changed nothing.")
    visible: bool = Field(description="Recalls see it now; else a second or two later.")

    @classmethod
    def of(cls, written: Written, *, visible: bool, **more: Any) -> Self:
        """What a write of the client returned; `more` are the fields of a subclass."""
        return cls(
            id=written.memory_id,
            sequence=written.sequence,
            duplicate=written.duplicate,
            visible=visible,
            **more,
        )


class KeptChange(Kept):
    """A write about memories that exist."""

    missing: list[str] | None = Field(
        description="Of what was named, what this caller cannot find: it does not exist or is of others. "
        "The write is stored with it and changes nothing of it, except that a caller without a user also "
        "changes memories of users. "
        "null: not known (the role recall is lacking, the look-up failed, or the event is not applied yet)."
    )


class Memories(BaseModel):
    """Memories by id."""

    memories: list[MemoryFound]
    missing: list[str] = Field(description="Ids that do not exist, are hidden, or belong to others.")


class MemoryList(BaseModel):
    """A page of memories."""

    memories: list[MemoryFound]
    next_page_token: str = Field(description="For the next page; empty: this is the last one.")


class FoundBy(BaseModel):
    """A search that found a memory."""

    channel: str
    rank: int


class Step(BaseModel):
    """One change of a score."""

    name: str
    value: float
    adds: bool = Field(description="Whether the value is added; else it multiplies.")


class Why(BaseModel):
    """Why a query returns a memory, or why not."""

    returned: bool
    rank: int = Field(description="1 is best; 0: it is not in the answer.")
    verdict: str
    advice: str = Field(description="The smallest change of the query that would return it; empty: none.")
    score: float
    found_by: list[FoundBy]
    steps: list[Step]

    @classmethod
    def of(cls, candidate: recall_pb2.Candidate | None, missing: recall_pb2.WhyNotResponse | None) -> Self:
        """What the client's `why` says, and its `why_not` where the memory is not in the answer."""
        rank = 0 if candidate is None else candidate.rank
        verdict = f"It is in the answer at rank {rank}." if missing is None else missing.verdict
        return cls(
            returned=rank > 0,
            rank=rank,
            verdict=verdict,
            advice="" if missing is None else missing.advice,
            score=0.0 if candidate is None else candidate.score,
            found_by=[]
            if candidate is None
            else [FoundBy(channel=one.channel, rank=one.rank) for one in candidate.hits],
            steps=[]
            if candidate is None
            else [Step(name=one.name, value=one.value, adds=one.adds) for one in candidate.steps],
        )
