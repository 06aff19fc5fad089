"""Copies the log into the archive, and removes erased events from the archive.

`Writer` waits for the copy before it applies what comes from an event. `Eraser` works beside it: only one of
them changes the files at a time.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Final, Self

from helix_memory.subjects import ALL_EVENTS, EVENTS_STREAM
from helix_shared.broker import log
from helix_shared.broker.log_reader import read_range
from helix_shared.errors import RESTORE_LOG, PermanentError, TemporaryError
from helix_shared.event_log.archive import Archive
from helix_shared.event_log.archive_files import CARD
from helix_shared.shard_map import ONLY_SHARD
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from nats.aio.client import Client

    from helix_shared.artifacts.generation.manifest import StreamState
    from helix_shared.event_log.record import EventRecord
    from helix_shared.shard_map import ShardPlace

ARCHIVE: Final = "archive"
"""Folder below the data folder."""

_log = logger(__name__)


class EventArchive:
    """The archive of the log; exists while its process holds the lease. A context manager."""

    def __init__(
        self,
        client: Client,
        data: Path,
        log: StreamState,
        *,
        segment_bytes: int,
        place: ShardPlace = ONLY_SHARD,
    ) -> None:
        """Open the archive of the events of a shard in `log`, or begin it.

        Raises:
            CorruptArtifactError: it is damaged.
            PermanentError: it is of another log, or holds more than `log`, which was truncated.
        """
        self._client = client
        self._place = place
        self._busy = threading.Lock()
        self._is_closed = False
        self._seen: EventRecord | None = None
        """The last event that was read, of whatever shard."""
        self._archive = Archive(data / ARCHIVE, log=log.created_text, segment_bytes=segment_bytes)
        if self._archive.last_sequence > log.last_sequence:
            last = self._archive.last_sequence
            self._archive.close()
            raise PermanentError(
                f"the archive holds events up to {last}, stream {log.name} ends at {log.last_sequence}; "
                f"the stream was truncated: {RESTORE_LOG}"
            )

    async def check_continues(self) -> None:
        """Compare the last event of the archive with the one that the log has in its place, if it has one.

        Raises:
            PermanentError: it is another one: the log was truncated, and has taken new events since.
            TemporaryError: NATS does not answer.
        """
        last = await asyncio.to_thread(self._archive.last_record)
        logged = last and await log.message_at(self._client, EVENTS_STREAM, last.sequence)
        if last and logged and (logged.subject, logged.body) != (last.subject, last.body):
            raise _reused(last.sequence)

    @property
    def last_sequence(self) -> int:
        """Events up to this one are on the disk."""
        return self._archive.last_sequence

    async def catch_up(self, until: int) -> None:
        """Return when all events up to `until`, the end of the log, are on the disk.

        Raises:
            TemporaryError: NATS does not answer.
            PermanentError: the log has another event in the place of the last one.
            OSError: the disk is full, or fails.
        """
        if until <= self.last_sequence:
            return
        first, every = self.last_sequence, [ALL_EVENTS]
        after = first if self._seen is None else self._seen.sequence - 1
        async for batch in read_range(self._client, EVENTS_STREAM, every, after=after, until=until):
            self._check_same(batch[0])
            new = [record for record in batch if record.sequence > first]
            await asyncio.to_thread(
                self._append, [one for one in new if self._place.owns_subject(one.subject)]
            )
            self._seen = batch[-1]
        if until > self.last_sequence:
            await asyncio.to_thread(self._append, (), until)
        _log.debug("archived", first=first + 1, last=until)

    def _check_same(self, record: EventRecord) -> None:
        before = self._seen
        if before is None or before.sequence != record.sequence:
            return  # it left the log
        if (before.subject, before.body) != (record.subject, record.body):
            raise _reused(record.sequence)

    async def erase(self, sequences: Collection[int]) -> frozenset[int]:
        """Remove events from every segment; returns which of them were there.

        Raises:
            CorruptArtifactError: a segment is damaged.
            TemporaryError: the archive was closed before.
        """
        return await asyncio.to_thread(self._erase, sequences)

    def close(self) -> None:
        """Close the open segment; waits for a thread that works on it."""
        with self._busy:
            self._is_closed = True
            self._archive.close()

    def _append(self, records: Sequence[EventRecord], until: int = 0) -> None:
        with self._busy:
            self._ensure_open()
            self._archive.append(records, until=until)

    def _erase(self, sequences: Collection[int]) -> frozenset[int]:
        with self._busy:
            self._ensure_open()
            return self._archive.erase(sequences)

    def _ensure_open(self) -> None:
        """A thread outlives its caller that was cancelled; another process may have the folder by then."""
        if self._is_closed:
            raise TemporaryError("the archive is closed")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _reused(sequence: int) -> PermanentError:
    return PermanentError(
        f"event {sequence} of the archive is another one than that of {EVENTS_STREAM}: the stream was "
        f"truncated, and has taken new events since; {RESTORE_LOG}"
    )


async def erase_where_none_is_written(
    data: Path, log: StreamState, sequences: Collection[int]
) -> frozenset[int]:
    """Remove events from the archive of a writer that had it switched on; none where there is no archive.

    Raises:
        CorruptArtifactError: it is damaged.
        PermanentError: it is of another log: nobody knows what of it was erased.
    """

    def erase() -> frozenset[int]:
        with Archive(data / ARCHIVE, log=log.created_text) as archive:
            return archive.erase(sequences)

    if not (data / ARCHIVE / CARD).exists():
        return frozenset()
    return await asyncio.to_thread(erase)
