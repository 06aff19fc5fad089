"""`helix recall`: asks questions and prints the memories as a table, as a prompt, or as JSON.

gRPC is imported when the request is sent, so that `--help` and a usage error are quick.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table

from helix_cli.commands.common import options, query_options
from helix_cli.commands.common.deep import ask_deep, print_deep
from helix_cli.commands.common.hints import note_hints
from helix_cli.commands.common.memory_ids import take_whole_ids
from helix_cli.commands.group import help_text, message_of
from helix_cli.home.addresses import deep_server, nats_server, query_server
from helix_cli.home.served import wait_until_served
from helix_cli.output.dates import happened_on, window_days
from helix_cli.output.exit_codes import EXIT_CODES, exit_code
from helix_cli.output.explanation import SHOWN, print_explanation, print_waterfall
from helix_cli.output.terminal import (
    ID_CHARACTERS,
    complain,
    note,
    one_line,
    plain,
    print_message,
    printable,
    stdout,
)
from helix_cli.output.time_zone import zone_of
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import HelixError, InvalidInputError

if TYPE_CHECKING:
    from datetime import tzinfo

SHOWN_CHARACTERS: Final = 280
GUESSED: Final = "?"
"""Follows a date that the text of its memory states incompletely."""

Option = typer.Option
HELP: Final = f"""
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
  helix recall "which glaze would suit me?" --tenant acme --user ana --deep

One call takes up to 16 questions and answers them from one generation; --json
prints an object for each, with `error` for one that is refused.

--min-seq takes the sequence that `helix publish` printed. The recall waits
for that event until its deadline; without it the answer is marked as stale.

--tz is the time zone of all dates: of "today" and "in January" in a question,
of --after, --before, --as-of and --valid-at without a time zone, and of the dates shown.
By default it is that of this machine (TZ, else /etc/localtime). The date of
the event that a memory describes is the same in every zone.
A date with "?" is a guess: the text of the memory does not state it fully.

--deep lets a language model help, which takes seconds: it rewrites the
question, and orders what is found. Without a model, or where it fails, the
answer is the plain one, and says what was left out. See `helix up --help`.

The command ends with 0 also when nothing is found.

{EXIT_CODES}
"""


app = typer.Typer(add_completion=False)


@app.command(help=help_text("recall", HELP))
@query_options.with_query_options
def recall_command(
    request: recall_pb2.RecallRequest,
    *,
    more_questions: Annotated[
        list[str] | None, typer.Argument(help="More questions, at most 16 in all.")
    ] = None,
    min_seq: Annotated[
        int, Option("--min-seq", min=0, max=2**64 - 1, help="Wait for the event with this sequence.")
    ] = 0,
    explain: Annotated[bool, Option("--explain", help="Show how every candidate got its rank.")] = False,
    packed: Annotated[bool, Option("--packed", help="Print the context for a prompt.")] = False,
    deep: Annotated[bool, Option("--deep", help="Let a language model help; takes seconds.")] = False,
    deep_seconds: Annotated[
        float | None, Option("--deep-seconds", min=0.1, max=600, help="Longest wait of --deep.")
    ] = None,
    deep_address: options.Deep = "",
    full: Annotated[bool, Option("--full", help="Print whole texts, and every candidate.")] = False,
    as_json: options.AsJson = False,
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Ask and print."""
    from helix_cli.home.query_client import query_client  # noqa: PLC0415  gRPC is slow to import

    _require_used(packed=packed, explain=explain, as_json=as_json, deep=deep, deep_seconds=deep_seconds)
    request.min_seq = min_seq
    _explain(request, wanted=explain, every=full or as_json)
    server = query_server(query, home)
    take_whole_ids(request, server)
    requests = [request, *(_with_question(question, request) for question in more_questions or ())]
    with query_client(server) as client:
        if not query:
            wait_until_served(client, nats_server("", home))
        zone = zone_of(request.time_zone)
        print_table = partial(_print_table, full=full, zone=zone)
        print_reply = print_message if as_json else _print_packed if packed else print_table
        if deep:
            result = ask_deep(deep_server(deep_address, home), requests, seconds=deep_seconds)
            print_deep(result, None if as_json else print_reply, with_summary=not packed)
            return
        replies = client.recall_many(requests) if more_questions else (client.recall(request),)
        for number, (sent, reply) in enumerate(zip(requests, replies, strict=True)):
            if more_questions and packed and not as_json:
                typer.echo("\n" * (number > 0) + printable(" ".join(sent.query.split())))
            elif more_questions and not as_json:
                stdout().print(plain(f"\n{printable(sent.query)}"), style="bold")
            if isinstance(reply, HelixError):
                complain(f"{printable(sent.query)}: {message_of(reply)}")
                if as_json:
                    typer.echo(json.dumps({"error": message_of(reply)}, indent=2))
                continue
            print_reply(reply)
            if not as_json:
                note_hints(client, sent, reply, zone)
    failed = [reply for reply in replies if isinstance(reply, HelixError)]
    if failed:
        raise typer.Exit(max(map(exit_code, failed)))


