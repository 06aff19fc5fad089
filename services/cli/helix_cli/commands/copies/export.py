"""`helix export`: events of tenants as JSON lines."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Final, cast

import typer

from helix_cli.clients.auditing import CommandRecord, recorded
from helix_cli.clients.broker import client_of, require_events_stream, run_async
from helix_cli.commands.common import options
from helix_cli.commands.group import help_text
from helix_cli.home.addresses import Server, nats_server
from helix_cli.home.folder import HomeFolder
from helix_cli.output.exit_codes import EXIT_CODES
from helix_cli.output.progress import progress
from helix_cli.output.terminal import note, size
from helix_shared.artifacts.files.durability import sync
from helix_shared.errors import InvalidInputError
from helix_shared.machine.whole_file import SECRET

if TYPE_CHECKING:
    from helix_cli.exchange.export import Exported

COMPRESSED: Final = ".gz"
"""Ending of a file that is written with gzip."""
HELP: Final = f"""
[bold]Examples[/bold]

  helix export --tenant acme --out acme.jsonl
  helix export --out everything.jsonl
  helix export --tenant acme --out acme.jsonl.gz    (compressed)

Writes the events as they were published, with their ids and times, and the
recorded answers of the language model, so that `helix import` on another
instance makes the same memories and asks no model. Each line has a
checksum, and the last line one of the whole file.

Events of which a memory was erased are left out. An answer of the language
model may repeat what was erased: a tenant with an erase event exports none.

{EXIT_CODES}
"""

app = typer.Typer(add_completion=False)


@app.command(help=help_text("export", HELP))
def export_command(
    *,
    tenant: Annotated[
        list[str] | None, typer.Option("--tenant", help="Tenant to export; may be repeated. Default: all.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="File to write; - is standard output.")] = Path("-"),
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Export."""
    server = nats_server(nats, home)
    with _target(out) as target:
        written = run_export(server, target, tenants=tenant or [], home=HomeFolder.at(home))
    if str(out) == "-":
        note(json.dumps(asdict(written)) if as_json else _line(written))
    else:
        typer.echo(json.dumps(asdict(written)) if as_json else _line(written))


def run_export(server: Server, target: IO[bytes], *, tenants: list[str], home: HomeFolder) -> Exported:
    """Write to `target` with a progress bar; notes what is left out."""
    from helix_cli.exchange.export import (  # noqa: PLC0415  imports the ledger of consolidation
        export,
        require_tenants,
    )

    # before the audit record, which is filed under the tenant
    require_tenants(tenants)

    async def work() -> Exported:
        async with client_of(server) as client:
            await require_events_stream(client.jetstream())
            with progress() as bar:
                task = bar.add_task("exporting", total=None)
                return await export(
                    client,
                    target,
                    tenants=tenants,
                    data_of=home.data_of,
                    advance=lambda done, of: bar.update(task, completed=done, total=of),
                )

    with recorded(server, "cli.export", CommandRecord(tenants)) as record:
        written = run_async(work())
        record.tenants, record.count = list(written.tenants) or tenants, written.tenants
    if empty := sorted(set(tenants).difference(written.tenants)):
        note(f"there are no events of {', '.join(empty)}")
    if written.left_out:
        note(f"left out {written.left_out} events of which a memory was erased")
    if written.malformed:
        note(f"left out {written.malformed} messages whose subjects are not those of events")
    if written.completed:
        note(f"{written.completed} corrections of erased memories are exported as memories of their own")
    if written.tenants_without_answers:
        note(
            f"without answers of the language model, which may repeat what was erased: "
            f"{', '.join(written.tenants_without_answers)}"
        )
    return written


def _line(written: Exported) -> str:
    return (
        f"exported {written.events} events and {written.answers} answers of {len(written.tenants)} tenants "
        f"up to sequence {written.last_sequence}: {size(written.size_bytes)}, sha256 {written.sha256}"
    )


@contextlib.contextmanager
def _target(out: Path) -> Iterator[IO[bytes]]:
    """A file for its owner alone that gets its name when it is complete; standard output; or a device.

    Raises:
        InvalidInputError: there is no folder for it.
    """
    if str(out) == "-":
        yield sys.stdout.buffer
        return
    if out.exists() and not out.is_file():
        with out.open("wb") as target:
            yield target
        return
    if not out.absolute().parent.is_dir():
        raise InvalidInputError("--out", f"there is no folder {out.absolute().parent}")
    draft = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        with open(draft, "wb", opener=_for_owner) as target:
            if out.suffix == COMPRESSED:
                with gzip.GzipFile(filename="", fileobj=target, mode="wb") as compressed:
                    yield cast("IO[bytes]", compressed)
            else:
                yield target
        sync(draft)
        draft.replace(out)
        sync(out.absolute().parent)
    finally:
        draft.unlink(missing_ok=True)


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, SECRET)
