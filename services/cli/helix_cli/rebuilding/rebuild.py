"""The whole of it: from the log to stores that are made again, and those to their place."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from helix_cli.clients.broker import client_of
from helix_cli.clients.pausing import paused_writers
from helix_cli.clients.sharding import tenants_of_log
from helix_cli.rebuilding.check import Check
from helix_cli.rebuilding.derive import Workers
from helix_cli.rebuilding.deriving import Deriving
from helix_cli.rebuilding.progress import Progress, Say
from helix_cli.rebuilding.refusals import Refusals
from helix_cli.rebuilding.replay import Replay
from helix_cli.rebuilding.served import Served
from helix_cli.rebuilding.source import LogSource, from_archive
from helix_cli.rebuilding.taking_over.erasures import begin_with_erased, logs_of
from helix_cli.rebuilding.taking_over.hand_over import HandOver, draw_statements_again
from helix_cli.rebuilding.versions import compare_versions
from helix_cli.rebuilding.workspace import open_shard, owned, workspace_of
from helix_consolidation.delivery.abandoned import clear_workspace
from helix_consolidation.delivery.streams.stream_state import created_at
from helix_consolidation.ledger.consolidation_state import Model
from helix_consolidation.settings import ConsolidationSettings
from helix_consolidation.stores.anew import maintain_now
from helix_consolidation.stores.made_with import package_digest
from helix_ingest.settings import IngestSettings
from helix_memory.subjects import DERIVED_STREAM, EVENTS_STREAM
from helix_shared.broker.shard_bucket import read_map
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.store import choose_model
from helix_shared.encoders.vector_cache import VectorCache
from helix_shared.shard_map import ShardPlace

if TYPE_CHECKING:
    from nats.aio.client import Client

    from helix_cli.home.addresses import Server
    from helix_cli.home.folder import HomeFolder
    from helix_cli.rebuilding.parity.result import Parity
    from helix_cli.rebuilding.source import Source
    from helix_consolidation.delivery.leading.lease import Lease
    from helix_consolidation.stores.shard import Shard
    from helix_shared.artifacts.generation.manifest import Manifest

CLOSE_ENOUGH: Final = 64
"""Events behind the log at which the workers are held for the rest."""
STANDS_STILL_SECONDS: Final = 20.0
"""After this without progress of the writer, the rebuild no longer stays behind it."""
LOOK_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Task:
    """What to make, and where."""

    home: HomeFolder
    models: Path
    folder: Path
    """Of the model."""
    nats: Server
    hold: Callable[[], AbstractContextManager[None]]
    """Inside, no process of the home embeds or writes."""
    say: Say
    every_seconds: float = 5.0
    compares: bool = False
    """Compare with what is there before its place is taken, and set that aside."""
    accepts_differences: bool = False
    is_alone: bool = False
    """No worker of the home runs."""
    is_beside_others: bool = False
    """The services are not those of a `helix up`: the writer is asked to pause, and nothing else stops."""
    archive: Path | None = None
    """Where events are read, as far as it goes; None: in the log alone."""
    shard: int = 0
    prepares: bool = False
    """End before anything is held: the stores are left with a checkpoint, for a call that hands them over."""

    @property
    def data(self) -> Path:
        """The data folder of the shard."""
        return self.home.data_of(self.shard)


@dataclass(frozen=True, slots=True)
class Made:
    """What came out; `manifest` is None where nothing was put in place."""

    manifest: Manifest | None
    parity: Parity | None = None
    set_aside: Path | None = None
    events: int = 0
    seconds: float = 0.0
    """Of the replay alone."""


async def rebuild(task: Task) -> Made:
    """Make every memory again with the model in `task.folder`, and hand it over.

    Nothing is put in place where the log holds events and no memory, or where the comparison refuses.

    May be ended at any time: it continues from its last checkpoint when it is called again with the same
    model, rules and settings. Once the generation is published there is nothing to continue.

    Raises:
        TemporaryError: NATS does not answer, or no `helix up` runs on the home.
        PermanentError: another process does the same, a message cannot be applied, or the archive is of
            another log.
        CorruptArtifactError: the archive is damaged.
    """
    settings, workspace = ConsolidationSettings.load(), workspace_of(task.data)
    of_ingest = IngestSettings.load()
    lanes, cache = of_ingest.lanes_of(len(os.sched_getaffinity(0))), VectorCache(of_ingest.vector_cache_bytes)
    with contextlib.ExitStack() as stack:
        stack.enter_context(owned(workspace))
        encoder = stack.enter_context(Encoder.load(task.folder, lanes=lanes, cache=cache))
        encoder.card.require_matryoshka(settings.scan_dimensions)
        workers = Workers.configured(encoder)
        async with client_of(task.nats) as client:
            place = ShardPlace(shard=task.shard, map=await read_map(client.jetstream()))
            log = LogSource(client, await created_at(client.jetstream(), EVENTS_STREAM))
            source = await _source(task, log)
            key = {
                "model": encoder.card.id,
                "rules": workers.version,
                "consolidation": package_digest(),
                "log": source.name,
                "vectors": repr(settings.vector_form),
            }
            if not place.is_only:
                key["place"] = place.encoded().decode()
            shard, continues = open_shard(workspace, key, settings, _from_the_beginning(place))
            stack.callback(shard.close)
            served = Served.look(task.data)
            begin_with_erased(shard, served, logs_of(task.data, log.created))
            if await _is_empty(source, served) or not await _has_tenants(client, place):
                card = encoder.card
                shard.begin(Model(card.name, card.checksum, card.dimensions))
            deriving = stack.enter_context(Deriving(workers, task.folder))
            replay = Replay(source, client, shard, deriving, Refusals(workspace))
            check = None
            if task.compares:
                rows = compare_versions(served, workers, encoder.card, settings)
                check = Check(task.data, workspace, rows)
            if continues:
                task.say(f"continues after event {replay.sequence:,}, where it was ended")
            made = await _Run(task, client, shard, place, replay, source, check).to_the_end()
            shard.close()
        if not task.prepares and (made.manifest is not None or made.parity is None):
            clear_workspace(workspace)
    return made


async def _is_empty(source: Source, served: Served) -> bool:
    """Whether nothing was ever published, and nothing is served: the new generation is an empty one, too."""
    return (served.is_empty or not served.number) and not await source.end()


def _from_the_beginning(place: ShardPlace) -> ShardPlace:
    """The place of a shard that takes every event of its tenants from the log, also of before it existed."""
    if place.is_only:
        return place
    starts = (0,) * place.map.shards
    return ShardPlace(shard=place.shard, map=place.map.model_copy(update={"starts": starts, "moved": {}}))


async def _has_tenants(client: Client, place: ShardPlace) -> bool:
    """Whether a tenant with events lies in the shard; without one its generation is empty."""
    if place.is_only:
        return True
    return any([place.owns(tenant) async for tenant, _ in tenants_of_log(client)])


async def _source(task: Task, log: LogSource) -> Source:
    if task.archive is None:
        return log
    return await asyncio.to_thread(from_archive, task.archive, log)


@dataclass(slots=True)
class _Run:
    """One rebuild between the opening and the closing of its stores."""

    task: Task
    client: Client
    shard: Shard
    place: ShardPlace
    replay: Replay
    source: Source
    check: Check | None

    async def to_the_end(self) -> Made:
        """Replay, compare, hand over."""
        task, replay = self.task, self.replay
        progress = Progress(task.say, task.every_seconds)
        progress.begin(first := replay.sequence)
        await self._catch_up(progress)
        seconds = progress.seconds
        await replay.checkpoint()
        await asyncio.to_thread(maintain_now, self.shard)
        # both took long if there is much
        await self._catch_up(progress)
        events = replay.sequence - first
        if task.prepares:
            await replay.checkpoint()
            return Made(None, events=events, seconds=seconds)
        stops = "consolidation stops" if task.is_beside_others else "ingest and consolidation stop"
        task.say(f"embedded {replay.sequence:,} events; {stops} for the rest")
        if self.check is not None:
            await self.check.prepare(self.client)
        async with contextlib.AsyncExitStack() as hold:
            lease = await self._held(hold)
            parity = None
            if self.check is not None:
                parity = await self.check.compare(self.client, replay, progress)
                if parity.refuses and not task.accepts_differences:
                    return Made(None, parity, events=events, seconds=seconds)
            # before the end of the log, since ingest may go on: later messages are applied by the writer
            derived_end = (await self.client.jetstream().stream_info(DERIVED_STREAM)).state.last_seq
            await replay.run(await self.source.end(), advance=progress.reached)
            # before the step, because a command that is ended after it cannot be repeated
            if await draw_statements_again(self.client.jetstream()):
                task.say(
                    "extract draws its statements again from recorded answers; "
                    "verdicts about unsure pairs are not taken over"
                )
            manifest, aside = None, None
            if self.shard.can_publish:
                self.shard.take_place(self.place)
                over = HandOver(
                    self.client,
                    self.shard,
                    task.data,
                    replay.refusals,
                    derived_end,
                    keeps=task.compares,
                    is_alone=task.is_alone,
                    lease=lease,
                )
                manifest, aside = await over.run()
            if not task.is_beside_others:
                choose_model(task.models, task.folder.name)
        return Made(manifest, parity, aside, events, seconds)

    async def _held(self, hold: contextlib.AsyncExitStack) -> Lease | None:
        """Until `hold` ends nobody else writes; the lease of the writer, where that was asked to pause."""
        if not self.task.is_beside_others:
            inner = hold.enter_context(contextlib.ExitStack())
            await asyncio.to_thread(inner.enter_context, self.task.hold())
            return None
        folders = {self.task.shard: self.task.data}
        return (await hold.enter_async_context(paused_writers(self.client, folders)))[self.task.shard]

    async def _catch_up(self, progress: Progress) -> None:
        """Apply what is in the log, but nothing that the served generation lacks while its writer goes on.

        Both can then be compared as of one event.
        """
        applied, waited = 0, 0.0
        while (end := await self.source.end()) - self.replay.sequence > CLOSE_ENOUGH:
            before, applied = applied, 0 if self.check is None else self.check.applied
            waited = waited if applied == before else 0.0
            is_behind = applied and (self.task.is_alone or waited < STANDS_STILL_SECONDS)
            limit = min(end, applied) if is_behind else end
            if limit > self.replay.sequence:
                await self.replay.run(limit, advance=progress.reached)
            elif self.task.is_alone:
                return
            else:
                await asyncio.sleep(LOOK_SECONDS)
                waited += LOOK_SECONDS
