"""Copies the log into the archive. `Writer` waits for it before it applies what comes from an event."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Self

from helix_memory.subjects import EVENTS_STREAM, ROOT
from helix_shared.broker.log_reader import read_range
from helix_shared.errors import PermanentError
from helix_shared.event_log.archive import Archive
from helix_shared.telemetry import logger

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from nats.aio.client import Client

    from helix_shared.artifacts.generation.manifest import StreamState

ARCHIVE: Final = "archive"
"""Folder below the data folder."""

_log = logger(__name__)


class EventArchive:
    """The archive of the log; exists while its process holds the lease. A context manager."""

    def __init__(self, client: Client, data: Path, log: StreamState, *, segment_bytes: int) -> None:
        """Open the archive of `log`, or begin it.

        Raises:
            CorruptArtifactError: it is damaged.
            PermanentError: it is of another log, or holds more than `log`, which was truncated.
        """
        created = "" if log.created_at is None else log.created_at.isoformat()
        self._client = client
        self._archive = Archive(data / ARCHIVE, log=created, segment_bytes=segment_bytes)
        if self._archive.last_sequence > log.last_sequence:
            last = self._archive.last_sequence
            self._archive.close()
            raise PermanentError(
                f"the archive holds events up to {last}, stream {log.name} ends at {log.last_sequence}; "
                "the stream was truncated: restore it"
            )

    @property
    def last_sequence(self) -> int:
        """Events up to this one are on the disk."""
        return self._archive.last_sequence

    async def catch_up(self, until: int) -> None:
        """Return when all events up to `until`, the end of the log, are on the disk.

        Raises:
            TemporaryError: NATS does not answer.
            OSError: the disk is full, or fails.
        """
        if until <= self.last_sequence:
            return
        first, every = self.last_sequence, [f"{ROOT}.events.>"]
        async for batch in read_range(self._client, EVENTS_STREAM, every, after=first, until=until):
            await asyncio.to_thread(self._archive.append, batch)
        if until > self.last_sequence:
            await asyncio.to_thread(self._archive.append, (), until=until)
        _log.debug("archived", first=first + 1, last=until)

    async def erase(self, sequences: Collection[int]) -> int:
        """Remove events from every segment; returns how many there were."""
        return await asyncio.to_thread(self._archive.erase, sequences)

    def close(self) -> None:
        """Close the open segment."""
        self._archive.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
