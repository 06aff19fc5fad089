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
    repaired = _repair(findings, folder, servers[0], known) if repair else []
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


def _servers(nats: str, query: str, home: HomeFolder) -> tuple[Server | None, Server | None]:
    """NATS and the query service; None for one that is not named and of which nothing runs on the home."""
    found: list[Server | None] = []
    for of_home, option in ((nats_server, nats), (query_server, query)):
        try:
            found.append(of_home(option, home.root, wait=False))
        except TemporaryError:
            found.append(None)
    return found[0], found[1]


def _examined(
    home: HomeFolder, servers: tuple[Server | None, Server | None], known: Sequence[Generations]
) -> list[Finding]:
    from helix_cli.doctor.generation_checks import generation_checks  # noqa: PLC0415  see above
    from helix_cli.doctor.home_checks import home_checks  # noqa: PLC0415
    from helix_cli.doctor.security_checks import security_checks  # noqa: PLC0415
    from helix_cli.doctor.server_checks import query_checks  # noqa: PLC0415

    findings = [*home_checks(home), *security_checks(SecurityFolder.of(home.root))]
    nats, query = servers
    is_written = any(servers) or is_starting(home)
    for shard, one in enumerate(known):
        found_here = generation_checks(home.data_of(shard), one, is_written=is_written)
        findings += of_shard(shard, len(known), found_here)
    findings += run_async(_asked(home, nats, known))
    if query is not None:
        for shard, one in enumerate(known):
            served = [query_checks(query_of_shard(query, shard), one, shard)]
            findings += of_shard(shard, len(known), served)
    left = [name for name, one in (("NATS", nats), ("the query service", query)) if one is None]
    if left:
        verb = "were" if len(left) > 1 else "was"
        found = f"{' and '.join(left)} {verb} not asked: nothing runs"
        findings.append(Finding("servers", "note", found))
    return findings


async def _asked(home: HomeFolder, nats: Server | None, known: Sequence[Generations]) -> list[Finding]:
    """What the processes of a `helix up` and NATS say."""
    from helix_cli.doctor.process_checks import process_checks  # noqa: PLC0415  see above
    from helix_cli.doctor.server_checks import broker_checks, log_checks  # noqa: PLC0415

    record = running_record(home)
    found = await process_checks({} if record is None else record.metrics)
    if nats is None:
        return found
    found += [one async for one in broker_checks(nats)]
    if any(one.check == "nats" and one.level == "ok" for one in found):
        async with client_of(nats) as client:
            for shard, one in enumerate(known):
                of_log = [finding async for finding in log_checks(client, home.data_of(shard), one)]
                found += of_shard(shard, len(known), of_log)
    return found


def _repair(
    findings: Sequence[Finding], home: HomeFolder, nats: Server | None, known: Sequence[Generations]
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
            elif nats is not None and name == "provision":
                done.append(run_async(repairs.provision_again(nats)))
            elif nats is not None:
                missing = [event for one in known if one.log for event in one.log.missing]
                done.append(run_async(repairs.derive(nats, missing)))
        except HelixError as error:
            note(f"not repaired ({name}): {error}")
    return done


def _print(findings: Sequence[Finding]) -> None:
    for one in findings:
        typer.echo(f"{_MARKS[one.level]}{one.check:13}{printable(one.found)}")
        for label, text in (("means", one.means), ("do", one.advice)):
            if text:
                typer.echo(f"{'':8}{'':13}{label}: {printable(text)}")
