"""A tenant is moved: prepared, copied while the writer of its new shard has stopped, and switched.

The writer of the shard that it leaves stops for the last events only, so the tenant can be written meanwhile.
The one step is the replacement of the shard map. Before it the target has memories of a tenant that is not
its own, which its writer removes when it begins; after it the source has. So whatever ends this command, the
tenant is whole in exactly one shard, and no list says what is to be cleaned up.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nats.js.errors import NotFoundError

from helix_cli.clients.broker import last_event_sequence
from helix_cli.clients.pausing import paused_writers
from helix_cli.home.tenants import place_in
from helix_cli.moving.arrival import Arrival
from helix_cli.moving.prepared import CLOSE_ENOUGH, MOST_ROUNDS, PreparedEvents
from helix_cli.rebuilding.derive import Workers
from helix_cli.rebuilding.deriving import Deriving
from helix_cli.rebuilding.refusals import Refusals
from helix_consolidation.delivery.streams.stream_state import (
    check_epoch,
    check_stream,
    created_at,
    event_stream,
    reconcile_derived_position,
)
from helix_consolidation.ledger.consolidation_state import ConsolidationState
from helix_consolidation.settings import ConsolidationSettings
from helix_consolidation.stores.erased_before import remember_erased
from helix_consolidation.stores.moving.replaying import tenant_log
from helix_consolidation.stores.publish import PublicationInfo
from helix_consolidation.stores.shard import Shard
from helix_consolidation.stores.state_files import restore_state
from helix_consolidation.usage.decay import decay_rule
from helix_memory.subjects import ACCESS_STREAM, ANSWERS_STREAM, EVENTS_STREAM, answer_subject
from helix_memory.transport.polling import poll
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.broker.provisioning.provision import stream_settings
from helix_shared.broker.shard_bucket import read_map, replace_map
from helix_shared.encoders.encoder import Encoder
from helix_shared.errors import InvalidInputError, PermanentError
from helix_shared.moments import microseconds
from helix_shared.shard_map import ShardPlace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nats.aio.client import Client
    from nats.js import JetStreamContext

    from helix_consolidation.delivery.leading.lease import Lease
    from helix_shared.artifacts.generation.manifest import Manifest
    from helix_shared.shard_map import ShardMap

    Say = Callable[[str], None]

FOLLOW_SECONDS: Final = 60.0
"""Longest wait for the writers after a move."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What was done."""

    tenant_id: str
    source: int
    target: int
    sequence: int
    """The last event that came with the move."""
    events: int
    memories: int
    prepared_seconds: float
    paused_seconds: float
    """How long nobody wrote the tenant: both writers had stopped."""
    target_paused_seconds: float
    """How long the writer of the new shard had stopped."""


def until_followed(data_of: Callable[[int], Path], moved: Moved) -> bool:
    """Wait until both writers have published with the new map; returns whether they did in time."""
    for _ in poll(FOLLOW_SECONDS):
        places = [place_in(data_of(shard)) for shard in (moved.source, moved.target)]
        if all(place.map.shard_of(moved.tenant_id) == moved.target for place in places):
            return True
    return False


