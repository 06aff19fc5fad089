"""The table of commands and the command group that imports a command's module when that command runs.

The overview of `helix --help` and shell completion are made from the table and import no command.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from helix_cli.output.exit_codes import FAILED_EXIT, USAGE_EXIT, exit_code
from helix_cli.output.terminal import complain
from helix_shared.errors import HelixError, InvalidInputError


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the table: the module with the command's `app`, and its line in the overview."""

    module: str
    summary: str


COMMANDS: Final = {
    "up": Entry("operating.up", "Run all of Helix on this machine: NATS, the workers, the query service."),
    "gateway": Entry("operating.gateway", "Serve REST and MCP over HTTP; `helix up` does so already."),
    "publish": Entry("publish", "Publish events: one from options, or many as JSON lines."),
    "import": Entry(
        "import_files", "Import documents, transcripts of agents, and exports of other memory systems."
    ),
    "export": Entry("copies.export", "Export the events of tenants as JSON lines."),
    "clone": Entry("copies.clone", "Copy the memories of a tenant to another tenant."),
    "backup": Entry("copies.backup", "Back up everything while it runs, or verify backups."),
    "restore": Entry("copies.restore", "Make a backup the data of an empty home."),
    "keys": Entry("copies.keys", "Copy or rotate the keys of backups: without them no backup is readable."),
    "archive": Entry("copies.archive", "Verify the archive of events, or restore the log from it."),
    "recall": Entry("recall", "Recall the memories that answer a question."),
    "why-not": Entry("why_not", "Explain why a recall does not return a memory."),
    "mcp": Entry("mcp", "Serve the memories of one user to an agent: MCP over standard input and output."),
    "profile": Entry("profile", "Show what a user's own statements say about them."),
    "memory": Entry(
        "memory.app",
        "List and show memories and their history; correct, forget, restore, erase or pin them.",
    ),
    "erase": Entry("erase", "Erase memories for good, with a receipt; search for what is left of them."),
    "agent": Entry("agent", "Install the hooks of Claude Code, Codex and Cursor; measure what they cost."),
    "session": Entry("session", "List sessions, and show what is remembered of one."),
    "status": Entry("operating.status", "Show streams, consumers, the served generation, and its lag."),
    "graph": Entry("graph", "Show the entities with the most links, or export the graph."),
    "provision": Entry(
        "operating.provision", "Create or update streams and consumers on NATS; safe to repeat."
    ),
    "shards": Entry("operating.shards", "Show which tenant lies in which shard, and what more would change."),
    "dlq": Entry("operating.dlq", "List, show, redrive and drop dead letters: messages that were refused."),
    "audit": Entry("operating.audit", "List who recalled, listed, erased and exported, with ids and counts."),
    "doctor": Entry(
        "operating.doctor", "Check a home and its servers, explain what is wrong, repair what is safe."
    ),
    "rebuild": Entry(
        "operating.rebuild", "Make all memories again from the log: repairs or upgrades the data folder."
    ),
    "security": Entry("operating.security", "Make certificates, users of NATS and tokens; renew them."),
    "models": Entry(
        "operating.models", "List, build, import and fetch sentence encoders; change the one in use."
    ),
}
ELSEWHERE: Final = {
    "add": "publish", "remember": "publish", "retain": "publish", "save": "publish", "store": "publish",
    "ask": "recall", "query": "recall", "search": "recall", "why": "recall --explain",
    "correct": "memory correct", "forget": "memory forget", "history": "memory history", "list": "memory ls",
    "ls": "memory ls", "pin": "memory pin", "show": "memory show", "undo": "memory undo",
    "update": "memory correct", "delete": "memory forget", "remove": "memory forget", "entities": "graph",
    "hooks": "agent install", "install": "agent install", "run": "up", "serve": "up", "start": "up",
}  # fmt: skip
"""What other programs call a command, or where people look for a subcommand."""

OPTIONS: Final = {
    "scope.tenant_id": "--tenant", "scope.user_id": "--user", "scope.principals": "--principal or --acl",
    "filter.types": "--type", "filter.session_ids": "--session", "filter.project_ids": "--project",
    "filter.flags": "--flag", "filter.exclude_flags": "--exclude-flag", "speakers": "--speaker",
    "filter.event_after": "--after", "filter.event_before": "--before", "as_of": "--as-of",
    "valid_at": "--valid-at", "time_zone": "--tz", "min_seq": "--min-seq", "page_size": "--limit",
    "ranking_profile": "--profile", "page_token": "--page", "already_served": "--already-served",
}  # fmt: skip
"""The option that fills a field of the contract."""


def unknown(name: str) -> str:
    """What to say of a command that does not exist."""
    close = get_close_matches(name, [*COMMANDS, *ELSEWHERE], n=1)
    meant = ELSEWHERE.get(name) or (ELSEWHERE.get(close[0], close[0]) if close else "")
    advice = f"do you mean `helix {meant}`?" if meant else "`helix --help` lists all"
    return f"there is no {name!r}; {advice}"


class HelixGroup(TyperGroup):
    """The top command group. Prints the errors of commands and sets the exit code."""

    def __init__(self, **attributes: Any) -> None:
        """Fill the group with commands that have a name and a summary only."""
        super().__init__(**attributes)
        for name, entry in COMMANDS.items():
            self.add_command(TyperCommand(name, help=entry.summary))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that `args` name and import it.

        Raises:
            InvalidInputError: there is none; names those that may be meant.
        """
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise InvalidInputError("command", unknown(args[0]))
        name, command, rest = super().resolve_command(ctx, args)
        return name, load_command(name) if name in COMMANDS else command, rest

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        try:
            return super().invoke(ctx)
        except HelixError as error:
            complain(message_of(error))
            raise typer.Exit(exit_code(error)) from error
        except UnicodeEncodeError as error:
            # of an argument that is no UTF-8, Python makes surrogates, which no message may hold
            complain(f"{error.object!r} is not {error.encoding.upper()}")
            raise typer.Exit(USAGE_EXIT) from error
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
            raise typer.Exit(FAILED_EXIT) from error


def message_of(error: HelixError) -> str:
    """The message of an error, with the option for a field of the contract that it fills."""
    if not isinstance(error, InvalidInputError) or error.field not in OPTIONS:
        return str(error)
    return f"{OPTIONS[error.field]}: {error.reason}"


def load_command(name: str) -> Any:
    """Import the module of a command and return the command with its options."""
    app = import_module(f"helix_cli.commands.{COMMANDS[name].module}").app
    command = typer.main.get_command(app)
    command.name = name
    return command


def help_text(name: str, details: str) -> str:
    """The whole help of a command: its summary and `details`."""
    return f"{COMMANDS[name].summary}\n\n{details.strip()}\n"
