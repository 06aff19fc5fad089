"""`helix publish`: one event from options, or many from JSONL.

Reading is `reading`, sending is `bulk`; this file asks, prints and waits.
"""

from __future__ import annotations

import contextlib
import functools
import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from helix_cli.clients.broker import connected_client, require_events_stream
from helix_cli.clients.bulk import send_in_bulk
from helix_cli.clients.recall_client import RecallClient
from helix_cli.clients.sending import Tally
from helix_cli.commands import options
from helix_cli.output.failure import EXIT_CODES, FAILED_EXIT, run_async
from helix_cli.output.terminal import note, progress
from helix_cli.output.time_zone import local_now
from helix_cli.sources.jsonl import event_id_of_options, read_events
from helix_cli.sources.located import Located, Refusal, from_json
from helix_shared.broker.publisher import Publisher
from helix_shared.errors import InvalidInputError

STDIN: Final = "-"
MANY: Final = 100
"""So many events are worth their rate."""
PROVISION_SECONDS: Final = 10.0
"""Between the start of NATS by `helix up` and its streams."""
BLOCK_BYTES: Final = 1024 * 1024
BODY_FIELDS: Final = {"document": "body"}
"""Where `--text` goes; `text` for every other kind."""

Option = typer.Option
HELP: Final = f"""Publish events: one from options, or many as JSON lines.

[bold]One event[/bold]

  helix publish --tenant acme --session s1 --text "We chose Postgres."
  helix publish --tenant acme --kind memory --type decision \\
    --text "We deploy on Tuesdays."
  helix publish --tenant acme --kind tool --set tool=bash \\
    --set command="make test" --set exit_status=2

[bold]Many[/bold] (one JSON object per line, from files or standard input)

  helix publish events.jsonl
  my-agent --log-json | helix publish --tenant acme -

Every event is acknowledged by the stream. Publishing the same file, or the
same message, tool, memory or document from options, twice doubles nothing:
without event_id it gets one that follows from its content. Each forget,
erase, and deletion of a document acts again, as does every other kind from
options. A session's events keep their order. A bad line is reported as
file:line and the others are published; --strict publishes all or none.

{EXIT_CODES}
"""


