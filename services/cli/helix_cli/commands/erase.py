"""`helix erase`: removes memories for good, waits, prints the receipt, and searches for what is left.

`Selected` says what is erased. `residue` searches the files and streams of this machine; it is imported for a
search alone, since the engines are slow to import.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.table import Table

from helix_cli.clients.auditing import REFUSED, CommandRecord, recorded
from helix_cli.clients.broker import jetstream_of, run_async
from helix_cli.commands.common import options
from helix_cli.commands.common.memory_ids import note_ids_of_no_memory, whole_ids
from helix_cli.commands.common.publishing import Waiting, await_outcome, outcome, publish_items, summary
from helix_cli.commands.common.query_options import scope_of
from helix_cli.commands.group import help_text
from helix_cli.commands.memory.arguments import Acl, User
from helix_cli.commands.memory.erasing import ask_before_erasing
from helix_cli.commands.memory.state import later_versions, seen, short
from helix_cli.home.addresses import nats_server, query_server
from helix_cli.home.folder import HomeFolder
from helix_cli.home.query_client import query_client
from helix_cli.output.exit_codes import EXIT_CODES, FAILED_EXIT
from helix_cli.output.terminal import note, stdout
from helix_cli.sources.event_options import one_event
from helix_memory.machine_zone import local_now
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.polling import poll
from helix_memory.transport.recall_client import unknown_ids
from helix_shared.audit.record import OK
from helix_shared.errors import HelixError, InvalidInputError, NotFoundError, TemporaryError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from helix_cli.commands.memory.state import Seen
    from helix_cli.home.addresses import Server
    from helix_cli.residue.canaries import Canaries
    from helix_cli.residue.found import Residue
    from helix_shared.sources.source_event import SourceEvent

HELP: Final = f"""
A memory is erased with its whole event: every piece, what was derived from
it, what other memories quote of it, the event in the log, its dead letters.
`helix memory forget` hides single memories instead, and can be taken back.
The versions that a memory had replaced go with it, so none of them holds
again. Later versions stay: the command names them.

  helix erase 4f0c1a2b --tenant acme
  helix erase --of-session s1 --tenant acme --user ana --verify

It shows what it will erase, and goes on once you type "erase". A program
adds --yes: without a terminal nobody can be asked, and nothing is erased.

The receipt names each place with how much was removed there, and the
generation from which it holds nothing of it. With --verify, every file of
this home, every stream, and every bucket to which its shards upload is
searched for the texts and vectors that were erased; it needs the files, so
it runs where Helix runs. Buckets are downloaded for it. The disks of
replicas elsewhere are not searched.

Backups are under keys, and the place "backups" counts the events whose keys
are destroyed: no backup made before shows them. Exports, copies of the keys
(`helix keys copy` brings them up to date) and backups of older releases,
which are in the clear, still hold what was erased.

{EXIT_CODES}
"""
COPIES: Final = (
    "exports, backups in the clear of older releases, and copies of the keys made before this erasure "
    "are not reached: remove the first two, and run `helix keys copy` into the same folder again"
)
UNREADABLE: Final = "keys destroyed"
PENDING: Final = "pending"
Option = typer.Option

app = typer.Typer(add_completion=False)


@app.command(help=help_text("erase", HELP))
def erase_command(
    memory_ids: Annotated[list[str] | None, typer.Argument(help="Ids of memories.")] = None,
    *,
    of_session: Annotated[str, Option("--of-session", help="All memories of a session.")] = "",
    of_document: Annotated[str, Option("--of-document", help="All memories of a document.")] = "",
    of_user: Annotated[str, Option("--of-user", help="All memories of a user.")] = "",
    verify: Annotated[
        bool, Option("--verify", help="Search all files, streams and buckets for what was erased.")
    ] = False,
    yes: Annotated[
        bool, Option("--yes", help="Do not ask; needed where standard input is no terminal.")
    ] = False,
    tenant: options.Tenant = "",
    user: User = "",
    acl: Acl = None,
    wait: Annotated[
        bool, Option("--wait/--no-wait", help="Whether to wait until every place is clean.")
    ] = True,
    wait_seconds: options.WaitSeconds = 60.0,
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Publish one erase event, and follow it."""
    if verify and not wait:
        raise InvalidInputError("verify", "needs the end of the erasure: leave out --no-wait")
    if sum(map(bool, (memory_ids, of_session, of_document, of_user))) != 1:
        raise InvalidInputError("arguments", "give ids, or one of --of-session, --of-document and --of-user")
    scope = scope_of(tenant, user, acl)
    service, broker = query_server(query, home), nats_server(nats, home)
    selected = {
        "memory_ids": whole_ids(memory_ids or [], scope, lambda: service),
        "of_session": of_session,
        "of_document": of_document,
        "of_user": of_user,
    }
    given = {name: value for name, value in selected.items() if value}
    event = one_event(
        {**given, "user_id": user, "acl": acl or []},
        tenant=tenant,
        kind="erase",
        role="",
        now=local_now(),
        where="erase",
    )
    named = list(selected["memory_ids"])
    found = _seen(service, scope, named)
    others, missing = later_versions(found), unknown_ids({one.memory_id: one.state for one in found}, 0)
    if missing:
        note_ids_of_no_memory(missing, "erase", user=user, waited=wait)
    if not yes:
        ask_before_erasing(given, found, tenant=tenant, user=user)
    told = {"missing": missing if found else None} if named else {}
    data = _data_of(home, tenant) if verify else home
    before = _stored(data, tenant, with_vectors=True) if verify else []
    wanted = CommandRecord([tenant], of_user or user, named, count=len(named))
    with recorded(broker, "cli.erase", wanted) as record:
        seconds = wait_seconds if wait else None
        _publish(event, service, broker, told, wait_seconds=seconds, as_json=as_json, record=record)
    if not wait:
        return
    with _named(event, as_json=as_json):
        receipt = _receipt(service, scope, event.event.event_id, wait_seconds)
    report: dict[str, Any] = {"event_id": event.event.event_id, **told, "complete": receipt.complete}
    report["places"] = {p.name: {"count": p.count, "generation": p.generation} for p in receipt.places}
    report["not_covered"] = COPIES
    if others:
        report["later_versions"] = others
    if verify:
        report |= _searched(before, home.expanduser(), _stored(data, tenant), broker)
    _show(report, as_json=as_json)
    if not receipt.complete or report.get("residue") or report.get("unread"):
        raise typer.Exit(FAILED_EXIT)


