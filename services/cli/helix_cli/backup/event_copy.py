"""The log in a backup: every event under the key of its user, in the order of the log.

The pieces are segments of `helix_shared.event_log`; the body of a record is a sealed event. A full piece is
taken over by the next backup, also with events that were erased since: nothing opens them any more.

A restored log has the sequences that it had. JetStream counts for itself, so a sequence without an event gets
a filler, and the fillers are removed in one step. An event has a new time in the stream, and keeps its own
under the seal of an import (`helix_shared.broker.stored_at`).
"""

from __future__ import annotations

import asyncio
import io
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from helix_cli.backup.contents import EventPiece, EventsCopy
from helix_cli.backup.sealed import PIECE_BYTES, open_event, seal_event
from helix_cli.backup.stream_copy import ask
from helix_memory import subjects
from helix_memory.transport.batch import Outgoing, split
from helix_memory.transport.publisher import Publisher
from helix_shared.broker.log_reader import read_range
from helix_shared.broker.stored_at import sealed, sealing_key
from helix_shared.errors import CorruptArtifactError, TemporaryError
from helix_shared.event_log.archive import GONE
from helix_shared.event_log.archive_files import ERASED
from helix_shared.event_log.record import EventRecord
from helix_shared.event_log.segment import MAGIC, Entry, Gap, encoded, first_of, last_of, read_entries
from helix_shared.keys.owner import key_owner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nats.aio.client import Client

    from helix_cli.backup.objects import Objects
    from helix_shared.keys.key_store import KeyStore

KEY_HEADER: Final = "Helix-Key"
SEALED: Final = "sealed"
"""Subject of a sealed event: its own is inside."""
FILLER: Final = subjects.event_subject(subjects.UNKNOWN_TENANT, "", "filler")
WINDOW_SECONDS: Final = 0.1
"""Shortest de-duplication window of JetStream: a log may hold an id twice."""
REPEATS: Final = 100
_NO_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EVERY: Final = f"{subjects.ROOT}.events.>"


async def copy_events(
    client: Client, objects: Objects, keys: KeyStore, before: EventsCopy | None
) -> EventsCopy:
    """Keep every event that the log has now; `before`: those of the last backup, under the same keys.

    Raises:
        TemporaryError: NATS does not answer.
    """
    info = await ask(client, f"$JS.API.STREAM.INFO.{subjects.EVENTS_STREAM}", {})
    log, last = str(info["created"]), int(info["state"]["last_seq"])
    pieces = _Pieces(objects, keys)
    if before is not None and before.log == log:
        pieces.take_over(before, last)
    async for batch in read_range(client, subjects.EVENTS_STREAM, [_EVERY], after=pieces.last, until=last):
        await asyncio.to_thread(pieces.add_all, batch)
    pieces.end(last)
    return EventsCopy(log=log, config=info["config"], last=last, pieces=tuple(pieces.done))


@dataclass(slots=True)
class _Pieces:
    """Pieces that are written one after another."""

    objects: Objects
    keys: KeyStore
    done: list[EventPiece] = field(default_factory=list)
    last: int = 0
    _parts: list[bytes] = field(default_factory=list)
    _size: int = 0

    def take_over(self, before: EventsCopy, last: int) -> None:
        """Name the full pieces of the last backup again."""
        for piece in before.pieces:
            if not piece.is_full or piece.last > last or not self.objects.keep_again(piece.name):
                return
            self.done.append(piece)
            self.last = piece.last

    def add_all(self, records: list[EventRecord]) -> None:
        for record in records:
            self._fill(record.sequence - 1, GONE)
            found = self.keys.key_for(key_owner(record.subject, record.body), record.sequence)
            if found is None:
                self._fill(record.sequence, ERASED)
                continue
            name, key = found
            content = seal_event(record, key, name)
            self._add(EventRecord(record.sequence, SEALED, _NO_TIME, content, headers={KEY_HEADER: name}))

    def end(self, last: int) -> None:
        """Keep the last piece; the log has nothing else up to `last`."""
        self._fill(last, GONE)
        self._keep()

    def _fill(self, until: int, reason: str) -> None:
        if until > self.last:
            self._add(Gap(self.last + 1, until, reason))

    def _add(self, entry: Entry) -> None:
        self._parts.append(encoded(entry))
        self._size += len(self._parts[-1])
        self.last = last_of(entry)
        if self._size >= PIECE_BYTES:
            self._keep()

    def _keep(self) -> None:
        if self._parts:
            name = self.objects.put(b"".join((MAGIC, *self._parts)))
            self.done.append(EventPiece(last=self.last, name=name, is_full=self._size >= PIECE_BYTES))
        self._parts, self._size = [], 0


