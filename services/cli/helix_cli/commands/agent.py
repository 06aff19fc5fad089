"""`helix agent`: installs and removes hooks of coding agents, and measures what a prompt waits for them."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from helix_cli.agents.connection import Connection, Installed, checked, program_text
from helix_cli.agents.hook_file import HookFile, read_hook_file
from helix_cli.agents.hosts import HOSTS, Scope
from helix_cli.agents.plugin import MARKETPLACE, PLUGIN, plugin_files, write_plugin
from helix_cli.commands.common import options
from helix_cli.commands.group import COMMANDS
from helix_cli.home.addresses import USUAL_GATEWAY_PORT
from helix_cli.home.folder import HomeFolder
from helix_cli.home.record import running_record
from helix_cli.output.exit_codes import EXIT_CODES
from helix_cli.output.terminal import note
from helix_cli.security.folder import SecurityFolder, write_secret
from helix_shared.errors import InvalidInputError
from helix_shared.sources.agents import Agent

DEFAULT_TENANT: Final = "default"
INSTALL_HELP: Final = f"""Let a coding agent recall before each prompt, and remember its sessions.

  helix agent install claude-code --tenant acme --user ana
  helix agent install codex --dry-run
  helix agent install cursor --scope project

Adds hooks to the agent's own file and keeps all else that is in it. They ask
the gateway of `helix up`; where it does not answer, the agent goes on
without. Installing again changes nothing, or what you name differently.

{EXIT_CODES}"""

PLUGIN_HELP: Final = f"""Write a plugin of Claude Code: the same hooks, and the MCP server.

  helix agent plugin --out ~/helix-plugin --tenant acme --user ana

Then, in Claude Code:

  /plugin marketplace add ~/helix-plugin
  /plugin install helix-memory@helix

The folder names no secret. Without authentication it may be given to others
who reach the same gateway. Writing it again changes what you name
differently.

{EXIT_CODES}"""

app = typer.Typer(help=COMMANDS["agent"].summary, no_args_is_help=True, add_completion=False)

Name = Annotated[Agent, typer.Argument(help="Coding agent.")]
Where = Annotated[
    Scope, typer.Option("--scope", help="For all sessions of this user, or for those of the project here.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")]
Gateway = Annotated[
    str, typer.Option("--gateway", help="Address of the gateway; by default that of the home.")
]
TokenFile = Annotated[
    Path | None, typer.Option("--token-file", help="File with the token for the gateway; not copied.")
]
CaFile = Annotated[Path | None, typer.Option("--ca-file", help="CA of the gateway's certificate.")]
User = Annotated[str, typer.Option("--user", help="User whose private memory it is.")]


@app.command("install", help=INSTALL_HELP)
def install_command(
    agent: Name,
    *,
    tenant: options.Tenant = "",
    user: User = "",
    scope: Where = Scope.USER,
    gateway: Gateway = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
    dry_run: DryRun = False,
    as_json: options.AsJson = False,
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Write the hooks, the program and its connection."""
    host, project = HOSTS[agent], _project(scope)
    url, ca_file = (gateway, ca_file) if gateway else _gateway_of(home, token_file, ca_file)
    connection = checked(Connection(agent, url, tenant or DEFAULT_TENANT, user, token_file, ca_file))
    installed = Installed.of(home, agent, project)
    file = read_hook_file(host.file(project), is_grouped=host.is_grouped)
    text = file.with_hooks(
        host.hooks(connection, installed.command), is_grouped=host.is_grouped, base=host.base or {}
    )
    facts = _facts(agent, file, text, dry_run=dry_run) | _of_connection(connection)
    if not dry_run:
        write_secret(installed.program, program_text())
        write_secret(installed.connection, connection.text())
        file.write(text)
    if as_json:
        typer.echo(json.dumps(facts))
    elif not dry_run:
        typer.echo(f"{host.title}: {'wrote' if facts['changed'] else 'nothing to change in'} {file.path}")
        typer.echo(_line(connection))
    else:
        typer.echo(facts["diff"] or "nothing to change")
    if dry_run:
        return
    if host.hint:
        note(f"hint: {host.hint}")
    if project is not None:
        note(f"hint: {file.path} names files of this machine; do not commit it")


