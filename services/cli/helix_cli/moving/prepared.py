"""The messages of a tenant's events, derived in this process by the workers' own functions.

They are made before the writers stop, since embedding takes nearly all of the time; what is published
meanwhile follows when they have stopped. Nothing is written anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_cli.rebuilding.event_messages import EventMessages
from helix_ingest.settings import IngestSettings
from helix_memory.subjects import EVENTS_STREAM, events_of_tenant
from helix_shared.broker.log_reader import read_range

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

    from helix_cli.rebuilding.deriving import Deriving
    from helix_cli.rebuilding.refusals import Refusals
    from helix_consolidation.stores.moving.replaying import TenantLog

CLOSE_ENOUGH: Final = 8
"""Events of the tenant that are left to derive while its writers have stopped."""
MOST_ROUNDS: Final = 10
"""A tenant that is written faster than its events are derived is moved all the same."""


class PreparedEvents:
    """All events of a tenant up to `sequence`, in batches in the order of the log."""

    def __init__(self, client: Client, tenant_id: str, deriving: Deriving, refusals: Refusals) -> None:
        self._client = client
        self._subjects = [events_of_tenant(tenant_id)]
        cached_bytes = IngestSettings.load().turn_cache_bytes
        self._messages = EventMessages(client, deriving, refusals, cached_bytes=cached_bytes, number=0)
        self.sequence = 0
        self.events: set[int] = set()
        """Sequences of the tenant's events."""
        self.batches: list[tuple[int, list[Msg]]] = []
        """The messages of some events, with the sequence of the last of these."""

    async def read(self, until: int) -> int:
        """Derive the events up to `until`, the end of the log; returns how many there were.

        Raises:
            TemporaryError: NATS does not answer.
        """
        found = 0
        reading = read_range(self._client, EVENTS_STREAM, self._subjects, after=self.sequence, until=until)
        async for events in reading:
            self.batches.append((events[-1].sequence, await self._messages.of(events)))
            self.events.update(event.sequence for event in events)
            found += len(events)
        self.sequence = until
        return found

    def apply(self, log: TenantLog, *, now: int) -> None:
        """Apply the messages to the stores of a shard, and drop them. `now` is in microseconds.

        Raises:
            IncompatibleError: the vectors are of another model than those of the shard.
        """
        while self.batches:
            last, messages = self.batches.pop(0)
            log.apply(messages, until=last, now=now)
