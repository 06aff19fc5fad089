"""`helix dlq`: lists, shows, redrives and drops dead letters.

`helix_memory.transport.dead_letters` reads them, `helix_consolidation.redriving` processes them again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Final

import typer

from helix_cli.clients.auditing import CommandRecord, recorded
from helix_cli.clients.broker import client_of, jetstream_of, run_async
from helix_cli.commands.common import options
from helix_cli.commands.common.letters import advice, letter_filter, print_letters, readable
from helix_cli.commands.group import COMMANDS
from helix_cli.home.addresses import Server, nats_server
from helix_cli.output.exit_codes import EXIT_CODES, FAILED_EXIT, UNREACHABLE_EXIT
from helix_cli.output.terminal import note, printable
from helix_consolidation.redriving.redrive import letter_at, redrive, remove
from helix_memory.subjects import UNKNOWN_TENANT
from helix_memory.transport.dead_letters import DeadLetter, Filter, newest
from helix_memory.transport.letter_requests import Redriven
from helix_shared.errors import InvalidInputError, NotFoundError

MOST_LETTERS: Final = 100_000
"""Letters that one command with --all takes."""

LIST_HELP: Final = f"""List the newest dead letters with their reason.

[bold]Examples[/bold]

  helix dlq ls
  helix dlq ls --tenant acme --service ingest --since 2h
  helix dlq ls --reason "does not fit" --limit 200 --json
  helix dlq ls --before 812          (the next page)

{EXIT_CODES}
"""
SHOW_HELP: Final = f"""Show one dead letter: its origin, reason, attempts and body, and what to do.

[bold]Examples[/bold]

  helix dlq show 17

{EXIT_CODES}
"""
REDRIVE_HELP: Final = f"""Process what was refused again, after the cause is repaired.

[bold]Examples[/bold]

  helix dlq redrive 17 18
  helix dlq redrive --all --service ingest --tenant acme

An event keeps its place in the log: what was erased since stays erased. It
is applied once, also if this is run twice or killed. A letter is removed
once a generation holds its event; a second refusal gives a new letter and
ends the command with 1. What no worker has processed in time stays a
letter: redrive it again (3).

{EXIT_CODES}
"""
DROP_HELP: Final = f"""Remove dead letters. Their events stay in the log, without effect.

[bold]Examples[/bold]

  helix dlq drop 17
  helix dlq drop --all --reason "unknown kind" --yes

{EXIT_CODES}
"""

Sequences = Annotated[list[int] | None, typer.Argument(min=1, help="Sequences from `helix dlq ls`.")]
All = Annotated[bool, typer.Option("--all", help="All letters that the filters leave.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before --all.")]
OfTenant = Annotated[str, typer.Option("--tenant", help="Only of this tenant.")]
OfService = Annotated[str, typer.Option("--service", help="Only of this service, e.g. ingest.")]
WithReason = Annotated[str, typer.Option("--reason", help="Only with this text in the reason.")]

app = typer.Typer(help=COMMANDS["dlq"].summary, no_args_is_help=True, add_completion=False)


@app.command("ls", help=LIST_HELP)
def ls_command(
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many.")] = 50,
    before: Annotated[int | None, typer.Option("--before", min=1, help="Only below this sequence.")] = None,
    tenant: OfTenant = "",
    service: OfService = "",
    reason: WithReason = "",
    since: options.Since = "",
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """List dead letters."""
    server = nats_server(nats, home)
    only = letter_filter(service, tenant, reason, since)
    letters = _listed(server, only, limit=limit, before=before)
    if as_json:
        typer.echo(json.dumps([asdict(letter) for letter in letters], indent=2))
    elif letters:
        print_letters(letters)
        if len(letters) == limit:
            note(f"there may be more: --before {letters[-1].sequence}")
    else:
        typer.echo("no dead letters")


@app.command("show", help=SHOW_HELP)
def show_command(
    sequence: Annotated[int, typer.Argument(min=1, help="Sequence from `helix dlq ls`.")],
    *,
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Show one dead letter."""
    server = nats_server(nats, home)

    async def work() -> tuple[DeadLetter, bytes]:
        async with jetstream_of(server) as jetstream:
            return await letter_at(jetstream, sequence)

    letter, raw = run_async(work())
    body, shown = readable(raw), asdict(letter) | {"advice": advice(letter)}
    if as_json:
        typer.echo(json.dumps(shown | {"body": body}, indent=2))
        return
    for name, value in shown.items():
        typer.echo(f"{name:16} {printable(str(value))}")
    typer.echo(printable(body if isinstance(body, str) else json.dumps(body, indent=2, ensure_ascii=False)))


