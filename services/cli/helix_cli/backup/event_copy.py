"""The log in a backup: every event under the key of its user, in the order of the log.

The pieces are segments of `helix_shared.event_log`; the body of a record is a sealed event. A full piece is
taken over by the next backup, also with events that were erased since: nothing opens them any more.

`log_writing` makes a log of them again.
"""

from __future__ import annotations

import asyncio
import io
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from helix_cli.backup.contents import EventPiece, EventsCopy
from helix_cli.backup.log_writing import WrittenLog, write_log
from helix_cli.backup.sealed import PIECE_BYTES, open_event, seal_event
from helix_cli.backup.stream_copy import of_one_server
from helix_cli.clients.stream_api import log_info
from helix_memory import subjects
from helix_shared.broker.log_reader import read_range
from helix_shared.errors import CorruptArtifactError, TemporaryError
from helix_shared.event_log.archive import NOT_IN_LOG
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
_NO_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)


async def copy_events(
    client: Client, objects: Objects, keys: KeyStore, before: EventsCopy | None
) -> EventsCopy:
    """Keep every event that the log has now; `before`: those of the last backup, under the same keys.

    Raises:
        TemporaryError: NATS does not answer.
    """
    info = await log_info(client)
    log, last = str(info["created"]), int(info["state"]["last_seq"])
    pieces = _Pieces(objects, keys)
    if before is not None and before.log == log:
        pieces.take_over(before, last)
    async for batch in read_range(
        client, subjects.EVENTS_STREAM, [subjects.ALL_EVENTS], after=pieces.last, until=last
    ):
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
            self._fill(record.sequence - 1, NOT_IN_LOG)
            found = self.keys.key_for(key_owner(record.subject, record.body), record.sequence)
            if found is None:
                self._fill(record.sequence, ERASED)
                continue
            name, key = found
            content = seal_event(record, key, name)
            self._add(EventRecord(record.sequence, SEALED, _NO_TIME, content, headers={KEY_HEADER: name}))

    def end(self, last: int) -> None:
        """Keep the last piece; the log has nothing else up to `last`."""
        self._fill(last, NOT_IN_LOG)
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


async def publish_events(client: Client, copy: EventsCopy, objects: Objects, keys: KeyStore) -> WrittenLog:
    """Make the events the log, which must exist and be empty, with their sequences.

    Raises:
        CorruptArtifactError: a piece is damaged.
        TemporaryError: NATS does not answer, or counts otherwise.
    """
    config = of_one_server(copy.config)
    written = await write_log(client, entries_of(copy, objects, keys), config=config)
    state = (await client.jetstream().stream_info(subjects.EVENTS_STREAM)).state
    if (state.messages, state.last_seq) != (written.events, copy.last):
        raise TemporaryError(
            f"the restored log has {state.messages} events up to {state.last_seq}, not {written.events} "
            f"up to {copy.last}; run the command again"
        )
    return written