@app.command("plugin", help=PLUGIN_HELP)
def plugin_command(
    *,
    out: Annotated[Path, typer.Option("--out", help="Folder to write; new, empty, or one of before.")],
    tenant: options.Tenant = "",
    user: User = "",
    gateway: Gateway = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
    as_json: options.AsJson = False,
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Write the plugin and its marketplace."""
    host = HOSTS[Agent.CLAUDE_CODE]
    url, ca_file = (gateway, ca_file) if gateway else _gateway_of(home, token_file, ca_file)
    named = Connection(Agent.CLAUDE_CODE, url, tenant or DEFAULT_TENANT, user, token_file, ca_file)
    connection, folder = checked(named), out.expanduser().absolute()
    changed = write_plugin(folder, plugin_files(host, connection))
    if as_json:
        facts = {"folder": str(folder), "changed": changed, "plugin": PLUGIN, "marketplace": MARKETPLACE}
        typer.echo(json.dumps(facts | _of_connection(connection)))
    else:
        typer.echo(f"{host.title}: {'wrote' if changed else 'nothing to change in'} {folder}")
        typer.echo(
            f"{_line(connection)}\n/plugin marketplace add {folder}\n/plugin install {PLUGIN}@{MARKETPLACE}"
        )
    installed = read_hook_file(host.file(None), is_grouped=host.is_grouped)
    if installed.without_hooks(is_grouped=host.is_grouped, base={}) != installed.text:
        note(f"hint: {installed.path} has the hooks, too: run `helix agent uninstall claude-code`")
    if not connection.is_plain:
        note(f"hint: {folder} names files of this machine; it works on no other")


@app.command(
    "uninstall", help=f"Remove the hooks of Helix from a coding agent, and nothing else.\n\n{EXIT_CODES}"
)
def uninstall_command(
    agent: Name,
    *,
    scope: Where = Scope.USER,
    dry_run: DryRun = False,
    as_json: options.AsJson = False,
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Remove what `install` wrote; the program stays, because other installations may use it."""
    host, project = HOSTS[agent], _project(scope)
    file = read_hook_file(host.file(project), is_grouped=host.is_grouped)
    text = file.without_hooks(is_grouped=host.is_grouped, base=host.base or {})
    facts = _facts(agent, file, text, dry_run=dry_run)
    if not dry_run:
        file.write(text)
        Installed.of(home, agent, project).connection.unlink(missing_ok=True)
    if as_json:
        typer.echo(json.dumps(facts))
    elif dry_run:
        typer.echo(facts["diff"] or "nothing to change")
    else:
        done = "removed the hooks from" if facts["changed"] else "no hooks of Helix in"
        typer.echo(f"{host.title}: {done} {file.path}")


@app.command(
    "check",
    help=f"Send prompts as the agent does; print what they wait, beside bare recalls.\n\n{EXIT_CODES}",
)
def check_command(
    agent: Name,
    *,
    scope: Where = Scope.USER,
    prompts: Annotated[
        Path | None, typer.Option("--prompts", help="File with one prompt per line; by default some of ours.")
    ] = None,
    times: Annotated[int, typer.Option("--times", min=1, max=1000, help="Number of prompts.")] = 50,
    as_json: options.AsJson = False,
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Measure the installed hooks."""
    from helix_cli.agents.timing import timed  # noqa: PLC0415  gRPC is slow to import

    host, project = HOSTS[agent], _project(scope)
    file = read_hook_file(host.file(project), is_grouped=host.is_grouped)
    lines = prompts.read_text(encoding="utf-8", errors="replace").splitlines() if prompts else []
    found = timed(
        agent, file.content, [one for one in lines if one.strip()], times=times, query=query, home=home
    )
    typer.echo(json.dumps(found.fields()) if as_json else found.table())


def _gateway_of(home: Path, token_file: Path | None, ca_file: Path | None) -> tuple[str, Path | None]:
    """Address and CA of the gateway that runs on the home, or of one with the usual port.

    Raises:
        InvalidInputError: it wants a token, and none is given.
    """
    record = running_record(HomeFolder.at(home))
    if record is None or not record.gateway_url:
        return f"http://127.0.0.1:{USUAL_GATEWAY_PORT}", ca_file
    if record.is_secured and token_file is None:
        reason = "is missing: this home checks callers; make one with `helix security token`"
        raise InvalidInputError("--token-file", reason)
    return record.gateway_url, ca_file or (SecurityFolder.of(home).ca if record.is_secured else None)


def _project(scope: Scope) -> Path | None:
    return Path.cwd() if scope is Scope.PROJECT else None


def _facts(agent: Agent, file: HookFile, text: str, *, dry_run: bool) -> dict[str, Any]:
    """For JSON: a file, whether it changes, and how, as a unified diff."""
    before, after = file.text.splitlines(keepends=True), text.splitlines(keepends=True)
    return {
        "agent": str(agent),
        "file": str(file.path),
        "dry_run": dry_run,
        "changed": text != file.text,
        "diff": "".join(difflib.unified_diff(before, after, str(file.path), str(file.path))),
    }


def _of_connection(connection: Connection) -> dict[str, str]:
    """For JSON: whom the hooks ask, and for whom."""
    return {"tenant": connection.tenant, "user": connection.user, "gateway": connection.gateway}


def _line(connection: Connection) -> str:
    """The same for people."""
    return f"tenant {connection.tenant}, user {connection.user or '(none)'}, gateway {connection.gateway}"