def _seen(service: Server, scope: recall_pb2.Scope, named: list[str]) -> list[Seen]:
    """These memories; none where they cannot be read, because that must not keep from erasing."""
    if not named:
        return []
    with (
        contextlib.suppress(HelixError),
        query_client(service) as client,
    ):
        return list(seen(client, scope, named).values())
    return []


@contextlib.contextmanager
def _named(event: SourceEvent, *, as_json: bool) -> Iterator[None]:
    """Tell the id of the published event where the wait for it fails: its receipt is found with it."""
    try:
        yield
    except TemporaryError as error:
        event_id = event.event.event_id
        if as_json:
            told = {"event_id": event_id, "complete": False, "error": str(error)}
            typer.echo(json.dumps(told, indent=2))
        else:
            note(f"the erasure is published as event {event_id}, and goes on")
        raise


def _publish(
    event: SourceEvent,
    service: Server,
    broker: Server,
    told: Mapping[str, Any],
    *,
    wait_seconds: float | None,
    as_json: bool,
    record: CommandRecord,
) -> None:
    """Publish, and wait where that is asked for; what was `told` of the ids goes into the report."""
    tally = publish_items(
        [event], server=broker, in_flight=1, as_json=as_json, total=1, tracked=wait_seconds is not None
    )
    record.outcome = REFUSED if tally.refusals else OK
    if wait_seconds is not None:
        with _named(event, as_json=as_json):
            await_outcome(tally, Waiting(service, broker, wait_seconds))
    if as_json and (wait_seconds is None or tally.refusals):
        report = {"event_id": event.event.event_id, **told, **summary(tally)}
        typer.echo(json.dumps(report, indent=2))
    elif wait_seconds is None:
        typer.echo(outcome(tally))
    if tally.refusals:
        record.outcome = REFUSED
        raise typer.Exit(FAILED_EXIT)


def _receipt(
    service: Server, scope: recall_pb2.Scope, event_id: str, seconds: float
) -> recall_pb2.GetErasureResponse:
    """The receipt, complete unless the time is over before.

    Raises:
        TemporaryError: the erasure was not carried out in time; it goes on.
    """
    found = None
    with query_client(service) as client:
        for _ in poll(seconds):
            try:
                found = client.erasure(scope, event_id)
            except NotFoundError:
                continue
            if found.complete:
                break
    if found is None:
        raise TemporaryError("the erasure waits for events before it; nothing is lost, look again later")
    return found


def _data_of(home: Path, tenant: str) -> Path:
    """The data folder of the shard of a tenant; raises as `data_of_tenant`."""
    from helix_cli.home.tenants import data_of_tenant  # noqa: PLC0415  see above

    return data_of_tenant(HomeFolder.at(home), tenant)


def _stored(data: Path, tenant: str, *, with_vectors: bool = False) -> list[dict[str, Any]]:
    """The rows of a tenant in the data folder of its shard; raises as `stored_rows`."""
    from helix_cli.residue.stored import stored_rows  # noqa: PLC0415  see above

    return stored_rows(data, tenant, with_vectors=with_vectors)


def _searched(
    before: list[dict[str, Any]], home: Path, after: list[dict[str, Any]], broker: Server
) -> dict[str, Any]:
    """What was searched for, and how often it was found in which place."""
    from helix_cli.residue.buckets import buckets_of  # noqa: PLC0415  see above
    from helix_cli.residue.search import searched  # noqa: PLC0415
    from helix_cli.residue.streams import residue_in_streams  # noqa: PLC0415

    async def of_streams(canaries: Canaries) -> Residue:
        async with jetstream_of(broker) as jetstream:
            return await residue_in_streams(jetstream, canaries)

    folder = HomeFolder.at(home)
    return searched(
        before,
        home,
        after,
        buckets=buckets_of(folder.data_of(shard) for shard in range(folder.shards)),
        in_streams=lambda canaries: run_async(of_streams(canaries)),
        credentials=broker.nats,
    )


def _show(report: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(report, indent=2))
        return
    table = Table("place", "removed", "clean from generation")
    for name, place in report["places"].items():
        # nothing is removed from a backup: the keys of so many events are destroyed
        kind = f" {UNREADABLE}" if name == "backups" and place["generation"] else ""
        table.add_row(name, f"{place['count']}{kind}", str(place["generation"] or PENDING))
    stdout().print(table)
    note(report["not_covered"])
    if others := report.get("later_versions"):
        note(f"later versions stay; to erase them, too: helix memory erase {' '.join(map(short, others))}")
    if "residue" in report:
        found = sum(report["residue"].values())
        also = "".join(f", also in {address}" for address in report.get("buckets", ()))
        typer.echo(f"searched for {report['searched']} erased texts{also}: residue {found}")
        for place, count in report["residue"].items():
            typer.echo(f"  {place}: {count}")
        for place, reason in report.get("unread", {}).items():
            typer.echo(f"  not searched: {place}: {reason}")
