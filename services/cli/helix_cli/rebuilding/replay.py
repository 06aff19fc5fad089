"""Reads events from the first one on, and applies to a shard what the workers make of each.

The order is that of the log, so the shard ends as it would after a rebuild. Nothing is published to NATS, and
nothing is asked of a language model. Refused events are noted (`refusals`); most have dead letters already.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from nats.aio.msg import Msg

from helix_cli.rebuilding.derive import delivered_event
from helix_cli.rebuilding.event_messages import EventMessages
from helix_cli.rebuilding.refusals import UNREACHED, Refusals
from helix_cli.rebuilding.source import LogSource, UpToGaps
from helix_consolidation.delivery.settle import SERVICE as CONSOLIDATION
from helix_consolidation.delivery.streams.stream_state import event_stream
from helix_consolidation.stores.publish import PublicationInfo
from helix_consolidation.stores.shard import Shard
from helix_ingest.settings import IngestSettings
from helix_memory import subjects
from helix_shared.errors import PermanentError
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from nats.aio.client import Client

    from helix_cli.rebuilding.deriving import Deriving
    from helix_cli.rebuilding.source import Source, SourceEvent
    from helix_shared.artifacts.generation.manifest import Manifest

EVENTS_AT_ONCE: Final = 128
CHECKPOINT_SECONDS: Final = 10.0
"""Work that a kill loses; more where a checkpoint takes longer than a tenth of it."""
CHECKPOINT_SHARE: Final = 10.0

Advance = Callable[[int, int], None]
"""Hears the sequence that is reached, and the last one."""


class Replay:
    """One shard and its place in the log."""

    def __init__(
        self, source: Source, client: Client, shard: Shard, deriving: Deriving, refusals: Refusals
    ) -> None:
        """`client` reads the turns before an event."""
        self._source = UpToGaps(source)
        self.refusals = refusals
        self._client = client
        self._shard = shard
        self._deriving = deriving
        # an archive may have events that the log lost; the turns around an event are those of the log
        most_bytes = IngestSettings.load().turn_cache_bytes if isinstance(source, LogSource) else 0
        # a checkpoint has no message that waits
        number = shard.state.derived.highest
        self._messages = EventMessages(client, deriving, refusals, cached_bytes=most_bytes, number=number)
        self._postponed: list[Msg] = []
        self._checkpointed = time.monotonic()
        self._cost_seconds = 0.0

    @property
    def sequence(self) -> int:
        """Events up to this one are applied."""
        return self._shard.state.applied.floor

    async def run(self, until: int, *, advance: Advance) -> None:
        """Apply the events up to `until`.

        Raises:
            TemporaryError: NATS does not answer.
            PermanentError: a message waits for one that the log does not have.
        """
        self._deriving.expect(until - self.sequence)
        read = self.sequence
        following = asyncio.create_task(self._derived(read, until))
        try:
            while self.sequence < until:
                found, messages = await following
                if not found:
                    # the last events are gone from the log
                    self._shard.state.applied.skip_to(until)
                    break
                self._skip_gap(read, found[0].sequence)
                read = found[-1].sequence
                # the next events embed while these are applied
                following = asyncio.create_task(self._derived(read, until))
                await self._apply(messages, log_end=until)
                advance(self.sequence, until)
                interval = max(CHECKPOINT_SECONDS, CHECKPOINT_SHARE * self._cost_seconds)
                if time.monotonic() - self._checkpointed >= interval:
                    await self.checkpoint()
        finally:
            following.cancel()
            await asyncio.wait([following])
        if self._postponed:
            raise PermanentError(
                f"{len(self._postponed)} messages wait for others that the log does not have"
            )

    async def checkpoint(self) -> Manifest | None:
        """Publish a generation of the folder; None where there is nothing to publish, or messages wait."""
        self._checkpointed = started = time.monotonic()
        if self._postponed or not self._shard.can_publish:
            return None
        stream = await event_stream(self._client.jetstream())
        # no other process writes in this folder, so its epoch never changes
        info = PublicationInfo(1, stream, datetime.now(UTC))
        manifest = await asyncio.to_thread(self._shard.publish, info, ensure_lease=lambda: None)
        await asyncio.to_thread(self._shard.purge.retire, now=datetime.now(UTC), keep=1, min_age_seconds=0)
        self._checkpointed = time.monotonic()
        self._cost_seconds = self._checkpointed - started
        return manifest

    def _skip_gap(self, read: int, first: int) -> None:
        """Count what the log lacks between two events as applied, but not what is read and postponed."""
        applied = self._shard.state.applied
        if applied.floor >= read:
            applied.skip_to(first - 1)
        else:
            for sequence in range(read + 1, first):
                applied.mark(sequence)

    async def _derived(self, after: int, until: int) -> tuple[Sequence[SourceEvent], list[Msg]]:
        """The next events up to a gap, and their messages; calls come one after the other."""
        found = await self._source.after(after, until=until, most=EVENTS_AT_ONCE)
        place = self._shard.place
        own = [one for one in found if place.owns_subject(one.subject)]
        return found, [*self._passed(found), *await self._messages.of(own)]

    def _passed(self, found: Sequence[SourceEvent]) -> list[Msg]:
        """The events of other shards, without their bodies: they are counted as applied."""
        return [
            delivered_event(self._client, one.subject, b"", one.sequence, 0)
            for one in found
            if not self._shard.place.owns_subject(one.subject)
        ]

    async def _apply(self, messages: list[Msg], *, log_end: int) -> None:
        now = microseconds(datetime.now(UTC))
        batch = [*self._postponed, *messages]
        outcome = await asyncio.to_thread(self._shard.apply, batch, now=now, log_end=log_end)
        if outcome.incompatible:
            raise PermanentError(str(outcome.incompatible[0][1]))
        self._shard.dead_letters_stored(outcome)
        for message, reason in outcome.dead:
            if message.metadata.stream == subjects.EVENTS_STREAM:
                self.refusals.add(CONSOLIDATION, message.metadata.sequence.stream, str(reason))
        for sequence in self._shard.unreached:
            self.refusals.add(CONSOLIDATION, sequence, UNREACHED)
        self._shard.unreached.clear()
        self._postponed = [message for message, _ in outcome.postponed]
