"""What `helix rebuild` does: beside a `helix up`, or alone."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer
from rich.table import Table

from helix_cli.clients.broker import run_async
from helix_cli.commands.common.lines.parity import print_parity
from helix_cli.commands.common.model_use import wait_served
from helix_cli.home.addresses import nats_server, query_server
from helix_cli.home.record import running_record
from helix_cli.model_build.default_model import ensure_default_model
from helix_cli.output.exit_codes import FAILED_EXIT
from helix_cli.output.terminal import complain, note, plain, stdout
from helix_cli.rebuilding.alone import own_server
from helix_cli.rebuilding.derive import Workers
from helix_cli.rebuilding.rebuild import Task, rebuild
from helix_cli.rebuilding.served import Served
from helix_cli.rebuilding.taking_over.set_aside import discard_old
from helix_cli.rebuilding.versions import compare_versions
from helix_cli.stack.hold import held
from helix_cli.stack.settings_in_use import settings_in_use
from helix_consolidation.settings import ConsolidationSettings
from helix_ingest.settings import IngestSettings
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.store import folder_with_checksum

if TYPE_CHECKING:
    from pathlib import Path

    from helix_cli.home.folder import HomeFolder
    from helix_cli.rebuilding.rebuild import Made


def rebuild_home(
    home: HomeFolder,
    *,
    nats: str,
    query: str,
    archive: Path | None,
    accepts_differences: bool,
    every_seconds: float,
    as_json: bool,
) -> None:
    """Make the data folder again, put it in place, and report.

    Raises:
        Exit: with 1, where the result differs without a reason; nothing was replaced.
        PermanentError: another process does the same, or the home has several shards.
        NotFoundError: the home has no log, or `archive` is none.
        TemporaryError: NATS does not answer, or the new generation is not served.
        InvalidInputError: a setting of ingest, doc2query or consolidation is not that of the `helix up`.
    """
    home.require_one_shard("a rebuild")
    record = running_record(home)
    folder = _model(home)
    with contextlib.ExitStack() as stack:
        if record is not None:
            stack.enter_context(settings_in_use(record.settings))
            server = nats_server(nats, home.root, wait=False)
            os.nice(IngestSettings.load().niceness)
        else:
            server = stack.enter_context(own_server(home, say=note))
        task = Task(
            home,
            home.models,
            folder,
            server,
            hold=contextlib.nullcontext if record is None else lambda: held(home),
            say=note,
            every_seconds=every_seconds,
            compares=True,
            accepts_differences=accepts_differences,
            is_alone=record is None,
            archive=archive,
        )
        made = run_async(rebuild(task))
    if record is not None and made.manifest is not None:
        wait_served(query_server(query, home.root, wait=False), made.manifest)
    _report(made, as_json=as_json)
    if made.manifest is None and made.parity is not None and made.parity.refuses:
        complain(
            "the memories differ from those that are there, and nothing explains it: nothing was replaced; "
            "`helix rebuild --accept-differences` replaces it"
        )
        raise typer.Exit(FAILED_EXIT)


def check_versions(home: HomeFolder, *, as_json: bool) -> None:
    """Tell what the current generation was made with, and what is installed.

    Raises:
        Exit: with 1, where a rule, a setting or the model differs, or the generation cannot be read.
    """
    served, record = Served.look(home.data), running_record(home)
    with settings_in_use({} if record is None else record.settings), Encoder.load(_model(home)) as encoder:
        settings = ConsolidationSettings.load()
        rows = compare_versions(served, Workers.configured(encoder), encoder.card, settings)
    if as_json:
        found = [asdict(row) | {"differs": row.differs} for row in rows]
        typer.echo(
            json.dumps({"generation": served.number, "problem": served.problem, "made_with": found}, indent=2)
        )
    else:
        table = Table("what", "made with", "here", "", box=None, header_style="bold")
        for row in rows:
            there = ", ".join(row.there) or "not stated"
            table.add_row(row.name, plain(there), plain(row.here), "differs" if row.differs else "")
        console = stdout()
        console.print(
            plain(f"generation {served.number}" + (f": {served.problem}" if served.problem else ""))
        )
        console.print(table)
    if served.problem or any(row.differs for row in rows):
        raise typer.Exit(FAILED_EXIT)


def discard(home: HomeFolder) -> list[str]:
    """Remove what was set aside; returns the folders."""
    return [str(folder) for folder in discard_old(home.data)]


def _model(home: HomeFolder) -> Path:
    """The folder of the model of the current generation if it is installed, else of the default."""
    checksum = Served.look(home.data).model_checksum
    return folder_with_checksum(home.models, checksum) or ensure_default_model(home.models)


def _report(made: Made, *, as_json: bool) -> None:
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "generation": None if made.manifest is None else made.manifest.generation,
                    "memories": None if made.manifest is None else made.manifest.counts.recallable,
                    "digest": None if made.manifest is None else made.manifest.digest,
                    "events": made.events,
                    "seconds": round(made.seconds, 3),
                    "set_aside": None if made.set_aside is None else str(made.set_aside),
                    "parity": None if made.parity is None else made.parity.as_json(),
                },
                indent=2,
            )
        )
        return
    if made.parity is not None:
        print_parity(made.parity)
    if made.manifest is not None:
        typer.echo(
            f"rebuilt: {made.manifest.counts.recallable:,} memories, generation {made.manifest.generation}"
        )
    elif made.parity is None or not made.parity.refuses:
        typer.echo("the log holds no memory yet: nothing was replaced")
    if made.set_aside is not None:
        typer.echo(f"what was there is in {made.set_aside}; `helix rebuild --discard-old` removes it")
