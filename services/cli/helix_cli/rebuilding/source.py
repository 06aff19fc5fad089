"""Where events come from: one after another, in the order of the log.

HELIX_EVENTS is such a source. Whatever else has events with the sequences of the log, as an archive has,
becomes one by the three members of `Source`; `Joined` reads it first, and the rest from the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from helix_cli.clients.broker import last_event_sequence
from helix_memory import subjects
from helix_shared.broker import log

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from nats.aio.client import Client

EVERY_EVENT: Final = f"{subjects.ROOT}.events.>"


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
        """By direct gets.

        Raises:
            TemporaryError: NATS does not answer.
        """
        found: list[SourceEvent] = []
        while len(found) < most:
            logged = await log.first_after(self.client, subjects.EVENTS_STREAM, EVERY_EVENT, sequence)
            if logged is None or logged.sequence > until:
                break
            found.append(logged)
            sequence = logged.sequence
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
