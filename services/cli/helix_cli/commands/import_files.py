"""`helix import`: publishes documents, transcripts of agents and exports of memory systems as events.

`sources` reads the files, `publishing` sends the events. Importing again changes nothing, because
every event id follows from the source.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from helix_cli.clients.sending import Tally
from helix_cli.commands.common import options
from helix_cli.commands.common.publishing import Waiting, conclude, outcome, publish_items, summary
from helix_cli.commands.copies.taking import export_among, report_checked, report_taken, take
from helix_cli.commands.group import help_text
from helix_cli.home.addresses import nats_server, query_server
from helix_cli.home.folder import HomeFolder
from helix_cli.output.exit_codes import EXIT_CODES
from helix_cli.output.terminal import note, printable
from helix_cli.sources.discover import Found, Source, discover
from helix_cli.sources.documents.content import READERS
from helix_cli.sources.documents.formats import Format
from helix_cli.sources.documents.tails import FOLDER, DocumentRun, Tails
from helix_cli.sources.read import read_source
from helix_memory.events import DocumentEvent
from helix_shared.errors import InvalidInputError
from helix_shared.sources.items import SkippedPart, SourceScope
from helix_shared.sources.source_event import Entry, Refusal, SourceEvent

NAMED_ENDINGS: Final = 5
"""Most endings in the note on files that are left out."""
LISTED_DOCUMENTS: Final = 10
"""Most documents whose ids are printed; `--json` has all."""
PUBLISHED_BEFORE: Final = (
    "duplicates were published before and change nothing; a document that was deleted since stays deleted: "
    "to get it back, `touch` its file and import it again"
)
"""The id of a document's event follows from the time of its file, too."""
KINDS: Final = (
    "Markdown, plain text, HTML, PDF, source code (Python, JavaScript,\n"
    "TypeScript, Go, Rust, Java), transcripts of Claude Code, Codex and Cursor,\n"
    "and what mem0, Zep, Hindsight, server-memory and basic-memory export"
)

Option = typer.Option
HELP: Final = f"""
[bold]Examples[/bold]

  helix import docs/ --tenant acme --project website
  helix import ~/.claude/projects --tenant acme --user ada
  helix import ~/.codex/sessions --tenant acme --user ada --dry-run
  helix import offer.pdf page.html --tenant acme --wait
  helix import memories_export_ada.zip --from mem0 --tenant acme
  helix import ~/notes --from basic-memory --tenant acme --user ada
  helix import acme.jsonl --wait

Reads {KINDS}.
The format is detected for each file by its ending and
what it holds, unless --from names it. Importing twice changes nothing;
a file that has changed replaces its document. A file becomes one document,
or several if it is larger than an event may be; those that it no longer has
are deleted, if it was imported with the same --home. A transcript becomes the
messages and tool calls of its session; a tool output that is larger than
an event may be is shortened in its middle. A file or line that cannot be
read is reported by its name, and the others are published.

The id of a document is the path of its file from the named folder on, or
from --root on; for a file alone, from its own folder on. So name the same
folder each time, or give --root:

  helix import docs/sales/offer.pdf --root docs --tenant acme

Deleting a file later does not delete its memories; this does:

  helix publish --tenant acme --kind document \\
    --set document_id=docs/sales/offer.pdf --set deleted=true

To get it back, `touch` the file and import it again: the same content with
the same time is what was published before, and changes nothing.

[bold]From other memory systems[/bold]

  mem0           what get_all, history or an export gives; OpenMemory's zip
  zep            what `zepctl ... -o json` prints, rows of Graphiti's graph
  hindsight      what memories/list gives; the zip of a bank or of documents
  server-memory  memory.jsonl of the MCP server
  basic-memory   the notes: Markdown with their front matter

Memories keep the time they were made, their user, session, project and tags.
A text that changed becomes a correction; a fact that ended is valid until
then; what was archived or invalidated is forgotten, and `helix memory
restore` shows it. Importing a newer export brings only what changed. --user
and --project replace those of the export. In a folder, the files of mem0,
zep and hindsight are read only with --from.

An export of `helix export`, also compressed with gzip, brings events with
their ids and times. All its lines are checked before anything is published. It needs no --tenant; with
another one than its own, its events become those of that tenant.

{EXIT_CODES}
"""


app = typer.Typer(add_completion=False)


