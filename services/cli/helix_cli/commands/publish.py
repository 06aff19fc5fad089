"""`helix publish`: publishes one event from options, or many from JSONL.

`sources.jsonl` reads the lines, `publishing` sends the events.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import tzinfo
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Final

import typer

from helix_cli.clients.sending import Tally
from helix_cli.commands.common import options
from helix_cli.commands.common.memory_ids import (
    ids_in,
    ids_of_no_memory,
    note_ids_of_no_memory,
    with_whole_ids,
)
from helix_cli.commands.common.publishing import Waiting, conclude, outcome, publish_items, summary
from helix_cli.commands.completion import memory_types
from helix_cli.commands.group import help_text
from helix_cli.home.addresses import Server, nats_server, query_server
from helix_cli.output.exit_codes import EXIT_CODES, FAILED_EXIT
from helix_cli.output.terminal import note
from helix_cli.output.time_zone import chosen_zone, iso_text, moment, zone_of
from helix_cli.sources.event_options import MESSAGE, named_as_typed, one_event
from helix_cli.sources.jsonl import read_events
from helix_memory.events import NO_MEMORY_KINDS, Event
from helix_memory.machine_zone import local_now
from helix_shared.errors import InvalidInputError
from helix_shared.sources.source_event import Entry, Refusal, SourceEvent

STDIN: Final = "-"
BLOCK_BYTES: Final = 1024 * 1024
_SELECTED: Final = "one of memory_ids, of_session, of_document and of_user, e.g. --set of_session=s1"
NEEDED: Final = {
    "forget": _SELECTED,
    "erase": _SELECTED,
    "undo": "the memory whose relations are taken back: --set memory_id=ID",
    "correct": "the memory and its new text: --set memory_id=ID --text TEXT",
    "feedback": "ids in helpful or unhelpful, e.g. --set 'helpful=[\"ID\"]' --set query=QUESTION",
    "session": "the session and its phase, started or ended: --session s1 --set phase=started",
}
"""What an event about existing memories or a session cannot do without, by kind."""

Option = typer.Option
HELP: Final = f"""
[bold]One event[/bold]

  helix publish --tenant acme --session s1 --text "We chose Postgres."
  helix publish --tenant acme --kind memory --type decision \\
    --text "We deploy on Tuesdays."
  helix publish --tenant acme --kind tool --set tool=bash \\
    --set command="make test" --set exit_status=2

[bold]What was said earlier[/bold]

  helix publish --tenant acme --session trip --speaker Ana \\
    --time "2026-03-02 18:30" --tz Europe/Madrid \\
    --text "We fly to Porto tomorrow."

[bold]Many[/bold] (one JSON object per line, from files or standard input)

  helix publish events.jsonl
  my-agent --log-json | helix publish --tenant acme -

The stream acknowledges every event. Publishing a file twice stores nothing
twice: an event without event_id gets one that follows from its content. The
same holds for a message, tool, memory or document from options, whose
--time belongs to its content. A forget,
an erase and the deletion of a document take effect each time, and so does
every other kind from options. Ids of no memory in an event from options are
told, `missing` with --json. The events of a session keep their order. A
bad line is reported as file:line, and the others are published; with
--strict, nothing is published unless every line is good.