@dataclass(frozen=True, slots=True)
class Move:
    """One move; `data_of` gives the data folder of a shard, `model` is the folder of the encoder."""

    client: Client
    tenant_id: str
    target: int
    data_of: Callable[[int], Path]
    model: Path
    say: Say

    async def run(self) -> Moved:
        """Move the tenant.

        May be ended at any time, and called again.

        Raises:
            InvalidInputError: there is no such shard or tenant, or the tenant lies there.
            TemporaryError: NATS or a writer does not answer, or the map was changed meanwhile; nothing was
                changed.
            PermanentError: its memories do not follow from the log alone.
            LostLeaseError: it took too long; nothing was changed.
        """
        before = await read_map(self._jetstream)
        source = before.shard_of(self.tenant_id)
        before.placing(self.tenant_id, self.target)
        if source == self.target:
            raise InvalidInputError("--to", f"{self.tenant_id} lies in shard {source} already")
        await self._require_no_answers()
        began = time.monotonic()
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            workers = Workers.configured(stack.enter_context(Encoder.load(self.model)))
            deriving = stack.enter_context(Deriving(workers, self.model))
            prepared = PreparedEvents(self.client, self.tenant_id, deriving, Refusals(folder))
            await self._prepare(prepared)
            stopped = time.monotonic()
            async with paused_writers(self.client, {self.target: self.data_of(self.target)}) as leases:
                memories, paused = await self._copy(before, source, leases[self.target], prepared)
        return Moved(
            self.tenant_id,
            source,
            self.target,
            prepared.sequence,
            len(prepared.events),
            memories,
            stopped - began,
            paused,
            time.monotonic() - stopped,
        )

    @property
    def _jetstream(self) -> JetStreamContext:
        return self.client.jetstream()

    async def _prepare(self, prepared: PreparedEvents) -> None:
        for _ in range(MOST_ROUNDS):
            found = await prepared.read(await last_event_sequence(self._jetstream))
            self.say(f"derived {len(prepared.events):,} events of {self.tenant_id}")
            if found <= CLOSE_ENOUGH:
                break
        if not prepared.events:
            raise InvalidInputError("tenant", f"{self.tenant_id} has no events; new ones go where it lies")

    async def _copy(
        self, before: ShardMap, source: int, lease: Lease, prepared: PreparedEvents
    ) -> tuple[int, float]:
        """Copy and switch, under the lease of the target; returns memories, and seconds without a writer."""
        shard = await asyncio.to_thread(self._opened, before)
        now, place = microseconds(datetime.now(UTC)), before.placing(self.tenant_id, self.target)
        try:
            await self._check(shard, lease)
            await asyncio.to_thread(shard.drop_foreign, now=now)
            remember_erased(shard.state, self._generation(source))
            # with the place that it will have, its messages are folded; until the switch it has the old one
            shard.take_place(ShardPlace(shard=self.target, map=place))
            async with contextlib.AsyncExitStack() as stack:
                with tenant_log(shard) as log:
                    await asyncio.to_thread(prepared.apply, log, now=now)
                    # what came while that was applied
                    await self._prepare(prepared)
                    await asyncio.to_thread(prepared.apply, log, now=now)
                    stopped = time.monotonic()
                    pause = paused_writers(self.client, {source: self.data_of(source)})
                    leases = await stack.enter_async_context(pause)
                    await prepared.read(await last_event_sequence(self._jetstream))
                    await asyncio.to_thread(prepared.apply, log, now=now)
                    await asyncio.to_thread(log.end, until=prepared.sequence, now=now)
                await self._check_source(source)
                arrival = Arrival(shard, self._generation(source), self.tenant_id, now)
                await asyncio.to_thread(arrival.take_over, prepared.events)
                await arrival.count_accesses(self.client)
                shard.take_place(ShardPlace(shard=self.target, map=before))
                memories = len(shard.state.ledger.tenants().get(self.tenant_id, ()))
                await self._publish(shard, lease)
                await self._replace(before, prepared.sequence, (lease, leases[source]))
                return memories, time.monotonic() - stopped
        finally:
            await asyncio.to_thread(shard.close)

    async def _replace(self, before: ShardMap, sequence: int, leases: Sequence[Lease]) -> None:
        """The one step."""
        for lease in leases:
            await lease.renew()
        after = before.moving(self.tenant_id, self.target, sequence=sequence)
        log = await stream_settings(self._jetstream, EVENTS_STREAM)
        await replace_map(self._jetstream, before, after, replicas=(log and log.num_replicas) or 1)

    def _opened(self, before: ShardMap) -> Shard:
        settings = ConsolidationSettings.load()
        return Shard.open(
            self.data_of(self.target),
            maintain_every=settings.maintain_every,
            form=settings.vector_form,
            decay=decay_rule(settings),
            place=ShardPlace(shard=self.target, map=before),
        )

    async def _publish(self, shard: Shard, lease: Lease) -> Manifest:
        await lease.renew()
        info = PublicationInfo(lease.epoch, await event_stream(self._jetstream), datetime.now(UTC))
        return await asyncio.to_thread(shard.publish, info, ensure_lease=lease.ensure_held)

    async def _check(self, shard: Shard, lease: Lease) -> None:
        """As a writer does before it begins.

        Raises:
            PermanentError: the data folder is not that of the writer, or has no generation.
        """
        if shard.manifest is None:
            raise PermanentError(f"shard {self.target} has no generation: start its writer first")
        check_epoch(lease.epoch, shard.manifest)
        check_stream(await event_stream(self._jetstream), shard.manifest)
        await self._require_whole(shard.state, self.target)
        shard.state.set_access_stream(await created_at(self._jetstream, ACCESS_STREAM))

    def _generation(self, source: int) -> Path:
        """The folder of the generation that the tenant leaves.

        Raises:
            PermanentError: there is none.
        """
        data = self.data_of(source)
        number = current_number(data)
        if number is None:
            raise PermanentError(f"shard {source} has no generation: start its writer first")
        return folder_of(data, number)

    async def _check_source(self, source: int) -> None:
        """Refuse a data folder that is not that of the writer of the source.

        Raises:
            PermanentError: it lacks acknowledged messages.
        """
        state = ConsolidationState()
        restore_state(state, self._generation(source))
        await self._require_whole(state, source)

    async def _require_whole(self, state: ConsolidationState, shard: int) -> None:
        if await reconcile_derived_position(self._jetstream, state, shard=shard):
            raise PermanentError(f"the data folder of shard {shard} is an older copy: start its writer first")

    async def _require_no_answers(self) -> None:
        """Refuse a tenant whose memories a language model added to: they do not follow from the log."""
        filters = answer_subject(self.tenant_id, "*")
        try:
            found = await self._jetstream.stream_info(ANSWERS_STREAM, subjects_filter=filters)
        except NotFoundError:
            return
        if found.state.subjects:
            raise PermanentError(
                f"a language model was asked about memories of {self.tenant_id}: what it answered cannot be "
                "moved yet"
            )
