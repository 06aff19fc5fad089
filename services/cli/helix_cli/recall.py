"""`helix recall`: ask a question and read the answer as a table, as a prompt, or as JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer
from google.protobuf import json_format  # type: ignore[import-untyped] # stubs are a namespace package
from rich.table import Table

from helix.recall.v1 import recall_pb2
from helix_cli import options
from helix_cli.failure import EXIT_CODES
from helix_cli.recall_client import RecallClient
from helix_cli.terminal import one_line, plain, printable, stdout
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from google.protobuf.timestamp_pb2 import Timestamp  # type: ignore[import-untyped] # likewise

SHOWN_CHARACTERS: Final = 280

Option = typer.Option
HELP: Final = f"""Recall the memories that answer a question.

[bold]Examples[/bold]

  helix recall "which database did we choose?" --tenant acme
  helix recall "what failed?" --tenant acme --type code --after 2026-11-01
  helix recall "how do we deploy?" --tenant acme --packed | my-agent
  helix recall "when is the launch?" --tenant acme --top-k 3 --json

A date without a time zone is UTC. Finding nothing is an answer, too, and ends with 0.

{EXIT_CODES}
"""


class Mode(StrEnum):
    """Which channels look for candidates."""

    DENSE = "dense"
    HYBRID = "hybrid"
    AUTO = "auto"


def recall_command(
    question: Annotated[str, typer.Argument(help="The question, in your own words.")],
    *,
    tenant: options.Tenant = "",
    user: Annotated[str, Option("--user", help="Sees this user's memories, too.")] = "",
    principal: Annotated[list[str] | None, Option("--principal", help="Group or role of the caller.")] = None,
    project: Annotated[list[str] | None, Option("--project", help="Only of this project.")] = None,
    prefer_project: Annotated[str, Option("--prefer-project", help="The project asked from.")] = "",
    session: Annotated[list[str] | None, Option("--session", help="Only of this session.")] = None,
    memory_type: Annotated[list[str] | None, Option("--type", help="Only of this memory type.")] = None,
    after: Annotated[str, Option("--after", help="Happened at or after, e.g. 2026-11-01.")] = "",
    before: Annotated[str, Option("--before", help="Happened before.")] = "",
    top_k: Annotated[int | None, Option("--top-k", help="How many memories, 1 to 200.")] = None,
    budget: Annotated[int | None, Option("--budget", help="Tokens of the packed context.")] = None,
    profile: Annotated[str, Option("--profile", help="Ranking profile.")] = "",
    mode: Annotated[Mode, Option("--mode", help="Which channels look.")] = Mode.HYBRID,
    never_skip: Annotated[bool, Option("--never-skip", help="Look even for small talk.")] = False,
    packed: Annotated[bool, Option("--packed", help="Print the context for a prompt.")] = False,
    full: Annotated[bool, Option("--full", help="Print whole texts in the table.")] = False,
    as_json: options.AsJson = False,
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Recall; the help text stands in `HELP`."""
    request = recall_pb2.RecallRequest(
        scope=recall_pb2.Scope(tenant_id=tenant, user_id=user, principals=principal or []),
        query=question,
        filter=recall_pb2.Filter(
            types=memory_type or [],
            project_ids=project or [],
            session_ids=session or [],
            event_after=moment("--after", after),
            event_before=moment("--before", before),
        ),
        top_k=_count("--top-k", top_k),
        token_budget=_count("--budget", budget),
        ranking_profile=profile,
        mode=recall_pb2.Mode.Value(f"MODE_{mode.name}"),
        project_id=prefer_project,
        never_skip=never_skip,
    )
    if not tenant:
        raise InvalidInputError("--tenant", "is missing; say whose memory to ask, e.g. --tenant acme")
    with RecallClient(options.query_address(query, home)) as client:
        reply = client.recall(request)
    if as_json:
        typer.echo(json_format.MessageToJson(reply, preserving_proto_field_name=True))
    elif packed:
        _print_packed(reply)
    else:
        _print_table(reply, characters=0 if full else SHOWN_CHARACTERS)


def moment(option: str, text: str) -> datetime | None:
    """The moment an option names; a date is its first moment, and UTC unless it says otherwise.

    Raises:
        InvalidInputError: it is no ISO date or time.
    """
    if not text:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInputError(option, f"{text!r} must read like 2026-11-01 or 2026-11-01T09:30") from error
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def route_line(route: recall_pb2.Route) -> str:
    """What the router made of the question, for people."""
    parts = ["skipped: the question needs no memory" if route.skipped else ", ".join(route.intents) or "what"]
    if route.HasField("window_start") or route.HasField("window_end"):
        parts.append(f"from {_day(route.window_start) or '…'} to {_day(route.window_end) or '…'}")
    if route.reason:
        parts.append(route.reason)
    return printable("; ".join(parts))


def _print_packed(reply: recall_pb2.RecallResponse) -> None:
    console = stdout()
    text = reply.context.text
    typer.echo(printable(text) if console.is_terminal else text)


def _print_table(reply: recall_pb2.RecallResponse, *, characters: int) -> None:
    console = stdout()
    if reply.memories:
        console.print(_table(reply, characters=characters))
    else:
        console.print("nothing found")
    console.print(plain(f"route       {route_line(reply.route)}"))
    times = "  ".join(f"{stage.stage} {stage.milliseconds:.1f}" for stage in reply.stages)
    console.print(plain(f"times (ms)  total {reply.total_milliseconds:.1f}  {times}"))
    degraded = f"; without {', '.join(reply.degraded)}" if reply.degraded else ""
    console.print(
        plain(
            f"generation  {reply.generation}, applied to sequence {reply.applied_sequence}, "
            f"ranking profile {reply.ranking_profile}{degraded}"
        )
    )


def _table(reply: recall_pb2.RecallResponse, *, characters: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("rank", "score"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("type", "date"):
        table.add_column(name, no_wrap=True)
    table.add_column("memory", overflow="fold", ratio=1)
    for found in reply.memories:
        memory = found.memory
        text = one_line(memory.text, characters=characters) if characters else memory.text
        happened = memory.event_start if memory.HasField("event_start") else memory.occurred_at
        table.add_row(str(found.rank), f"{found.score:.3f}", plain(memory.type), _day(happened), plain(text))
    return table


def _day(timestamp: Timestamp) -> str:
    if not timestamp.seconds and not timestamp.nanos:
        return ""
    happened: datetime = timestamp.ToDatetime()
    return happened.date().isoformat()


def _count(option: str, value: int | None) -> int | None:
    if value is not None and value < 1:
        raise InvalidInputError(option, f"{value} must be at least 1")
    return value
