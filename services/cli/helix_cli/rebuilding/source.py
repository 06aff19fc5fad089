"""Where events come from: one after another, in the order of the log.

HELIX_EVENTS is such a source. Whatever else has events with the sequences of the log, as an archive has,
becomes one as `Recorded`; `Joined` reads it first, and the rest from the log.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from helix_cli.clients.broker import last_event_sequence
from helix_memory import subjects
from helix_shared.broker import log as log_reading
from helix_shared.errors import RESTORE_LOG, NotFoundError, PermanentError
from helix_shared.event_log.archive_files import CARD, read_card, verify
from helix_shared.event_log.read import records_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from nats.aio.client import Client


class SourceEvent(Protocol):
    """An event as it was stored; a `LoggedMessage` is one."""

    @property
    def sequence(self) -> int:
        """In HELIX_EVENTS."""

    @property
    def subject(self) -> str:
        """On which it was published."""

    @property
    def stored_at(self) -> datetime:
        """When the server stored it."""

    @property
    def body(self) -> bytes:
        """Byte for byte."""


class Source(Protocol):
    """Events by ascending sequence."""

    @property
    def name(self) -> str:
        """Names what is read: a rebuild that was begun from something else is not continued."""

    async def end(self) -> int:
        """The highest sequence there is now; 0: none."""

    async def after(self, sequence: int, *, until: int, most: int) -> Sequence[SourceEvent]:
        """The next events above `sequence`, up to `until`, at most `most`; empty: there is none."""


@dataclass(frozen=True, slots=True)
class LogSource:
    """HELIX_EVENTS; `created` is when the stream was created."""

    client: Client
    created: str

    @property
    def name(self) -> str:
        """The stream of this creation time."""
        return self.created

    async def end(self) -> int:
        """The last sequence of the stream."""
        return await last_event_sequence(self.client.jetstream())

    async def after(self, sequence: int, *, until: int, most: int) -> Sequence[SourceEvent]:
        """By a direct get of many.

        Raises:
            TemporaryError: NATS does not answer.
        """
        if sequence >= until:
            return []
        found = await log_reading.some_after(
            self.client, subjects.EVENTS_STREAM, subjects.ALL_EVENTS, sequence, most=most
        )
        return [one for one in found if one.sequence <= until]


@dataclass(slots=True)
class Recorded:
    """Events that `read` gives in the order of the log, every time from the first one on."""

    name: str
    read: Callable[[], Iterator[SourceEvent]]
    last: int | None = None
    """The last sequence, of which nothing later is read; None: it is found by reading everything."""
    _events: Iterator[SourceEvent] = field(default_factory=lambda: iter(()))
    _next: SourceEvent | None = None
    _from: int | None = None
    """Above this sequence `_next` is the first event; None: nothing is read yet."""

    async def end(self) -> int:
        """The last sequence."""
        if self.last is None:
            self.last = await asyncio.to_thread(lambda: max((one.sequence for one in self.read()), default=0))
        return self.last

    async def after(self, sequence: int, *, until: int, most: int) -> Sequence[SourceEvent]:
        """The next ones; a call with a sequence before the last one reads again from the first event."""
        return await asyncio.to_thread(self._after, sequence, until, most)

    def _after(self, sequence: int, until: int, most: int) -> Sequence[SourceEvent]:
        if self._from is None or sequence < self._from:
            self._events = self.read()
            self._next = next(self._events, None)
        found: list[SourceEvent] = []
        while (one := self._next) is not None and one.sequence <= until and len(found) < most:
            if one.sequence > sequence:
                found.append(one)
            self._next = next(self._events, None)
        self._from = found[-1].sequence if found else sequence
        return found


@dataclass(frozen=True, slots=True)
class Joined:
    """`first` as far as it goes, then `rest`, whose sequences mean the same."""

    first: Source
    rest: Source

    @property
    def name(self) -> str:
        """The names of both."""
        return f"{self.first.name}, {self.rest.name}"

    async def end(self) -> int:
        """Of the one that has more."""
        return max(await self.first.end(), await self.rest.end())

    async def after(self, sequence: int, *, until: int, most: int) -> Sequence[SourceEvent]:
        """Events of one of the two."""
        first_end = await self.first.end()
        if sequence < first_end and (
            found := await self.first.after(sequence, until=min(until, first_end), most=most)
        ):
            return found
        return await self.rest.after(max(sequence, first_end), until=until, most=most)


@dataclass(slots=True)
class UpToGaps:
    """The events of `source` in runs without a gap; what is read beyond a gap is the next run."""

    source: Source
    _after: int | None = None
    """Above this sequence `_ahead` are the next events; None: nothing is kept."""
    _ahead: Sequence[SourceEvent] = ()

    async def after(self, sequence: int, *, until: int, most: int) -> Sequence[SourceEvent]:
        """As a `Source`; none of the sequences between two of these events is missing."""
        found = [one for one in self._ahead if one.sequence <= until] if self._after == sequence else []
        if not found:
            found = list(await self.source.after(sequence, until=until, most=most))
        end = next((n for n, one in enumerate(found) if one.sequence != found[0].sequence + n), len(found))
        self._after, self._ahead = (found[end - 1].sequence if found else None), found[end:]
        return found[:end]


def from_archive(folder: Path, log: LogSource) -> Joined:
    """The archive in `folder` as far as it goes, then `log`; every checksum is compared first.

    Raises:
        NotFoundError: the folder is no archive.
        CorruptArtifactError: it is damaged.
        PermanentError: it is the archive of another log, whose sequences mean other events.
    """
    if not (folder / CARD).is_file():
        raise NotFoundError(
            f"{folder} is no archive: it has no {CARD}; `helix import` takes an export, `helix restore` "
            "a backup"
        )
    created = read_card(folder).get("log")
    if created != log.created:
        raise PermanentError(
            f"{folder} is the archive of a log that was created at {created}, HELIX_EVENTS at {log.created}: "
            f"its sequences mean other events; {RESTORE_LOG}"
        )
    end = verify(folder).last_sequence
    return Joined(Recorded(f"archive {folder}", lambda: records_of(folder), end), log)
