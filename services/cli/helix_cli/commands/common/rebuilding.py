"""What `helix rebuild` does: beside a `helix up` or services in containers, or alone."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer
from rich.table import Table

from helix_cli.clients.broker import jetstream_of, run_async
from helix_cli.commands.common.lines.parity import print_parity
from helix_cli.commands.common.model_use import wait_served
from helix_cli.home.addresses import nats_server, query_server
from helix_cli.home.record import RunRecord, running_record
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
from helix_shared.broker.shard_bucket import read_map
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.store import folder_with_checksum
from helix_shared.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from helix_cli.home.addresses import Server
    from helix_cli.home.folder import HomeFolder
    from helix_cli.rebuilding.rebuild import Made
    from helix_cli.rebuilding.versions import VersionRow


def rebuild_home(
    home: HomeFolder,
    *,
    shard: int | None,
    nats: str,
    query: str,
    archive: Path | None,
    accepts_differences: bool,
    every_seconds: float,
    as_json: bool,
    is_beside_others: bool = False,
) -> None:
    """Make the data folders of all shards again, or that of `shard`, one after the other; report.

    `is_beside_others`: the services are not those of a `helix up`, and their writers pause for the rest.

    Raises:
        Exit: with 1, where a result differs without a reason; nothing of that shard was replaced.
        InvalidInputError: there is no such shard, or `archive` is read for several.
        PermanentError: another process does the same.
        NotFoundError: the home has no log, or beside others no generation; or `archive` is none.
        TemporaryError: NATS does not answer, or the new generation is not served.
        InvalidInputError: a setting of ingest, doc2query or consolidation is not that of the `helix up`.
    """
    record = running_record(home)
    if is_beside_others and record is not None:
        raise InvalidInputError("--pause-writer", "is not for a `helix up`, and one runs on this home")
    made: dict[int, Made] = {}
    with contextlib.ExitStack() as stack:
        server = _server(home, nats, record, stack, is_beside_others=is_beside_others)
        shards = run_async(_shards(server))
        for one in _chosen(shard, shards, archive):
            if is_beside_others:
                _require_served(home, one)
            if shards > 1:
                note(f"shard {one} of {shards}")
            task = Task(
                home,
                home.models,
                _model(home, one),
                server,
                hold=contextlib.nullcontext if record is None else lambda: held(home),
                say=note,
                every_seconds=every_seconds,
                compares=True,
                accepts_differences=accepts_differences,
                is_alone=record is None and not is_beside_others,
                is_beside_others=is_beside_others,
                archive=archive,
                shard=one,
            )
            made[one] = run_async(rebuild(task))
            if not as_json:
                _print(made[one])
    for one, found in made.items():
        if found.manifest is not None and (record is not None or (is_beside_others and query)):
            wait_served(query_server(query, home.root, wait=False), found.manifest, shard=one)
    if as_json:
        rows = [_as_json(found) for found in made.values()]
        told = [{"shard": one} | row for one, row in zip(made, rows, strict=True)]
        typer.echo(json.dumps({"shards": told}, indent=2))
    if any(_is_refused(found) for found in made.values()):
        complain(
            "the memories differ from those that are there, and nothing explains it: nothing was replaced; "
            "`helix rebuild --accept-differences` replaces it"
        )
        raise typer.Exit(FAILED_EXIT)


def _server(
    home: HomeFolder,
    nats: str,
    record: RunRecord | None,
    stack: contextlib.ExitStack,
    *,
    is_beside_others: bool,
) -> Server:
    """Where NATS is until `stack` ends: that of the services, or one of the command's own."""
    if record is None and not is_beside_others:
        return stack.enter_context(own_server(home, say=note))
    if record is not None:
        stack.enter_context(settings_in_use(record.settings))
    server = nats_server(nats, home.root, wait=False)
    os.nice(IngestSettings.load().niceness)
    return server


def _require_served(home: HomeFolder, shard: int) -> None:
    """Beside services of others a wrong folder would be filled, or with a model that ingest lacks."""
    served = Served.look(home.data_of(shard))
    if not served.number:
        raise NotFoundError(
            f"{home.data_of(shard)} has no generation: it must be the data folder of the writer"
        )
    if folder_with_checksum(home.models, served.model_checksum) is None:
        raise NotFoundError(f"{home.models} lacks the model of generation {served.number}")


async def _shards(server: Server) -> int:
    async with jetstream_of(server) as jetstream:
        return (await read_map(jetstream)).shards


def _chosen(shard: int | None, shards: int, archive: Path | None) -> Sequence[int]:
    if shard is None:
        if archive is not None and shards > 1:
            raise InvalidInputError("--shard", "is missing: an archive has the events of one shard")
        return range(shards)
    if shard >= shards:
        raise InvalidInputError("--shard", f"{shard} must be 0 to {shards - 1}")
    return [shard]


def _is_refused(made: Made) -> bool:
    return made.manifest is None and made.parity is not None and made.parity.refuses


def check_versions(home: HomeFolder, *, as_json: bool) -> None:
    """Tell what the current generation of every shard was made with, and what is installed.

    Raises:
        Exit: with 1, where a rule, a setting or the model differs, or the generation cannot be read.
    """
    record, told, differs = running_record(home), list[dict[str, object]](), False
    for shard in range(home.shards):
        served = Served.look(home.data_of(shard))
        in_use = settings_in_use({} if record is None else record.settings)
        with in_use, Encoder.load(_model(home, shard)) as encoder:
            settings = ConsolidationSettings.load()
            rows = compare_versions(served, Workers.configured(encoder), encoder.card, settings)
        differs |= bool(served.problem) or any(row.differs for row in rows)
        if as_json:
            found = [asdict(row) | {"differs": row.differs} for row in rows]
            told.append({"generation": served.number, "problem": served.problem, "made_with": found})
        else:
            _print_versions(served, rows, f"shard {shard}, " if home.shards > 1 else "")
    if as_json:
        shards = [{"shard": shard} | one for shard, one in enumerate(told)]
        typer.echo(json.dumps({"shards": shards}, indent=2))
    if differs:
        raise typer.Exit(FAILED_EXIT)


def _print_versions(served: Served, rows: Sequence[VersionRow], place: str) -> None:
    table = Table("what", "made with", "here", "", box=None, header_style="bold")
    for row in rows:
        there = ", ".join(row.there) or "not stated"
        table.add_row(row.name, plain(there), plain(row.here), "differs" if row.differs else "")
    console = stdout()
    problem = f": {served.problem}" if served.problem else ""
    console.print(plain(f"{place}generation {served.number}{problem}"))
    console.print(table)


def discard(home: HomeFolder) -> list[str]:
    """Remove what was set aside; returns the folders."""
    return [str(folder) for shard in range(home.shards) for folder in discard_old(home.data_of(shard))]


def _model(home: HomeFolder, shard: int) -> Path:
    """The folder of the model of a shard's current generation, else of another's, else of the default."""
    for one in (shard, *range(home.shards)):
        checksum = Served.look(home.data_of(one)).model_checksum
        if (folder := folder_with_checksum(home.models, checksum)) is not None:
            return folder
    return ensure_default_model(home.models)


def _as_json(made: Made) -> dict[str, object]:
    return {
        "generation": None if made.manifest is None else made.manifest.generation,
        "memories": None if made.manifest is None else made.manifest.counts.recallable,
        "digest": None if made.manifest is None else made.manifest.digest,
        "events": made.events,
        "seconds": round(made.seconds, 3),
        "set_aside": None if made.set_aside is None else str(made.set_aside),
        "parity": None if made.parity is None else made.parity.as_json(),
    }


def _print(made: Made) -> None:
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
