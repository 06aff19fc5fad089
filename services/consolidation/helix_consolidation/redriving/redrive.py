"""Redriving dead letters: what was refused is processed again, in its place in the log, exactly once.

A refused event still stands in HELIX_EVENTS. Its worker is asked to derive its message again, and the result
is stored as a later result of the same event. The writer lets the latest result count, so a second redrive
changes nothing. An erasure, a replacement or a forget that came later in the log reaches the event as usual.
A refused lifecycle event is published again, with an id that follows from its letter: the writer carries out
an id once (ops/decisions/0074).

A letter is removed when the writer has acknowledged its result, so that a generation on the disk holds it. A
second refusal gives a new letter, which counts the redrives.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from nats.js.errors import NotFoundError as NoSuchMessageError

from helix_consolidation.delivery.erasing.reading import remove_message
from helix_consolidation.delivery.streams.prune import acknowledged
from helix_memory import events, subjects
from helix_memory.identity import digest
from helix_memory.transport.dead_letters import DeadLetter, described, last_sequence, letters_from
from helix_memory.transport.letter_requests import Redriven
from helix_memory.transport.polling import async_poll
from helix_memory.transport.publisher import PubAck, Publisher, event_message
from helix_shared.broker.dead_letters import LetterOrigin, publish_dead_letter
from helix_shared.broker.shard_bucket import read_map
from helix_shared.broker.streams import CONSOLIDATION_DERIVED, CONSOLIDATION_LIFECYCLE, writer_durable
from helix_shared.broker.worker.rederive import Rederived, request_derivation
from helix_shared.errors import InvalidInputError, NotFoundError, PermanentError, TemporaryError
from helix_shared.published import published_event

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js import JetStreamContext

BATCH_LETTERS: Final = 256
REQUESTS_IN_FLIGHT: Final = 4
_WRITER: Final = "consolidation"
_EDGES: Final = {"ingest": "memories", "doc2query": "expansions", "kg": "links"}
_READERS: Final = {
    subjects.DERIVED_STREAM: CONSOLIDATION_DERIVED,
    subjects.EVENTS_STREAM: CONSOLIDATION_LIFECYCLE,
}


@dataclass(frozen=True, slots=True)
class _StoredResult:
    """A result, or a repeated event, and where it is stored."""

    letter: DeadLetter
    stream: str
    sequence: int


async def letter_at(jetstream: JetStreamContext, sequence: int) -> tuple[DeadLetter, bytes]:
    """A dead letter and its body.

    Raises:
        NotFoundError: there is none.
    """
    try:
        message = await jetstream.get_msg(subjects.DLQ_STREAM, sequence)
    except NoSuchMessageError as error:
        raise NotFoundError(f"no dead letter {sequence}; `helix dlq ls` lists them") from error
    return described(message), message.data or b""


async def redrive(
    client: Client, letters: Sequence[DeadLetter], *, wait_seconds: float
) -> AsyncIterator[Redriven]:
    """Redrive letters in the order of their events; waits up to `wait_seconds` for each `BATCH_LETTERS`.

    Raises:
        TemporaryError: NATS does not answer.
    """
    ordered = sorted(letters, key=lambda letter: (letter.event_sequence, letter.sequence))
    for start in range(0, len(ordered), BATCH_LETTERS):
        async for outcome in _redrive_some(client, ordered[start : start + BATCH_LETTERS], wait_seconds):
            yield outcome


async def _redrive_some(
    client: Client, letters: Sequence[DeadLetter], wait_seconds: float
) -> AsyncIterator[Redriven]:
    jetstream = client.jetstream()
    publisher = Publisher(jetstream)
    before = await last_sequence(jetstream)
    places = asyncio.Semaphore(REQUESTS_IN_FLIGHT)
    derived = [asyncio.create_task(_derived(client, letter, places)) for letter in letters]
    stored: list[_StoredResult] = []
    try:
        for letter, task in zip(letters, derived, strict=True):
            try:
                # published in the order of the log: a correction comes after what it corrects
                stored.append(await _publish(publisher, letter, await task))
            except TemporaryError as error:
                yield await _waiting(jetstream, letter, str(error))
            except InvalidInputError as error:
                yield Redriven(letter.sequence, "not possible", str(error))
            except PermanentError as error:
                yield await _refused_again(jetstream, publisher, letter, str(error))
    finally:
        for task in derived:
            task.cancel()
        await asyncio.gather(*derived, return_exceptions=True)
    async for outcome in _settle(jetstream, stored, before=before, wait_seconds=wait_seconds):
        yield outcome


async def _derived(client: Client, letter: DeadLetter, places: asyncio.Semaphore) -> Rederived:
    """The message that the letter's worker derives now, or the repeated lifecycle event."""
    async with places:
        edge = edge_of(letter)
        if not edge:
            _, body = await letter_at(client.jetstream(), letter.sequence)
            return Rederived(_repeated(letter, body))
        return await request_derivation(client, edge, sequence=letter.event_sequence, redrive=True)