def entries_of(copy: EventsCopy, objects: Objects, keys: KeyStore) -> Iterator[Entry]:
    """The events of a backup, and gaps; a gap with the reason `ERASED` was an event whose key is destroyed.

    Raises:
        CorruptArtifactError: a piece is damaged, or an event does not fit its key.
    """
    last = 0
    for piece in copy.pieces:
        for entry, _ in read_entries(io.BytesIO(objects.read(piece.name)), f"piece {piece.name}"):
            if first_of(entry) != last + 1:
                raise CorruptArtifactError(f"piece {piece.name} has event {first_of(entry)} after {last}")
            last = last_of(entry)
            yield entry if isinstance(entry, Gap) else _opened(entry, keys)
        if last != piece.last:
            raise CorruptArtifactError(f"piece {piece.name} ends at event {last}, not {piece.last}")
    if last != copy.last:
        raise CorruptArtifactError(f"the events of the backup end at {last}, not {copy.last}")


def _opened(entry: EventRecord, keys: KeyStore) -> Entry:
    name = entry.headers.get(KEY_HEADER, "")
    key = keys.find(name, entry.sequence)
    if key is None:
        return Gap(entry.sequence, entry.sequence, ERASED)
    return open_event(entry.body, entry.sequence, key, name)


@dataclass(slots=True)
class PublishedEvents:
    """What became of the events of a backup."""

    events: int = 0
    left_out: int = 0
    """Those whose key is destroyed."""


async def publish_events(
    client: Client, copy: EventsCopy, objects: Objects, keys: KeyStore
) -> PublishedEvents:
    """Make the events the log, which must exist and be empty, with their sequences.

    Raises:
        CorruptArtifactError: a piece is damaged.
        TemporaryError: NATS does not answer, or counts otherwise.
    """
    update = f"$JS.API.STREAM.UPDATE.{subjects.EVENTS_STREAM}"
    await ask(client, update, {**copy.config, "duplicate_window": int(WINDOW_SECONDS * 1e9)})
    published, number = PublishedEvents(), 1
    key = await sealing_key(client)
    publisher = Publisher(client.jetstream())
    for batch in split(_outgoing(copy, objects, keys, key, published)):
        await _publish_from(client, publisher, batch, number)
        number += len(batch)
    jetstream = client.jetstream()
    await jetstream.purge_stream(subjects.EVENTS_STREAM, subject=FILLER)
    await ask(client, update, copy.config)
    state = (await jetstream.stream_info(subjects.EVENTS_STREAM)).state
    if (state.messages, state.last_seq) != (published.events, copy.last):
        raise TemporaryError(
            f"the restored log has {state.messages} events up to {state.last_seq}, not {published.events} "
            f"up to {copy.last}; run the command again"
        )
    return published


def _outgoing(
    copy: EventsCopy, objects: Objects, keys: KeyStore, key: bytes, published: PublishedEvents
) -> Iterator[Outgoing]:
    for entry in entries_of(copy, objects, keys):
        if isinstance(entry, Gap):
            published.left_out += (entry.last - entry.first + 1) * (entry.reason == ERASED)
            for sequence in range(entry.first, entry.last + 1):
                yield Outgoing(FILLER, b"", f"filler:{sequence}")
            continue
        published.events += 1
        times = sealed(key, entry.subject, entry.body, entry.message_id, entry.stored_at)
        yield Outgoing(entry.subject, entry.body, entry.message_id, {**entry.headers, **times})


async def _publish_from(client: Client, publisher: Publisher, batch: list[Outgoing], first: int) -> None:
    """Store a batch with the sequences from `first` on."""
    receipts = await publisher.publish_together(client, batch) if len(batch) > 1 else None
    if receipts is None:
        for sequence, message in enumerate(batch, first):
            await _publish_at(publisher, message, sequence)
    elif receipts[0].sequence != first:
        raise TemporaryError(f"event {first} became {receipts[0].sequence}; run the command again")


async def _publish_at(publisher: Publisher, message: Outgoing, sequence: int) -> None:
    for _ in range(REPEATS):
        receipt = await publisher.publish(
            message.subject, message.body, message_id=message.message_id, headers=message.headers
        )
        if receipt.sequence == sequence:
            return
        if not receipt.duplicate:
            raise TemporaryError(f"event {sequence} became {receipt.sequence}; run the command again")
        # an event before it has the same id
        await asyncio.sleep(WINDOW_SECONDS)
    raise TemporaryError(f"event {sequence} was taken for a repeated one; run the command again")