{EXIT_CODES}
"""


app = typer.Typer(add_completion=False)


@app.command(help=help_text("publish", HELP))
def publish_command(
    files: Annotated[list[str] | None, typer.Argument(help="JSONL files; - is standard input.")] = None,
    *,
    tenant: options.Tenant = "",
    session: Annotated[str, Option("--session", help="Conversation or run: a token.")] = "",
    kind: Annotated[
        str,
        Option(
            "--kind", help="message, tool, memory, document, correct, forget, erase, undo, feedback, session."
        ),
    ] = MESSAGE,
    role: Annotated[
        str, Option("--role", help="user, assistant, system or tool; of a message, by default user.")
    ] = "",
    speaker: Annotated[str, Option("--speaker", help="Name of who speaks; of a message.")] = "",
    time: Annotated[
        str, Option("--time", help="When it happened, e.g. 2026-11-01T09:30; by default now.")
    ] = "",
    tz: Annotated[
        str,
        Option(
            "--tz",
            help="Time zone of --time, by default that of this machine, and of times in files without one.",
        ),
    ] = "",
    text: Annotated[str, Option("--text", help="Text of the event; the body of a document.")] = "",
    user: Annotated[str, Option("--user", help="User whose private memory it becomes.")] = "",
    project: Annotated[str, Option("--project", help="Project of the event.")] = "",
    memory_type: Annotated[
        str,
        Option("--type", help="episodic, semantic, procedural, decision, code.", autocompletion=memory_types),
    ] = "",
    title: Annotated[str, Option("--title", help="Title of a memory, document or session.")] = "",
    tag: Annotated[list[str] | None, Option("--tag", help="Label; may be repeated.")] = None,
    event_id: Annotated[str, Option("--event-id", help="Id; a second event with it is a duplicate.")] = "",
    field: Annotated[
        list[str] | None, Option("--set", help="Any other field as name=value; the value may be JSON.")
    ] = None,
    strict: Annotated[bool, Option("--strict", help="Publish nothing unless every line is good.")] = False,
    in_flight: options.InFlight = 64,
    wait: options.Wait = False,
    wait_seconds: options.WaitSeconds = 60.0,
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Read and publish."""
    happened = moment("--time", time, chosen_zone(tz))
    zone = zone_of(tz) if tz else None
    fields = {
        "session_id": session,
        "speaker": speaker,
        "occurred_at": iso_text(happened) if happened else "",
        "text": text,
        "user_id": user,
        "project_id": project,
        "type": memory_type,
        "title": title,
        "tags": tag,
        "event_id": event_id,
        "set": field,
    }
    used = [name for name, value in fields.items() if value]
    _require_used(files or [], kind=kind, role=role)
    if not files and not used and kind in NEEDED:
        raise InvalidInputError("arguments", f"{kind} needs {NEEDED[kind]}")
    if bool(files) == bool(used):
        problem = "not both" if files else "and not an empty one"
        raise InvalidInputError(
            "arguments", f"give either files (or -) or an event's options like --text, {problem}"
        )
    one: SourceEvent | None = None
    with contextlib.ExitStack() as stack:
        items: Iterable[Entry]
        if files:
            items = chain.from_iterable([_read(name, tenant, zone, stack) for name in files])
        else:
            whole = partial(with_whole_ids, server=partial(query_server, query, home))
            try:
                one = one_event(fields, tenant=tenant, kind=kind, role=role, now=local_now(), whole=whole)
            except InvalidInputError as error:
                typed = {**fields, "tenant_id": tenant, "kind": kind, "role": role}
                raise named_as_typed(error, typed) from error
            items = [one]
        if strict:
            items = _all_or_none(items, as_json=as_json)
        server = nats_server(nats, home)
        tally = publish_items(
            items,
            server=server,
            in_flight=in_flight,
            as_json=as_json,
            total=_lines(files) if files else 1,
            tracked=wait,
        )
    if tally.duplicates and not files:
        note("this event was published before; to store it again, give it an --event-id of its own")
    if not tz and any(refusal.field == "occurred_at" for refusal in tally.refusals):
        note("hint: --tz names the zone of times without an offset, e.g. --tz Europe/Berlin")
    waiting = Waiting(query_server(query, home), server, wait_seconds) if wait else None
    done = "applied" if kind in NO_MEMORY_KINDS else "recallable"
    if one is None or not ids_in(one.event):
        conclude(tally, waiting, as_json=as_json, done=done)
        return
    _conclude_with_missing(
        one.event, tally, waiting, server=partial(query_server, query, home), as_json=as_json, done=done
    )


def _conclude_with_missing(
    event: Event,
    tally: Tally,
    waiting: Waiting | None,
    *,
    server: Callable[[], Server],
    as_json: bool,
    done: str,
) -> None:
    """Conclude an event about memories, and tell which of its ids name nothing, as far as that is known.

    Raises: as `conclude`.
    """
    erased_at = tally.last_sequence if event.kind == "erase" else None

    @cache
    def missing() -> list[str] | None:
        return ids_of_no_memory(event, server, erased_at=erased_at) if tally.last_sequence else None

    def report() -> None:
        shown = summary(tally) | {"missing": missing()} if as_json else {}
        typer.echo(json.dumps(shown) if as_json else outcome(tally))

    if erased_at:
        missing()  # an erasure that is applied leaves nothing to look up
    conclude(tally, waiting, as_json=as_json, report=report, done=done)
    if ids := missing():
        note_ids_of_no_memory(ids, event.kind, user=event.user_id, waited=waiting is not None)


def _require_used(files: Sequence[str], *, kind: str, role: str) -> None:
    """Check that nothing is left out of these options.

    Raises:
        InvalidInputError: the events have no such field, or state it themselves.
    """
    if files and kind != MESSAGE:
        raise InvalidInputError("--kind", "excludes files, whose lines state their kind")
    if role and (files or kind != MESSAGE):
        reason = (
            "excludes files, whose lines state it"
            if files
            else f"must be given with a message only, not {kind}"
        )
        raise InvalidInputError("--role", reason)


def _read(name: str, tenant: str, zone: tzinfo | None, stack: contextlib.ExitStack) -> Iterator[Entry]:
    if name == STDIN:
        return read_events(sys.stdin.buffer, "stdin", tenant_id=tenant, zone=zone)
    return read_events(stack.enter_context(Path(name).open("rb")), name, tenant_id=tenant, zone=zone)


def _lines(names: list[str]) -> int | None:
    """Number of lines, for the progress bar; None where it is not known before reading."""
    if not all(Path(name).is_file() for name in names):
        return None
    total = 0
    for name in names:
        with Path(name).open("rb") as file:
            while block := file.read(BLOCK_BYTES):
                total += block.count(b"\n")
    return total


def _all_or_none(items: Iterable[Entry], *, as_json: bool) -> list[Entry]:
    read = list(items)
    refusals = [item for item in read if isinstance(item, Refusal)]
    for refusal in refusals:
        note(f"refused {refusal}")
    if refusals:
        note(f"published nothing: {len(refusals)} of {len(read)} lines are refused (--strict)")
        if as_json:
            typer.echo(json.dumps(summary(Tally(refusals=refusals))))
        raise typer.Exit(FAILED_EXIT)
    return read