def edge_of(letter: DeadLetter) -> str:
    """The edge whose message is derived again for a letter; empty: its event is published again.

    Raises:
        InvalidInputError: nothing can process it again.
    """
    if not letter.event_sequence:
        raise InvalidInputError("letter", f"{letter.sequence} names no event; `helix dlq drop` removes it")
    if letter.service == "extract":
        return "verdicts" if letter.stream == subjects.PAIRS_STREAM else "statements"
    if letter.service in _EDGES:
        return _EDGES[letter.service]
    if letter.stream == subjects.DERIVED_STREAM and subjects.edge_of(letter.subject) in subjects.EDGES:
        return subjects.edge_of(letter.subject)
    address = subjects.parse_event_subject(letter.subject)
    if letter.service == _WRITER and address is not None and address.kind in events.LIFECYCLE_KINDS:
        return ""
    raise InvalidInputError(
        "letter", f"{letter.sequence} of {letter.service} comes from {letter.subject}, which nothing derives"
    )


def _repeated(letter: DeadLetter, body: bytes) -> bytes:
    """The event of a letter with an id that follows from the letter: the writer carries it out once.

    Under its own id it would count as a repeat of the one that reached nothing.

    Raises:
        PermanentError: the event breaks a rule; the reason names the field.
    """
    event = published_event(letter.subject, body)
    again = digest("redrive", event.event_id, str(letter.event_sequence), letter.stored_at)
    return events.encode_event(event.model_copy(update={"event_id": again}))


async def _publish(publisher: Publisher, letter: DeadLetter, derived: Rederived) -> _StoredResult:
    edge = edge_of(letter)
    if not edge:
        message = event_message(events.parse_event(derived.body))
        ack = await publisher.publish(message.subject, message.body, message_id=message.message_id)
        return _StoredResult(letter, subjects.EVENTS_STREAM, ack.sequence)
    ack = await _publish_derived(publisher, letter, edge, derived)
    return _StoredResult(letter, subjects.DERIVED_STREAM, ack.sequence)


async def _publish_derived(publisher: Publisher, letter: DeadLetter, edge: str, derived: Rederived) -> PubAck:
    from helix_shared import edges  # noqa: PLC0415  Arrow takes long to import, and only this needs it

    origin, _ = edges.decode(derived.body)
    redrives = letter.redrives + 1
    headers = {**derived.headers(origin.event_sequence), subjects.REDRIVE_HEADER: str(redrives)}
    return await publisher.publish(
        subjects.derived_subject(edge, origin.tenant_id),
        derived.body,
        message_id=subjects.derived_message_id(edge, origin.event_sequence, f"letter:{letter.sequence}"),
        headers=headers,
    )


async def _waiting(jetstream: JetStreamContext, letter: DeadLetter, reason: str) -> Redriven:
    """The letter can be redriven again, unless an erasure took it meanwhile."""
    body = await _body_of(jetstream, letter)
    return body if isinstance(body, Redriven) else Redriven(letter.sequence, "waiting", reason)


async def _body_of(jetstream: JetStreamContext, letter: DeadLetter) -> bytes | Redriven:
    """The body of a letter; what became of it, where an erasure took it meanwhile."""
    try:
        return (await letter_at(jetstream, letter.sequence))[1]
    except NotFoundError as error:
        return Redriven(letter.sequence, "not possible", str(error))


async def _refused_again(
    jetstream: JetStreamContext, publisher: Publisher, letter: DeadLetter, reason: str
) -> Redriven:
    """Put a letter with the new reason in the place of the old one, unless an erasure took it meanwhile."""
    body = await _body_of(jetstream, letter)
    if isinstance(body, Redriven):
        return body
    origin = LetterOrigin(
        letter.subject,
        letter.stream,
        letter.stream_sequence,
        letter.event_sequence,
        attempts=letter.attempts + 1,
        redrives=letter.redrives + 1,
    )
    ack = await publish_dead_letter(origin, body, reason, service=letter.service, publisher=publisher)
    await remove(jetstream, letter.sequence)
    return Redriven(letter.sequence, "refused", reason, ack.sequence)


async def _settle(
    jetstream: JetStreamContext, stored: Sequence[_StoredResult], *, before: int, wait_seconds: float
) -> AsyncIterator[Redriven]:
    """Wait until the writer has acknowledged what is stored, and remove the letters."""
    ends = dict.fromkeys(_READERS, 0)
    async for _ in async_poll(wait_seconds if stored else 0):
        ends = {stream: await acknowledged_until(jetstream, stream) for stream in ends}
        if all(one.sequence <= ends[one.stream] for one in stored):
            break
    new = {
        (letter.stream, letter.stream_sequence): letter
        async for letter in letters_from(jetstream, before + 1)
        if letter.service == _WRITER
    }
    for one in stored:
        letter = one.letter.sequence
        if one.sequence > ends[one.stream]:
            yield await _waiting(
                jetstream, one.letter, f"{one.stream} {one.sequence} is in no generation yet"
            )
            continue
        refusal = new.get((one.stream, one.sequence))
        await remove(jetstream, letter)
        if refusal is None:
            yield Redriven(letter, "processed")
        else:
            yield Redriven(letter, "refused", refusal.reason, refusal.sequence)


async def acknowledged_until(jetstream: JetStreamContext, stream: str) -> int:
    """Sequence of a stream up to which the writers of all shards have acknowledged everything."""
    last = (await jetstream.stream_info(stream)).state.last_seq
    shards = (await read_map(jetstream)).shards
    readers = [writer_durable(_READERS[stream], shard) for shard in range(shards)]
    return min([acknowledged(await jetstream.consumer_info(stream, name), last) for name in readers])


async def remove(jetstream: JetStreamContext, sequence: int) -> bool:
    """Remove a letter; returns whether it was there."""
    # an erasure may have removed it meanwhile
    return await remove_message(jetstream, subjects.DLQ_STREAM, sequence)
