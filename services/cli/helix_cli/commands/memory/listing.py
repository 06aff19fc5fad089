"""`helix memory ls` and `helix memory show`: what is remembered, without a question."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from helix_cli.commands.common import lists, options, query_options
from helix_cli.commands.common.hints import OWNED, with_owner_hint
from helix_cli.commands.common.memory_ids import whole_ids
from helix_cli.commands.memory.arguments import MemoryId
from helix_cli.commands.memory.state import Seen, hidden_error
from helix_cli.home.addresses import query_server
from helix_cli.home.query_client import query_client
from helix_cli.output.terminal import note, plain, print_message, printable, stdout
from helix_cli.output.time_zone import chosen_zone, moment
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import NotFoundError

if TYPE_CHECKING:
    from datetime import tzinfo


class Order(StrEnum):
    """Order of a list."""

    NEWEST = "newest"
    OLDEST = "oldest"


def ls_command(
    *,
    tenant: options.Tenant = "",
    user: query_options.User = "",
    principal: query_options.Principals = None,
    memory_type: query_options.Types = None,
    session: query_options.Sessions = None,
    project: query_options.Projects = None,
    speaker: Annotated[
        list[str] | None, typer.Option("--speaker", help="Only what this speaker said; repeatable.")
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option("--text", help="Only what says just this, in any case of letters; repeatable."),
    ] = None,
    flag: query_options.WithFlags = None,
    exclude_flag: query_options.WithoutFlags = None,
    after: query_options.After = "",
    before: query_options.Before = "",
    order: Annotated[Order, typer.Option("--order", help="What comes first.")] = Order.NEWEST,
    limit: lists.Limit = 20,
    page: lists.Page = "",
    as_of: query_options.AsOf = "",
    valid_at: query_options.ValidAt = "",
    tz: query_options.Zone = "",
    full: lists.Full = False,
    as_json: options.AsJson = False,
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Ask for a page and print it."""
    zone = chosen_zone(tz)
    earliest, end = query_options.span(after, before, zone)
    request = recall_pb2.ListMemoriesRequest(
        scope=query_options.scope_of(tenant, user, principal),
        filter=recall_pb2.Filter(
            types=memory_type or [],
            session_ids=session or [],
            project_ids=project or [],
            flags=flag or [],
            exclude_flags=exclude_flag or [],
            event_after=earliest,
            event_before=end,
        ),
        speakers=speaker or [],
        texts=text or [],
        order=recall_pb2.Order.Value(f"ORDER_{order.name}"),
        page_size=limit,
        page_token=page,
        as_of=moment("--as-of", as_of, zone),
        valid_at=moment("--valid-at", valid_at, zone),
    )
    server = query_server(query, home)
    with query_client(server) as client:
        reply = client.memories(request)
    if as_json:
        print_message(reply)
        return
    if reply.memories:
        stdout().print(lists.memory_table(reply.memories, zone, full=full))
    elif not reply.next_page_token:
        stdout().print("nothing remembered")
        if not user:
            note(f"hint: {OWNED}")
    lists.note_next_page(reply.next_page_token)


def show_command(
    memory_id: MemoryId,
    *,
    tenant: options.Tenant = "",
    user: query_options.User = "",
    principal: query_options.Principals = None,
    tz: query_options.Zone = "",
    as_json: options.AsJson = False,
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Ask for one memory and print it."""
    zone = chosen_zone(tz)
    server = query_server(query, home)
    scope = query_options.scope_of(tenant, user, principal)
    [memory_id] = whole_ids([memory_id], scope, lambda: server)
    with query_client(server) as client:
        try:
            memory = client.memory(scope, memory_id)
        except NotFoundError as error:
            hidden = Seen(memory_id, client.state(scope, memory_id), None)
            raise hidden_error(hidden) or with_owner_hint(error, scope) from error
    if as_json:
        print_message(memory)
        return
    console = stdout()
    console.print(plain(memory.text))
    for name, value in _fields(memory, zone).items():
        if value:
            console.print(plain(f"{name:<12}{printable(value)}"))


def _times(count: int) -> str:
    """A count in words; empty for none."""
    return {0: "", 1: "once"}.get(count, f"{count} times")


def _fields(memory: recall_pb2.Memory, zone: tzinfo) -> dict[str, str]:
    """What people want to know of a memory, by its heading; empty where there is nothing."""
    times = {
        heading: getattr(memory, name).ToDatetime(tzinfo=zone).isoformat(" ", "minutes")
        for heading, name in (
            ("happened", "occurred_at"),
            ("event", "event_start"),
            ("valid from", "valid_from"),
            ("valid to", "valid_to"),
            ("expires", "expires_at"),
            ("last served", "last_accessed_at"),
            ("decayed", "decayed_at"),
        )
        if memory.HasField(name)  # type: ignore[arg-type]  # the stub wants a literal
    }
    return {
        "id": memory.memory_id,
        "type": memory.type,
        "title": memory.title,
        "said by": memory.source.speaker or memory.source.role,
        "session": memory.session_id,
        "user": memory.user_id,
        "project": memory.project_id,
        "document": memory.source.document_id or memory.source.source_uri,
        **times,
        "salience": f"{memory.salience:.2f}",
        "confidence": f"{memory.confidence:.2f}",
        "pinned": "yes" if memory.pinned else "",
        "served": _times(memory.access_count),
        "tags": ", ".join(memory.categories),
        "entities": ", ".join(memory.entity_display_names or memory.entities),
        "flags": ", ".join(memory.flags),
        "context": memory.context,
    }