def _require_used(
    *, packed: bool, explain: bool, as_json: bool, deep: bool, deep_seconds: float | None
) -> None:
    """Check that no option goes without effect.

    Raises:
        InvalidInputError: another option decides what is printed, or a needed one is missing.
    """
    if packed and (as_json or explain):
        raise InvalidInputError("--packed", f"excludes {'--json' if as_json else '--explain'}")
    if deep_seconds is not None and not deep:
        raise InvalidInputError("--deep-seconds", "belongs to --deep")


def _explain(request: recall_pb2.RecallRequest, *, wanted: bool, every: bool) -> None:
    """Have the candidates explained that are printed: the first ones, unless `every` one is."""
    request.explain = wanted
    if wanted and not every:
        request.explained_candidates = SHOWN


def _with_question(question: str, request: recall_pb2.RecallRequest) -> recall_pb2.RecallRequest:
    copy = recall_pb2.RecallRequest()
    copy.CopyFrom(request)
    copy.query = question
    return copy


def route_line(route: recall_pb2.Route, zone: tzinfo) -> str:
    """The routing decision for people; days are those of `zone`."""
    parts = ["skipped: the question needs no memory" if route.skipped else ", ".join(route.intents) or "what"]
    if route.HasField("window_start") or route.HasField("window_end"):
        parts.append(window_days(route, zone))
    if route.reason:
        parts.append(route.reason)
    return printable("; ".join(parts))


def _print_packed(reply: recall_pb2.RecallResponse) -> None:
    console = stdout()
    text = reply.context.text
    typer.echo(printable(text) if console.is_terminal else text)
    if reply.abstained:
        note(f"nothing packed: {reply.abstained_because}")
    elif reply.memories and not text.strip():
        note("nothing packed: no memory fits the token budget; give a larger --budget")


def _print_table(reply: recall_pb2.RecallResponse, *, full: bool, zone: tzinfo) -> None:
    console, characters = stdout(), 0 if full else SHOWN_CHARACTERS
    if reply.memories:
        console.print(_table(reply, characters=characters, zone=zone))
        if any(found.memory.event_guessed for found in reply.memories):
            console.print(plain(f"dates with {GUESSED} are guesses: the text does not state them fully"))
    else:
        because = f": {reply.abstained_because}" if reply.abstained else ""
        console.print(plain(f"nothing found{because}"))
    if reply.HasField("explanation"):
        print_explanation(console, reply.explanation, full=not characters)
        print_waterfall(console, reply)
    console.print(plain(f"route       {route_line(reply.route, zone)}"))
    if reply.HasField("relevance"):
        because = f"; nothing packed: {reply.abstained_because}" if reply.abstained and reply.memories else ""
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
    # A score has a meaning within one answer only; a probability is shown instead where there is one.
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
        flags = f" (flagged: {', '.join(memory.flags)})" if memory.flags else ""
        text += flags + _replaced(memory, zone)
        table.add_row(str(found.rank), value, plain(memory.type), when, plain(text))
    return table


def _replaced(memory: recall_pb2.Memory, zone: tzinfo) -> str:
    """Since when another memory holds in its place, and the beginning of that one's id."""
    if not memory.superseded_by:
        return ""
    since = f" {memory.valid_to.ToDatetime(zone):%Y-%m-%d}" if memory.HasField("valid_to") else ""
    return f" (replaced{since} by {memory.superseded_by[:ID_CHARACTERS]})"