def publish_command(
    files: Annotated[list[str] | None, typer.Argument(help="JSONL files; - is standard input.")] = None,
    *,
    tenant: options.Tenant = "",
    session: Annotated[str, Option("--session", help="Conversation or run: a token.")] = "",
    kind: Annotated[
        str,
        Option("--kind", help="message, tool, memory, document, correct, forget, erase, feedback, session."),
    ] = "message",
    role: Annotated[str, Option("--role", help="user, assistant, system or tool.")] = "user",
    text: Annotated[str, Option("--text", help="What was said; the body of a document.")] = "",
    user: Annotated[str, Option("--user", help="Whose private memory it is.")] = "",
    project: Annotated[str, Option("--project", help="Project it belongs to.")] = "",
    memory_type: Annotated[
        str, Option("--type", help="episodic, semantic, procedural, decision, code.")
    ] = "",
    title: Annotated[str, Option("--title", help="Title of a memory, document or session.")] = "",
    tag: Annotated[list[str] | None, Option("--tag", help="Label; may be repeated.")] = None,
    event_id: Annotated[str, Option("--event-id", help="Makes the event repeatable.")] = "",
    field: Annotated[
        list[str] | None, Option("--set", help="Any other field as name=value; JSON is understood.")
    ] = None,
    strict: Annotated[bool, Option("--strict", help="Publish nothing unless every line is good.")] = False,
    in_flight: Annotated[int, Option("--in-flight", min=1, max=1024, help="Unacknowledged at once.")] = 64,
    wait: options.Wait = False,
    wait_seconds: options.WaitSeconds = 60.0,
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Publish; the help text stands in `HELP`."""
    given = {
        "session_id": session,
        "text": text,
        "user_id": user,
        "project_id": project,
        "type": memory_type,
        "title": title,
        "tags": tag,
        "event_id": event_id,
        "set": field,
    }
    single = [name for name, value in given.items() if value]
    if bool(files) == bool(single):
        raise InvalidInputError("arguments", "give either files (or -) or an event's options like --text")
    with contextlib.ExitStack() as stack:
        items: Iterable[Located | Refusal]
        if files:
            items = chain.from_iterable([_read(name, tenant, stack) for name in files])
        else:
            items = [one_event(given, tenant=tenant, kind=kind, role=role, now=local_now())]
        if strict:
            items = _all_or_none(items)
        tally = publish_items(
            items,
            server=options.nats_server(nats, home),
            in_flight=in_flight,
            as_json=as_json,
            total=_lines(files) if files else 1,
        )
    report(tally, as_json=as_json)
    if tally.duplicates and not files:
        note("this was published before; the same words a second time need an --event-id of their own")
    if wait and tally.last_sequence:
        wait_for(tally.last_sequence, options.query_server(query, home), wait_seconds, quiet=as_json)
    if tally.refusals:
        raise typer.Exit(FAILED_EXIT)


def one_event(given: dict[str, Any], *, tenant: str, kind: str, role: str, now: datetime) -> Located:
    """The event that the options describe.

    Raises:
        InvalidInputError: they break a rule of the event.
    """
    fields = {name: value for name, value in given.items() if value and name not in {"set", "text"}}
    fields |= {"kind": kind, "tenant_id": tenant}
    if given.get("text"):
        fields[BODY_FIELDS.get(kind, "text")] = given["text"]
    if kind == "message":
        fields["role"] = role
    fields |= dict(_assigned(pair) for pair in given.get("set") or [])
    # Before the time of now is filled in: what is said gets the same id whenever it is typed.
    if "event_id" not in fields:
        fields["event_id"] = event_id_of_options(fields)
    fields.setdefault("occurred_at", now.isoformat())
    item = from_json("options", json.dumps(fields).encode())
    if isinstance(item, Refusal):
        raise InvalidInputError(item.field, item.reason)
    return item


def publish_items(
    items: Iterable[Located | Refusal],
    *,
    server: options.Server,
    in_flight: int,
    as_json: bool,
    total: int | None = None,
) -> Tally:
    """Publish to `server` with a progress bar; refusals are reported on standard error as they come.

    When the server goes away, what was acknowledged until then is reported before the error.
    """
    tally = Tally()
    started = time.monotonic()

    async def work() -> None:
        async with connected_client(server.address, instance=server.instance) as client:
            jetstream = client.jetstream()
            await require_events_stream(jetstream, wait_seconds=PROVISION_SECONDS if server.instance else 0.0)
            publisher = Publisher(jetstream)
            together = functools.partial(publisher.publish_together, client)
            with progress() as bar:
                task = bar.add_task("publishing", total=total)

                def answered(item: Located | Refusal) -> None:
                    if isinstance(item, Refusal):
                        note(f"refused {item}")
                    bar.advance(task)

                await send_in_bulk(
                    items,
                    publisher.publish_event,
                    together,
                    tally=tally,
                    in_flight=in_flight,
                    answered=answered,
                )
                # Blank lines were counted ahead, but are no events.
                bar.update(task, total=bar.tasks[task].completed)

    try:
        run_async(work())
    except BaseException:
        tally.seconds = time.monotonic() - started
        if tally.last_sequence:
            report(tally, as_json=as_json)
            note("not all was published; publish the same again, what is there already is not doubled")
        raise
    tally.seconds = time.monotonic() - started
    return tally


def report(tally: Tally, *, as_json: bool) -> None:
    """What became of the events, on standard output."""
    if as_json:
        typer.echo(json.dumps(summary(tally)))
        return
    typer.echo(outcome(tally))


def outcome(tally: Tally) -> str:
    """The tally for people; many events end with their time and rate."""
    line = (
        f"published {tally.published}, duplicates {tally.duplicates}, refused {len(tally.refusals)}, "
        f"last sequence {tally.last_sequence}"
    )
    sent = tally.published + tally.duplicates
    if sent < MANY:
        return line
    return f"{line} ({tally.seconds:.1f} s, {sent / max(tally.seconds, 1e-3):.0f} events/s)"


def summary(tally: Tally) -> dict[str, Any]:
    """The tally for programs."""
    return {
        "published": tally.published,
        "duplicates": tally.duplicates,
        "refused": [asdict(refusal) for refusal in tally.refusals],
        "last_sequence": tally.last_sequence,
        "seconds": round(tally.seconds, 3),
    }


def wait_for(sequence: int, server: options.Server, wait_seconds: float, *, quiet: bool) -> None:
    """Wait until `sequence` can be recalled, with a progress bar, and say so.

    Raises:
        TemporaryError: it did not come to that in time; nothing that was published is lost.
    """
    with RecallClient(server.address, instance=server.instance) as client, progress() as bar:
        task = bar.add_task("becoming recallable", total=sequence)
        reached = client.wait_until_applied(
            sequence, wait_seconds=wait_seconds, seen=lambda applied: bar.update(task, completed=applied)
        )
    if not quiet:
        typer.echo(f"recallable in generation {reached.generation}")


def _read(name: str, tenant: str, stack: contextlib.ExitStack) -> Iterator[Located | Refusal]:
    if name == STDIN:
        return read_events(sys.stdin.buffer, "stdin", tenant_id=tenant)
    return read_events(stack.enter_context(Path(name).open("rb")), name, tenant_id=tenant)


def _lines(names: list[str]) -> int | None:
    """How many lines are to be sent, for the progress bar; None where that cannot be known before."""
    if not all(Path(name).is_file() for name in names):
        return None
    total = 0
    for name in names:
        with Path(name).open("rb") as file:
            while block := file.read(BLOCK_BYTES):
                total += block.count(b"\n")
    return total


def _all_or_none(items: Iterable[Located | Refusal]) -> list[Located | Refusal]:
    read = list(items)
    refusals = [item for item in read if isinstance(item, Refusal)]
    for refusal in refusals:
        note(f"refused {refusal}")
    if refusals:
        note(f"published nothing: {len(refusals)} of {len(read)} lines are refused (--strict)")
        raise typer.Exit(FAILED_EXIT)
    return read


def _assigned(pair: str) -> tuple[str, Any]:
    name, equals, value = pair.partition("=")
    if not equals:
        raise InvalidInputError("--set", f"{pair!r} must read name=value")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
