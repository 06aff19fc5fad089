"""What `helix models use` does: nothing, a choice, or everything anew."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import typer

from helix_cli.clients.broker import run_async
from helix_cli.home.addresses import Server, nats_server, query_server
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
    from helix_cli.home.folder import HomeFolder
    from helix_shared.artifacts.generation.manifest import Manifest

SERVED_SECONDS: Final = 120.0


def use_model(
    home: HomeFolder, name: str, *, nats: str, query: str, again: bool, every_seconds: float
) -> None:
    """Choose a model; if there are memories of another one, make them again with it.

    Raises:
        NotFoundError: it is not installed.
        CorruptArtifactError: its files are not those of its card.
        PermanentError: there are memories, and no `helix up` runs; or the home has several shards.
        TemporaryError: NATS does not answer, or the new generation is not served.
        InvalidInputError: a setting of ingest, doc2query or consolidation is not that of the `helix up`.
    """
    home.require_one_shard("another model")
    folder = model_folder(home.models, name)
    card, used = load_card(folder), model_of(home.data)
    if not card.makes_codes:
        raise PermanentError(f"{name} has no token projection: run `helix models build`")
    record = running_record(home)
    if record is None:
        if used is not None and (used.checksum != card.checksum or again):
            raise PermanentError(
                f"the memories have vectors of {used.name}: start `helix up`, then repeat this command"
            )
        choose_model(home.models, name)
        typer.echo(f"{name} is used from now on")
        return
    if used is not None and used.checksum == card.checksum and not again:
        choose_model(home.models, name)
        # an earlier call may have been ended just after its generation was published
        discard(workspace_of(home.data))
        typer.echo(f"{name} is in use already; --again makes all memories again")
        return
    server = nats_server(nats, home.root, wait=False)
    with settings_in_use(record.settings):
        os.nice(IngestSettings.load().niceness)
        task = Task(
            home, home.models, folder, server, hold=lambda: held(home), say=note, every_seconds=every_seconds
        )
        made = run_async(rebuild(task)).manifest
    if made is None:
        typer.echo(f"{name} is used from now on; there are no memories yet")
        return
    wait_served(query_server(query, home.root, wait=False), made)
    typer.echo(
        f"{name} is in use: {made.counts.recallable:,} memories, generation {made.generation}; "
        "`helix models list` tells what was fitted for another model"
    )


def wait_served(server: Server, made: Manifest) -> None:
    """Return when the query service answers from the generation `made`, or a later one.

    Raises:
        TemporaryError: it does not in `SERVED_SECONDS`.
    """
    served = 0
    with RecallClient(server.address, call_seconds=2.0, credentials=server.calls) as client:
        for _ in poll(SERVED_SECONDS):
            try:
                served = client.status().generation
            except TemporaryError:
                continue
            if served >= made.generation:
                return
    raise TemporaryError(
        f"generation {made.generation} is published, generation {served} is served: "
        "the log of the query service says why"
    )
