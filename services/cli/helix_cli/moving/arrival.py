"""The tenant arrives in the stores of the target, with what its log does not tell.

That is what was erased, the receipts, and how often memories were served; it comes from the generation of the
shard that it leaves.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from nats.aio.client import Client
from nats.aio.msg import Msg

from helix_cli.rebuilding.taking_over.accesses import add_accesses
from helix_consolidation.ledger.event_reach import value_code
from helix_consolidation.stores.erased_before import take_over_erasures
from helix_consolidation.stores.state_files import STATE_FILE
from helix_memory.subjects import ACCESS_STREAM, access_subject
from helix_shared.artifacts.generation.folders import SIGNALS
from helix_shared.artifacts.signals.columns import code
from helix_shared.artifacts.signals.reader import NO_ROW, Signals
from helix_shared.broker.log_reader import read_range
from helix_shared.broker.streams import CONSOLIDATION_ACCESS, writer_durable
from helix_shared.errors import PermanentError

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path

    from helix_consolidation.stores.shard import Shard
    from helix_shared.event_log.record import EventRecord

_NAMED: Final = 3
"""Missing memories that an error names."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One tenant, whose log is applied to `shard`; it leaves the generation in the folder `source`."""

    shard: Shard
    source: Path
    tenant_id: str
    now: int
    """In microseconds."""

    def take_over(self, events: Container[int]) -> None:
        """Compare with the source, and take over what the log does not tell; `events` are the tenant's.

        Raises:
            PermanentError: memories of the source do not follow from the log.
            CorruptArtifactError: the source cannot be read.
        """
        self._require_complete()
        take_over_erasures(self.shard, self.source, of=events.__contains__)
        add_accesses(self.shard, self.source, now=self.now, tenant_id=self.tenant_id)

    async def count_accesses(self, client: Client) -> None:
        """Bring both shards to the same place of HELIX_ACCESS, so that no access counts twice or never.

        Called after `take_over`. Counted here are the accesses of the tenant that the target passed by, or
        those of all tenants of the target that the source has counted, and the target not yet.

        Raises:
            TemporaryError: NATS does not answer.
        """
        state, source = self.shard.state, json.loads((self.source / STATE_FILE).read_bytes())
        if source.get("access_stream") != state.access_stream:
            return
        theirs, own = int(source["accessed"]), max(state.accessed, await self._acknowledged(client))
        first, last = sorted((theirs, own))
        state.accessed = first
        subject = access_subject(self.tenant_id if theirs < own else "*")
        async for batch in read_range(client, ACCESS_STREAM, [subject], after=first, until=last):
            wanted = [one for one in batch if theirs < own or self._was_own(one.subject)]
            self.shard.apply_accesses([_delivered(client, one) for one in wanted], now=self.now)
        state.accessed = last

    async def _acknowledged(self, client: Client) -> int:
        """Accesses up to here do not come to the target again; a generation need not say so."""
        durable = writer_durable(CONSOLIDATION_ACCESS, self.shard.place.shard)
        consumer = await client.jetstream().consumer_info(ACCESS_STREAM, durable)
        return consumer.ack_floor.stream_seq if consumer.ack_floor else 0

    def _was_own(self, subject: str) -> bool:
        """Whether an access is of a tenant of the target; counts of the moved one come from the source."""
        return subject != access_subject(self.tenant_id) and self.shard.place.owns_subject(subject)

    def _require_complete(self) -> None:
        signals = Signals.open(self.source / SIGNALS)
        is_own = (signals.rows != NO_ROW) & (signals.tenant_code == code(self.tenant_id))
        ids = [record["memory_id"] for record in signals.records(np.flatnonzero(is_own))]
        missing = [one for one in ids if not self._has(one)]
        if missing:
            raise PermanentError(
                f"{len(missing)} of {len(ids)} memories of {self.tenant_id} do not follow from the log, "
                f"the first are {', '.join(missing[:_NAMED])}: the tenant was not moved"
            )

    def _has(self, memory_id: str) -> bool:
        """Whether a memory is there, or erased by an event that the source had not carried out yet."""
        state = self.shard.state
        is_erased = value_code(self.tenant_id, "memory", memory_id) in state.tombstones.erased_memories
        return is_erased or state.ledger.find(memory_id) is not None


def _delivered(client: Client, record: EventRecord) -> Msg:
    nanoseconds = int(record.stored_at.timestamp() * 1_000_000) * 1_000
    reply = f"$JS.ACK.{ACCESS_STREAM}.moving.1.{record.sequence}.{record.sequence}.{nanoseconds}.0"
    return Msg(_client=client, subject=record.subject, reply=reply, data=record.body, headers={})
