"""`helix import`: publishes folders of Markdown and transcripts of agents as events.

`sources` reads the files, `publishing` sends the events. Importing again changes nothing, because
every event id follows from the source.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from helix_cli.clients.sending import Tally
from helix_cli.commands.common import options
from helix_cli.commands.common.publishing import outcome, publish_items, summary, wait_for
from helix_cli.commands.group import help_text
from helix_cli.output.exit_codes import EXIT_CODES, FAILED_EXIT
from helix_cli.output.terminal import note
from helix_cli.sources.discover import ENDINGS, Format, Source, discover
from helix_cli.sources.items import Scope, Skipped
from helix_cli.sources.read import read_source
from helix_cli.sources.source_event import Entry, Refusal, SourceEvent
from helix_cli.stack.addresses import nats_server, query_server
from helix_shared.errors import InvalidInputError

NAMED_ENDINGS: Final = 5
"""Most endings in the note on files that are left out."""

Option = typer.Option
HELP: Final = f"""
[bold]Examples[/bold]

  helix import docs/ --tenant acme --project website
  helix import ~/.claude/projects --tenant acme --user ada
  helix import ~/.codex/sessions --tenant acme --user ada --dry-run

The format is detected for each file, unless --format names it. Importing
twice changes nothing. A Markdown file becomes one document, or several if
it is larger than an event may be. A transcript becomes the messages and
tool calls of its session; a tool output that is larger than an event may
be is shortened in its middle. A line that cannot be read is reported as
file:line. Deleting a file later does not delete its memories: publish a
tombstone for its document.

{EXIT_CODES}
"""


app = typer.Typer(add_completion=False)


@app.command(help=help_text("import", HELP))
def import_command(
    paths: Annotated[list[Path], typer.Argument(help="Files or folders.")],
    *,
    tenant: options.Tenant = "",
    user: Annotated[str, Option("--user", help="User whose private memory it becomes.")] = "",
    project: Annotated[str, Option("--project", help="Project; by default that of the transcript.")] = "",
    source_format: Annotated[Format | None, Option("--format", help="Format of every file.")] = None,
    sidechains: Annotated[
        bool, Option("--sidechains", help="Include the conversations of sub-agents.")
    ] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Count, and publish nothing.")] = False,
    in_flight: options.InFlight = 64,
    wait: options.Wait = False,
    wait_seconds: options.WaitSeconds = 600.0,
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Read and publish."""
    if not tenant:
        raise InvalidInputError("--tenant", "is missing; name the tenant of the memories, e.g. --tenant acme")
    found = discover(paths, source_format=source_format)
    sources = found.sources
    if found.left_out:
        listed = ", ".join(f"{count} {ending}" for ending, count in found.left_out.most_common(NAMED_ENDINGS))
        others = " and others" if len(found.left_out) > NAMED_ENDINGS else ""
        note(f"left out by their ending: {listed}{others}; only {', '.join(ENDINGS)} are read")
    scope = Scope(tenant, user_id=user, project_id=project, sidechains=sidechains)
    counts: Counter[str] = Counter()
    items = _counted(sources, scope, counts)
    if dry_run:
        tally = _only_counted(items)
    else:
        tally = publish_items(items, server=nats_server(nats, home), in_flight=in_flight, as_json=as_json)
    _report(tally, counts, files=len(sources), dry_run=dry_run, as_json=as_json)
    if wait and tally.last_sequence:
        wait_for(tally.last_sequence, query_server(query, home), wait_seconds, quiet=as_json)
    if tally.refusals:
        raise typer.Exit(FAILED_EXIT)


def _counted(sources: Iterable[Source], scope: Scope, counts: Counter[str]) -> Iterator[Entry]:
    """Every event of every source; what is left out is counted by its reason."""
    for source in sources:
        for item in read_source(source, scope):
            if isinstance(item, Skipped):
                counts[f"left out: {item.why}"] += 1
                continue
            if isinstance(item, SourceEvent):
                counts[f"{item.event.kind} events"] += 1
            yield item


def _only_counted(items: Iterable[Entry]) -> Tally:
    tally = Tally()
    for item in items:
        if isinstance(item, Refusal):
            note(f"refused {item}")
            tally.refusals.append(item)
    return tally


def _report(tally: Tally, counts: Counter[str], *, files: int, dry_run: bool, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(summary(tally) | {"files": files, "dry_run": dry_run, "counts": dict(counts)}))
        return
    for what, count in sorted(counts.items()):
        typer.echo(f"{count:8} {what}")
    if dry_run:
        typer.echo(f"dry run: {files} files, refused {len(tally.refusals)}, nothing published")
        return
    typer.echo(f"{files} files: {outcome(tally)}")
