"""Reads dead letters from NATS.

The headers of a dead letter hold its origin and its reason (`helix_memory.subjects`); its body is that of the
refused message.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nats.js import JetStreamContext, api
from nats.js.errors import NotFoundError as NoSuchMessageError

from helix_memory import subjects
from helix_memory.errors import PermanentError, TemporaryError

REFUSING: Final = ("ingest", "consolidation")
"""Services whose dead letter means that the event had no effect; others only add to its memories."""
EARLIER_LETTERS: Final = 1_000
"""Dead letters read for an event that was published before."""
LETTERS_AT_ONCE: Final = 100
"""Sequences of which the letters are read together, from the newest back."""
_NO_END: Final = 2**63
_REFUSED_EDGE: Final = "memories"
_SUBJECT_TOKENS: Final = 5


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One refused message."""

    sequence: int
    stored_at: str
    service: str
    tenant_id: str
    reason: str
    subject: str
    stream: str
    stream_sequence: int
    size_bytes: int
    event_sequence: int
    """Sequence of the event that it comes from; 0 where it names none."""
    attempts: int = 0
    """How often the refused message was delivered; 0: not stated."""
    redrives: int = 0
    """How often it was redriven before, and refused again."""

    @property
    def refuses_its_event(self) -> bool:
        """Whether the event had no effect, and is not merely less enriched."""
        is_event = subjects.parse_event_subject(self.subject) is not None
        is_whole = self.subject.startswith(subjects.derived_subject(_REFUSED_EDGE, ""))
        return self.service in REFUSING and (is_event or is_whole)

    @property
    def broken_rule(self) -> tuple[str, str]:
        """Field and reason; the field "event" where the reason names none."""
        field, _, rule = self.reason.partition(": ")
        is_field = bool(rule) and all(part.isidentifier() or part.isdecimal() for part in field.split("."))
        return (field, rule) if is_field else ("event", self.reason)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which dead letters are meant; an empty field leaves them all."""

    service: str = ""
    tenant_id: str = ""
    reason: str = ""
    """A part of the reason, in any case."""
    since: datetime | None = None

    @property
    def subject(self) -> str:
        """Subject of the letters that may match."""
        return subjects.dlq_filter(self.service, self.tenant_id)

    def matches(self, letter: DeadLetter) -> bool:
        """Whether a letter on `subject` is meant."""
        is_recent = self.since is None or datetime.fromisoformat(letter.stored_at) >= self.since
        return is_recent and self.reason.casefold() in letter.reason.casefold()


async def newest(
    jetstream: JetStreamContext, *, limit: int, before: int | None = None, only: Filter | None = None
) -> list[DeadLetter]:
    """The newest `limit` dead letters of `only` with a sequence below `before`, newest first.

    Raises:
        PermanentError: there is no stream of dead letters.
    """
    only = only or Filter()
    try:
        state = (await jetstream.stream_info(subjects.DLQ_STREAM)).state
    except NoSuchMessageError as error:
        raise PermanentError(f"stream {subjects.DLQ_STREAM} does not exist; run `helix provision`") from error
    end = min(state.last_seq + 1, before or state.last_seq + 1)
    found: list[DeadLetter] = []
    while state.messages and len(found) < limit and end > state.first_seq:
        start = max(state.first_seq, end - max(limit, LETTERS_AT_ONCE))
        part = [letter async for letter in _between(jetstream, only.subject, start, end)]
        found += [letter for letter in reversed(part) if only.matches(letter)]
        end = start
    return found[:limit]


async def letters_from(
    jetstream: JetStreamContext, sequence: int, tenant_id: str = ""
) -> AsyncIterator[DeadLetter]:
    """The dead letters of one tenant, or of all, from `sequence` on, ascending."""
    async for letter in _between(jetstream, Filter(tenant_id=tenant_id).subject, sequence, _NO_END):
        yield letter


async def refused_events(jetstream: JetStreamContext, tenant_id: str = "") -> set[int]:
    """Sequences of the events, of one tenant or of all, that have a letter by which they had no effect."""
    letters = [letter async for letter in letters_from(jetstream, 1, tenant_id)]
    return {letter.event_sequence for letter in letters if letter.refuses_its_event}


async def _between(
    jetstream: JetStreamContext, subject: str, sequence: int, end: int
) -> AsyncIterator[DeadLetter]:
    """The letters on `subject` from `sequence` up to below `end`, ascending."""
    while sequence < end:
        try:
            message = await jetstream.get_msg(subjects.DLQ_STREAM, sequence, next=True, subject=subject)
        except NoSuchMessageError:
            return
        letter = described(message)
        if letter.sequence >= end:
            return
        yield letter
        sequence = letter.sequence + 1


def described(message: api.RawStreamMsg) -> DeadLetter:
    """The dead letter that the subject and the headers of a message describe."""
    headers = message.headers or {}
    parts = (message.subject or "").split(".")
    is_complete = len(parts) == _SUBJECT_TOKENS
    return DeadLetter(
        sequence=message.seq or 0,
        stored_at=message.time.isoformat() if isinstance(message.time, datetime) else str(message.time or ""),
        service=parts[3] if is_complete else "",
        tenant_id=parts[4] if is_complete else "",
        reason=headers.get(subjects.REASON_HEADER, ""),
        subject=headers.get(subjects.SUBJECT_HEADER, ""),
        stream=headers.get(subjects.STREAM_HEADER, ""),
        stream_sequence=subjects.header_number(headers, subjects.SEQUENCE_HEADER),
        size_bytes=len(message.data or b""),
        event_sequence=subjects.header_number(headers, subjects.EVENT_SEQUENCE_HEADER),
        attempts=subjects.header_number(headers, subjects.ATTEMPTS_HEADER),
        redrives=subjects.header_number(headers, subjects.REDRIVE_HEADER),
    )


async def last_sequence(jetstream: JetStreamContext) -> int:
    """Sequence of the newest dead letter; 0 where there is none, or no stream for them."""
    try:
        return (await jetstream.stream_info(subjects.DLQ_STREAM)).state.last_seq
    except NoSuchMessageError:
        return 0


async def start_of_earlier(jetstream: JetStreamContext, tenant_id: str) -> int:
    """The letter after which those are looked at that may refuse an event published before; 0: before all.

    Where the tenant has more than `EARLIER_LETTERS`, only so many of the newest of all are looked at.
    """
    try:
        of_tenant = Filter(tenant_id=tenant_id).subject
        state = (await jetstream.stream_info(subjects.DLQ_STREAM, of_tenant)).state
    except NoSuchMessageError:
        return 0
    is_few = sum((state.subjects or {}).values()) <= EARLIER_LETTERS
    return 0 if is_few else max(0, state.last_seq - EARLIER_LETTERS)


async def refusals_of(
    jetstream: JetStreamContext, events: Collection[int], *, after: int, tenant_id: str = ""
) -> Mapping[int, DeadLetter]:
    """Dead letters with a sequence above `after` that refuse one of `events`, by the event's sequence.

    Each costs a request, so name the tenant where all events are of one: those of others are not read then.
    """
    found: dict[int, DeadLetter] = {}
    async for letter in letters_from(jetstream, after + 1, tenant_id):
        if letter.event_sequence in events and letter.refuses_its_event:
            found.setdefault(letter.event_sequence, letter)
        if len(found) == len(events):
            break
    return found


async def own_refusals(
    jetstream: JetStreamContext, tenant_id: str, events: Collection[int]
) -> Mapping[int, DeadLetter]:
    """Dead letters that refuse one of `events` of a tenant, for a user that may read this tenant's alone.

    Such a user may read the last letter of each service, so a refusal before that one is not seen.

    Raises:
        TemporaryError: an event after all of `events` was refused; whether one of them was, is not known.
    """
    found: dict[int, DeadLetter] = {}
    for service in REFUSING:
        try:
            subject = subjects.dlq_subject(service, tenant_id)
            letter = described(await jetstream.get_msg(subjects.DLQ_STREAM, subject=subject, direct=True))
        except NoSuchMessageError:
            continue
        if letter.event_sequence > max(events, default=0):
            raise TemporaryError(
                f"{service} refused event {letter.event_sequence}, a later one: whether it refused these as "
                "well, the operator sees with `helix dlq ls`"
            )
        if letter.event_sequence in events and letter.refuses_its_event:
            found[letter.event_sequence] = letter
    return found