@app.command(help=help_text("import", HELP))
def import_command(
    paths: Annotated[list[Path], typer.Argument(help="Files or folders.")],
    *,
    tenant: options.Tenant = "",
    user: Annotated[str, Option("--user", help="User whose private memory it becomes.")] = "",
    project: Annotated[str, Option("--project", help="Project; by default that of the file.")] = "",
    source_format: Annotated[
        Format | None, Option("--from", "--format", help="Format or memory system of every file.")
    ] = None,
    root: Annotated[
        Path | None, Option("--root", help="Folder with which the ids of documents begin; see above.")
    ] = None,
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
    with export_among(paths) as export:
        if export is not None and not dry_run:
            server = nats_server(nats, home)
            taken = take(export, tenant=tenant, server=server, tracked=wait, name=str(paths[0]))
            waiting = Waiting(query_server(query, home), server, wait_seconds) if wait else None
            report = partial(report_taken, taken, as_json=as_json)
            conclude(taken.tally, waiting, as_json=as_json, report=report)
            return
        if export is not None:
            report_checked(export, name=str(paths[0]), as_json=as_json)
            return
    if not tenant:
        raise InvalidInputError("--tenant", "is missing; name the tenant of the memories, e.g. --tenant acme")
    found = discover(paths, source_format=source_format, root=root)
    sources = found.sources
    _note_left_out(found)
    scope = SourceScope(tenant, user_id=user, project_id=project, sidechains=sidechains)
    counts: Counter[str] = Counter()
    documents: list[str] = []
    tails = Tails(HomeFolder.at(home).root / FOLDER, scope)
    items = _counted(sources, scope, counts, documents, tails)
    waiting = None
    if dry_run:
        tally = _only_counted(items)
    else:
        server = nats_server(nats, home)
        tally = publish_items(items, server=server, in_flight=in_flight, as_json=as_json, tracked=wait)
        _save(tails)
        waiting = Waiting(query_server(query, home), server, wait_seconds) if wait else None
        if tally.duplicates and documents:
            note(PUBLISHED_BEFORE)
    show = partial(_report, tally, counts, documents, files=len(sources), dry_run=dry_run, as_json=as_json)
    conclude(tally, waiting, as_json=as_json, report=show)


def _save(tails: Tails) -> None:
    try:
        tails.save()
    except OSError as error:
        note(f"if a large file shrinks, its last parts will stay: {error}")


def _note_left_out(found: Found) -> None:
    if found.left_out:
        listed = ", ".join(f"{count} {ending}" for ending, count in found.left_out.most_common(NAMED_ENDINGS))
        others = " and others" if len(found.left_out) > NAMED_ENDINGS else ""
        note(f"left out by their ending: {listed}{others}; read are {' '.join(KINDS.split())}")
    if found.installed:
        note(f"left out folders of installed packages and caches: {found.installed}")


def _counted(
    sources: Iterable[Source], scope: SourceScope, counts: Counter[str], documents: list[str], tails: Tails
) -> Iterator[Entry]:
    """Every event of every source; counts what is left out by its reason, and notes the ids of documents."""
    for source in sources:
        run = DocumentRun(tails, source.name if source.format in READERS else "")
        for item in read_source(source, scope):
            if isinstance(item, SkippedPart):
                counts[f"left out: {item.why}"] += 1
                continue
            yield from _deleted(run.take(item), counts)
            if isinstance(item, SourceEvent):
                counts[f"{item.event.kind} events"] += 1
                if isinstance(item.event, DocumentEvent):
                    documents.append(item.event.document_id)
            yield item
        yield from _deleted(run.end(), counts)


def _deleted(deletions: Iterable[Entry], counts: Counter[str]) -> Iterator[Entry]:
    for deletion in deletions:
        counts["deleted: parts that a file no longer has"] += 1
        yield deletion


def _only_counted(items: Iterable[Entry]) -> Tally:
    tally = Tally()
    for item in items:
        if isinstance(item, Refusal):
            note(f"refused {item}")
            tally.refusals.append(item)
    return tally


def _report(
    tally: Tally, counts: Counter[str], documents: list[str], *, files: int, dry_run: bool, as_json: bool
) -> None:
    if as_json:
        details = {"files": files, "dry_run": dry_run, "counts": dict(counts), "documents": documents}
        typer.echo(json.dumps(summary(tally) | details))
        return
    for document_id in documents if len(documents) <= LISTED_DOCUMENTS else ():
        typer.echo(f"document {printable(document_id)}")
    for what, count in sorted(counts.items()):
        typer.echo(f"{count:8} {what}")
    if dry_run:
        typer.echo(f"dry run: {files} files, refused {len(tally.refusals)}, nothing published")
        return
    typer.echo(f"{files} files: {outcome(tally)}")
