"""`helix doctor`: checks a home and its servers, explains what is wrong, and repairs what is safe.

The checks open the stores, so they are imported when the command runs: `--help` needs no engine.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

import typer

from helix_cli.clients.broker import client_of, run_async
from helix_cli.commands.common import options
from helix_cli.commands.group import help_text
from helix_cli.doctor.finding import Finding, of_shard
from helix_cli.home.addresses import Server, nats_server, query_of_shard, query_server
from helix_cli.home.folder import HomeFolder
from helix_cli.home.lock import is_starting
from helix_cli.home.record import running_record
from helix_cli.output.exit_codes import FAILED_EXIT
from helix_cli.output.terminal import note, printable
from helix_cli.security.folder import SecurityFolder
from helix_shared.errors import HelixError, TemporaryError

if TYPE_CHECKING:
    from helix_cli.doctor.generation_checks import Generations

HELP: Final = """
[bold]Examples[/bold]

  helix doctor
  helix doctor --repair
  helix doctor --json | jq '.findings[] | select(.level == "problem")'

Works while Helix runs and while it does not. It reads every file of every
generation and every id of the newest: seconds for a million memories.

--repair does what loses nothing: it provisions the streams, stores results
that were lost again, removes the record of a run that was killed, and, while
nothing runs, points CURRENT to the newest good generation. Then it checks
again.

Exit codes: 0 no problem (warnings do not count), 1 a problem, 2 usage.
"""
_MARKS: Final = {"ok": "ok      ", "note": "note    ", "warning": "warning ", "problem": "PROBLEM "}

app = typer.Typer(add_completion=False)


@app.command(help=help_text("doctor", HELP))
def doctor_command(
    *,
    repair: Annotated[bool, typer.Option("--repair", help="Repair what is safe, then check again.")] = False,
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Check, and repair if asked."""
    folder = HomeFolder.at(home)
    known = _unknown(folder)
    servers = _servers(nats, query, folder)
    findings = _examined(folder, servers, known)
    repaired = _repair(findings, folder, servers, known) if repair else []
    if repaired:
        known = _unknown(folder)
        findings = _examined(folder, servers, known)
    if as_json:
        typer.echo(
            json.dumps({"findings": [asdict(one) for one in findings], "repaired": repaired}, indent=2)
        )
    else:
        for line in repaired:
            typer.echo(f"repaired {printable(line)}")
        _print(findings)
    if any(one.level == "problem" for one in findings):
        raise typer.Exit(FAILED_EXIT)


def _unknown(home: HomeFolder) -> list[Generations]:
    """For every shard of the home, what the checks fill in."""
    from helix_cli.doctor.generation_checks import Generations  # noqa: PLC0415  see above

    return [Generations() for _ in range(home.shards)]


def _servers(nats: str, query: str, home: HomeFolder) -> tuple[Server, Server] | None:
    """NATS and the query service; None where nothing runs."""
    try:
        return nats_server(nats, home.root, wait=False), query_server(query, home.root, wait=False)
    except TemporaryError:
        return None


def _examined(
    home: HomeFolder, servers: tuple[Server, Server] | None, known: Sequence[Generations]
) -> list[Finding]:
    from helix_cli.doctor.generation_checks import generation_checks  # noqa: PLC0415  see above
    from helix_cli.doctor.home_checks import home_checks  # noqa: PLC0415
    from helix_cli.doctor.process_checks import process_checks  # noqa: PLC0415
    from helix_cli.doctor.security_checks import security_checks  # noqa: PLC0415
    from helix_cli.doctor.server_checks import broker_checks, log_checks, query_checks  # noqa: PLC0415

    findings = [*home_checks(home), *security_checks(SecurityFolder.of(home.root))]
    is_written = servers is not None or is_starting(home)
    for shard, one in enumerate(known):
        found_here = generation_checks(home.data_of(shard), one, is_written=is_written)
        findings += of_shard(shard, len(known), found_here)
    if servers is None:
        return [
            *findings,
            Finding("servers", "note", "NATS and the query service were not asked: nothing runs"),
        ]
    nats, query = servers
    record = running_record(home)

    async def ask() -> list[Finding]:
        found = await process_checks({} if record is None else record.metrics)
        found += [one async for one in broker_checks(nats)]
        if any(one.check == "nats" and one.level == "ok" for one in found):
            async with client_of(nats) as client:
                for shard, one in enumerate(known):
                    of_log = [finding async for finding in log_checks(client, home.data_of(shard), one)]
                    found += of_shard(shard, len(known), of_log)
        return found

    findings += run_async(ask())
    for shard, one in enumerate(known):
        findings += of_shard(shard, len(known), [query_checks(query_of_shard(query, shard), one, shard)])
    return findings


def _repair(
    findings: Sequence[Finding],
    home: HomeFolder,
    servers: tuple[Server, Server] | None,
    known: Sequence[Generations],
) -> list[str]:
    """Do the repairs that the findings name, each once; returns what was done, or why not."""
    from helix_cli.doctor import repairs  # noqa: PLC0415  see above

    wanted = {one.repair for one in findings if one.repair}
    done = []
    for name in sorted(wanted):
        try:
            if name == "current":
                for shard, one in enumerate(known):
                    if one.is_current_bad:
                        done.append(repairs.point_to_good(home, home.data_of(shard), one))
            elif name == "unlock":
                done.append(repairs.unlock(home))
            elif servers is not None and name == "provision":
                done.append(run_async(repairs.provision_again(servers[0])))
            elif servers is not None:
                missing = [event for one in known if one.log for event in one.log.missing]
                done.append(run_async(repairs.derive(servers[0], missing)))
        except HelixError as error:
            note(f"not repaired ({name}): {error}")
    return done


def _print(findings: Sequence[Finding]) -> None:
    for one in findings:
        typer.echo(f"{_MARKS[one.level]}{one.check:13}{printable(one.found)}")
        for label, text in (("means", one.means), ("do", one.advice)):
            if text:
                typer.echo(f"{'':8}{'':13}{label}: {printable(text)}")