@app.command("redrive", help=REDRIVE_HELP)
def redrive_command(
    sequences: Sequences = None,
    *,
    all_letters: All = False,
    yes: Yes = False,
    tenant: OfTenant = "",
    service: OfService = "",
    reason: WithReason = "",
    since: options.Since = "",
    wait_seconds: options.WaitSeconds = 60.0,
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Process dead letters again."""
    server = nats_server(nats, home)
    only = letter_filter(service, tenant, reason, since)
    letters = _chosen(server, sequences or [], only, all_letters=all_letters)
    _confirm(len(letters), "redrive", yes=yes or not all_letters)

    async def work() -> list[Redriven]:
        async with client_of(server) as client:
            return [one async for one in redrive(client, letters, wait_seconds=wait_seconds)]

    with recorded(server, "cli.dlq.redrive", _record(letters)):
        outcomes = run_async(work())
    _conclude(outcomes, as_json=as_json)


@app.command("drop", help=DROP_HELP)
def drop_command(
    sequences: Sequences = None,
    *,
    all_letters: All = False,
    yes: Yes = False,
    tenant: OfTenant = "",
    service: OfService = "",
    reason: WithReason = "",
    since: options.Since = "",
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Remove dead letters."""
    server = nats_server(nats, home)
    only = letter_filter(service, tenant, reason, since)
    letters = _chosen(server, sequences or [], only, all_letters=all_letters)
    _confirm(len(letters), "drop", yes=yes or not all_letters)

    async def work() -> list[int]:
        async with jetstream_of(server) as jetstream:
            return [one.sequence for one in letters if await remove(jetstream, one.sequence)]

    with recorded(server, "cli.dlq.drop", _record(letters)):
        dropped = run_async(work())
    typer.echo(json.dumps({"dropped": dropped}) if as_json else f"dropped {len(dropped)}")


def _listed(server: Server, only: Filter, *, limit: int, before: int | None = None) -> list[DeadLetter]:
    async def work() -> list[DeadLetter]:
        async with jetstream_of(server) as jetstream:
            return await newest(jetstream, limit=limit, before=before, only=only)

    return run_async(work())


def _chosen(server: Server, sequences: Sequence[int], only: Filter, *, all_letters: bool) -> list[DeadLetter]:
    """The letters that the arguments name; every sequence must exist."""
    if all_letters == bool(sequences):
        raise InvalidInputError("sequences", "name letters, or use --all; not both")
    if all_letters:
        return _listed(server, only, limit=MOST_LETTERS)
    if only != Filter():
        raise InvalidInputError("sequences", "--tenant, --service, --reason and --since go with --all")

    async def work() -> list[DeadLetter]:
        async with jetstream_of(server) as jetstream:
            return [(await letter_at(jetstream, one))[0] for one in dict.fromkeys(sequences)]

    return run_async(work())


def _record(letters: Sequence[DeadLetter]) -> CommandRecord:
    """Letters of no tenant count as those of all."""
    counts = Counter("" if one.tenant_id == UNKNOWN_TENANT else one.tenant_id for one in letters)
    return CommandRecord(sorted(counts), count=counts)


def _confirm(count: int, verb: str, *, yes: bool) -> None:
    if not count:
        raise NotFoundError("no dead letter matches")
    if not yes:
        typer.confirm(f"{verb} {count} dead letters?", abort=True, err=True)


def _conclude(outcomes: Sequence[Redriven], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps([asdict(outcome) for outcome in outcomes], indent=2))
    else:
        for outcome in outcomes:
            if outcome.state != "processed":
                new = f", now letter {outcome.new_letter}" if outcome.new_letter else ""
                note(f"letter {outcome.letter} {outcome.state}{new}: {outcome.reason}")
        done = sum(outcome.state == "processed" for outcome in outcomes)
        typer.echo(f"processed {done} of {len(outcomes)}")
    states = {outcome.state for outcome in outcomes}
    if states & {"refused", "not possible"}:
        raise typer.Exit(FAILED_EXIT)
    if "waiting" in states:
        raise typer.Exit(UNREACHABLE_EXIT)
