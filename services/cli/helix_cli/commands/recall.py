"""`helix recall`: ask a question and read the answer as a table, as a prompt, or as JSON."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import typer
from google.protobuf import json_format  # type: ignore[import-untyped] # stubs are a namespace package
from rich.table import Table

from helix_cli.clients.recall_client import RecallClient
from helix_cli.commands import options, query_options
from helix_cli.output.dates import happened_on, window_days
from helix_cli.output.explained import print_explanation, print_waterfall
from helix_cli.output.failure import EXIT_CODES, exit_code
from helix_cli.output.terminal import complain, one_line, plain, printable, stdout
from helix_cli.output.time_zone import zone_of
from helix_cli.stack.readiness import wait_until_served
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import HelixError

if TYPE_CHECKING:
    from datetime import tzinfo

SHOWN_CHARACTERS: Final = 280
GUESSED: Final = "?"
"""Stands behind a date that the text of its memory leaves to a default."""

Option = typer.Option
HELP: Final = f"""Recall the memories that answer a question.

[bold]Examples[/bold]

  helix recall "which database did we choose?" --tenant acme
  helix recall "what failed?" --tenant acme --type code --after 2026-11-01
  helix recall "how do we deploy?" --tenant acme --packed | my-agent
  helix recall "when is the launch?" --tenant acme --top-k 3 --json
  helix recall "where do we deploy?" --tenant acme --as-of 2026-11-01
  helix recall "where do we deploy?" --tenant acme --explain
  helix recall "what did I just say?" --tenant acme --min-seq 42
  helix recall "who is on call?" "what broke?" --tenant acme
  helix recall "what did I do today?" --tenant acme --tz Europe/Berlin

Up to 16 questions are asked at once and answered from one generation.

--min-seq takes the sequence that `helix publish` printed: the answer waits
for that event as long as it may, and says so if it came too early.

"Today", "last Friday" and "in January" are read in the time zone of --tz, by
default that of this machine (TZ, else /etc/localtime). So are dates without a
time zone in --after, --before and --as-of, and so are the dates shown; the day
a memory speaks of is the same date in every zone.
A date with "?" behind it is a guess: the text of that memory does not say
which one it means.

Finding nothing is an answer, too, and ends with 0.

{EXIT_CODES}
"""


@query_options.asks
def recall_command(
    request: recall_pb2.RecallRequest,
    *,
    further: Annotated[list[str] | None, typer.Argument(help="More questions, at most 16 in all.")] = None,
    min_seq: Annotated[
        int, Option("--min-seq", min=0, max=2**64 - 1, help="Wait for the event of this sequence.")
    ] = 0,
    explain: Annotated[bool, Option("--explain", help="Show how every candidate came to its rank.")] = False,
    packed: Annotated[bool, Option("--packed", help="Print the context for a prompt.")] = False,
    full: Annotated[bool, Option("--full", help="Print whole texts, and every candidate.")] = False,
    as_json: options.AsJson = False,
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Recall; the help text stands in `HELP`."""
    request.min_seq, request.explain = min_seq, explain
    requests = [request, *(_asking(question, request) for question in further or ())]
    at = options.query_server(query, home)
    with RecallClient(at.address, instance=at.instance) as client:
        if not query:
            wait_until_served(client, options.nats_server("", home))
        replies = client.recall_many(requests) if further else (client.recall(request),)
    shown = partial(_print_table, full=full, zone=zone_of(request.time_zone))
    printing = _print_json if as_json else _print_packed if packed else shown
    for asked, reply in zip(requests, replies, strict=True):
        if further and not (as_json or packed):
            stdout().print(plain(f"\n{printable(asked.query)}"), style="bold")
        if isinstance(reply, HelixError):
            complain(f"{printable(asked.query)}: {reply}")
        else:
            printing(reply)
    failed = [reply for reply in replies if isinstance(reply, HelixError)]
    if failed:
        raise typer.Exit(max(map(exit_code, failed)))


def _asking(question: str, like: recall_pb2.RecallRequest) -> recall_pb2.RecallRequest:
    request = recall_pb2.RecallRequest()
    request.CopyFrom(like)
    request.query = question
    return request


def route_line(route: recall_pb2.Route, zone: tzinfo) -> str:
    """What the router made of the question, for people; days are those of `zone`."""
    parts = ["skipped: the question needs no memory" if route.skipped else ", ".join(route.intents) or "what"]
    if route.HasField("window_start") or route.HasField("window_end"):
        parts.append(window_days(route, zone))
    if route.reason:
        parts.append(route.reason)
    return printable("; ".join(parts))


def _print_json(reply: recall_pb2.RecallResponse) -> None:
    typer.echo(json_format.MessageToJson(reply, preserving_proto_field_name=True))


def _print_packed(reply: recall_pb2.RecallResponse) -> None:
    console = stdout()
    text = reply.context.text
    typer.echo(printable(text) if console.is_terminal else text)
    if reply.abstained:
        typer.echo(f"nothing packed: {reply.abstained_because}", err=True)


def _print_table(reply: recall_pb2.RecallResponse, *, full: bool, zone: tzinfo) -> None:
    console, characters = stdout(), 0 if full else SHOWN_CHARACTERS
    if reply.memories:
        console.print(_table(reply, characters=characters, zone=zone))
        if any(found.memory.event_guessed for found in reply.memories):
            console.print(
                plain(f"dates with {GUESSED} are guesses: the text does not say which one it means")
            )
    else:
        console.print("nothing found")
    if reply.HasField("explanation"):
        print_explanation(console, reply.explanation, all_of_them=not characters)
        print_waterfall(console, reply)
    console.print(plain(f"route       {route_line(reply.route, zone)}"))
    if reply.HasField("relevance"):
        because = f"; nothing packed: {reply.abstained_because}" if reply.abstained else ""
        console.print(plain(f"relevance   {reply.relevance:.2f}{because}"))
    times = "  ".join(f"{stage.stage} {stage.milliseconds:.1f}" for stage in reply.stages)
    console.print(plain(f"times (ms)  total {reply.total_milliseconds:.1f}  {times}"))
    degraded = f"; without {', '.join(reply.degraded)}" if reply.degraded else ""
    stale = f"; stale, wanted sequence {reply.wanted_sequence}" if reply.stale else ""
    console.print(
        plain(
            f"generation  {reply.generation}, applied to sequence {reply.applied_sequence}, "
            f"ranking profile {reply.ranking_profile}{degraded}{stale}"
        )
    )


def _table(reply: recall_pb2.RecallResponse, *, characters: int, zone: tzinfo) -> Table:
    # Scores only order one answer. Probabilities can be read, so they are shown where there are any.
    judged = all(found.HasField("relevance") for found in reply.memories)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("rank", "relevance" if judged else "score"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("type", "date"):
        table.add_column(name, no_wrap=True)
    table.add_column("memory", overflow="fold", ratio=1)
    for found in reply.memories:
        memory = found.memory
        text = one_line(memory.text, characters=characters) if characters else memory.text
        when = happened_on(memory, zone) + (GUESSED if memory.event_guessed else "")
        value = f"{found.relevance:.2f}" if judged else f"{found.score:.3f}"
        table.add_row(str(found.rank), value, plain(memory.type), when, plain(text))
    return table
