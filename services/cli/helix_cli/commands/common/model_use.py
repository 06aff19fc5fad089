"""What `helix models use` does: nothing, a choice, or everything anew."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from helix_cli.clients.broker import run_async
from helix_cli.clients.query_status import generation_of
from helix_cli.home.addresses import Server, nats_server, query_of_shard, query_server
from helix_cli.home.record import running_record
from helix_cli.output.terminal import note
from helix_cli.rebuilding.rebuild import Task, rebuild
from helix_cli.rebuilding.workspace import discard, workspace_of
from helix_cli.stack.hold import held
from helix_cli.stack.model_in_use import model_of
from helix_cli.stack.settings_in_use import settings_in_use
from helix_ingest.settings import IngestSettings
from helix_memory.transport.polling import poll
from helix_memory.transport.recall_client import RecallClient
from helix_shared.encoders.model import load_card
from helix_shared.encoders.store import choose_model, model_folder
from helix_shared.errors import PermanentError, TemporaryError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix_cli.home.folder import HomeFolder
    from helix_shared.artifacts.generation.manifest import Manifest

SERVED_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class Used:
    """A model that is used from now on, and what was made again with it."""

    name: str
    changed: bool = True
    """False: the memories had this model before."""
    memories: int = 0
    generations: tuple[int, ...] = ()
    """One for each shard; none where no memory was made again."""

    def line(self) -> str:
        """For people."""
        if self.generations:
            generations = ", ".join(map(str, self.generations))
            return (
                f"{self.name} is in use: {self.memories:,} memories, generation {generations}; "
                "`helix models list` tells what was fitted for another model"
            )
        if not self.changed:
            return f"{self.name} is in use already; --again makes all memories again"
        return f"{self.name} is used from now on"


def use_model(
    home: HomeFolder, name: str, *, nats: str, query: str, again: bool, every_seconds: float
) -> Used:
    """Choose a model; if there are memories of another one, make them again with it, in every shard.

    Raises:
        NotFoundError: it is not installed.
        CorruptArtifactError: its files are not those of its card.
        PermanentError: there are memories, and no `helix up` runs.
        TemporaryError: NATS does not answer, or a new generation is not served.
        InvalidInputError: a setting of ingest, doc2query or consolidation is not that of the `helix up`.
    """
    folder = model_folder(home.models, name)
    card, used = load_card(folder), [model_of(home.data_of(shard)) for shard in range(home.shards)]
    if not card.makes_codes:
        raise PermanentError(f"{name} has no token projection: run `helix models build`")
    record = running_record(home)
    others = [one for one in used if one is not None and (one.checksum != card.checksum or again)]
    if record is None:
        if others:
            raise PermanentError(
                f"the memories have vectors of {others[0].name}: start `helix up`, then repeat this command"
            )
        choose_model(home.models, name)
        return Used(name)
    shards = [shard for shard, one in enumerate(used) if one is None or one in others]
    for shard in range(home.shards):
        if shard not in shards:
            # an earlier call may have been ended just after its generation was published
            discard(workspace_of(home.data_of(shard)))
    if not shards:
        choose_model(home.models, name)
        return Used(name, changed=False)
    server = nats_server(nats, home.root, wait=False)
    with settings_in_use(record.settings):
        os.nice(IngestSettings.load().niceness)
        task = Task(
            home, home.models, folder, server, hold=lambda: held(home), say=note, every_seconds=every_seconds
        )
        made = _made_in(task, shards)
    if not made:
        note("there are no memories yet")
        return Used(name)
    asked = query_server(query, home.root, wait=False)
    for shard, manifest in made.items():
        wait_served(asked, manifest, shard=shard)
    memories = sum(one.counts.recallable for one in made.values())
    return Used(name, memories=memories, generations=tuple(one.generation for one in made.values()))


def _made_in(task: Task, shards: Sequence[int]) -> dict[int, Manifest]:
    """The new generation of every shard that has one.

    Ingest embeds for all shards with one model. So the stores of several are prepared one after the other,
    and handed over together, while ingest and all writers are held.
    """
    every = task.home.shards
    if every > 1:
        for shard in shards:
            task.say(f"shard {shard} of {every}")
            run_async(rebuild(replace(task, shard=shard, prepares=True)))
    made = {}
    with task.hold() if every > 1 else contextlib.nullcontext():
        hold = contextlib.nullcontext if every > 1 else task.hold
        for shard in shards:
            if every > 1:
                task.say(f"shard {shard} of {every}: what came meanwhile, and its place")
            made[shard] = run_async(rebuild(replace(task, shard=shard, hold=hold))).manifest
    return {shard: one for shard, one in made.items() if one is not None}


def wait_served(server: Server, made: Manifest, *, shard: int) -> None:
    """Return when the query service answers from the generation `made` of a shard, or a later one.

    Raises:
        TemporaryError: it does not in `SERVED_SECONDS`.
    """
    served = 0
    own = query_of_shard(server, shard)
    with RecallClient(own.address, call_seconds=2.0, credentials=own.calls) as client:
        for _ in poll(SERVED_SECONDS):
            try:
                served = generation_of(client.status(), shard)
            except TemporaryError:
                continue
            if served >= made.generation:
                return
    raise TemporaryError(
        f"generation {made.generation} is published, generation {served} is served: "
        "the log of the query service says why"
    )
