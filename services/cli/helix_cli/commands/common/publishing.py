"""Sending events with a progress bar, and reporting what became of them.

`publish_items` sends, `conclude` reports and, with `--wait`, waits until the events are processed and asks
NATS which of them became dead letters.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import typer

from helix_cli.clients.broker import client_of, jetstream_of, require_publishing, run_async
from helix_cli.clients.bulk import send_in_bulk
from helix_cli.clients.sending import Tally
from helix_cli.home.addresses import Server
from helix_cli.output.exit_codes import FAILED_EXIT
from helix_cli.output.progress import progress
from helix_cli.output.terminal import note
from helix_memory.transport import dead_letters
from helix_memory.transport.credentials import NatsCredentials
from helix_memory.transport.publisher import Publisher
from helix_shared.sources.source_event import Entry, Refusal

if TYPE_CHECKING:
    from nats.js import JetStreamContext

MANY: Final = 100
"""From this number of events on, the report has their rate."""
PROVISION_SECONDS: Final = 10.0
"""Longest time between the start of NATS by `helix up` and its streams."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Where a command asks whether its events are processed and which were refused, and for how long."""

    query: Server
    nats: Server
    seconds: float


def publish_items(
    items: Iterable[Entry],
    *,
    server: Server,
    in_flight: int,
    as_json: bool,
    total: int | None = None,
    tracked: bool = False,
) -> Tally:
    """Publish to `server` with a progress bar; writes each refusal to standard error.

    `tracked`: `conclude` will wait for the events.

    When publishing fails, the events acknowledged until then are reported before the error is raised.
    """
    tally = Tally(places={} if tracked else None)
    started = time.monotonic()

    async def work() -> None:
        async with client_of(server) as client:
            jetstream = client.jetstream()
            await require_publishing(
                jetstream, server.nats, wait_seconds=PROVISION_SECONDS if server.instance else 0.0
            )
            if tracked and not (server.nats and server.nats.is_of_tenant):
                tally.letters_before = await dead_letters.last_sequence(jetstream)
            user = server.nats or NatsCredentials()
            publisher = Publisher(jetstream, only_tenant=user.tenant, id_secret=user.id_secret)
            publish_batch = functools.partial(publisher.publish_together, client)
            with progress() as bar:
                task = bar.add_task("publishing", total=total)

                def settled(item: Entry) -> None:
                    if isinstance(item, Refusal):
                        note(f"refused {item}")
                    bar.advance(task)

                await send_in_bulk(
                    items,
                    publisher.publish_event,
                    publish_batch,
                    tally=tally,
                    in_flight=in_flight,
                    settled=settled,
                )
                # the total counted blank lines, too
                bar.update(task, total=bar.tasks[task].completed)

    try:
        run_async(work())
    except BaseException:
        tally.seconds = time.monotonic() - started
        if tally.last_sequence:
            _report(tally, as_json=as_json)
            note("not everything was published; repeat the command, nothing is stored twice")
        raise
    tally.seconds = time.monotonic() - started
    return tally


def _report(tally: Tally, *, as_json: bool) -> None:
    """Print the outcome on standard output."""
    if as_json:
        typer.echo(json.dumps(summary(tally)))
        return
    typer.echo(outcome(tally))


def conclude(
    tally: Tally,
    waiting: Waiting | None,
    *,
    as_json: bool,
    report: Callable[[], None] | None = None,
    done: str = "recallable",
) -> None:
    """Report the outcome with `report`, wait if asked to, and end the command if anything was refused.

    With `as_json` the report comes after the wait and names what was refused meanwhile. `done` says what the
    events are then.

    Raises:
        typer.Exit: something was refused.
        TemporaryError: the events are not processed in time; nothing that was published is lost.
    """
    show = report or functools.partial(_report, tally, as_json=as_json)
    if not as_json:
        show()
    try:
        if waiting is not None and tally.last_sequence:
            before = len(tally.refusals)
            generation = await_outcome(tally, waiting)
            refused = len(tally.refusals) + len(tally.refused_before) - before
            if not as_json and refused < len(tally.places or {}):
                typer.echo(f"{done} in generation {generation}")
    finally:
        if as_json:
            show()
    if tally.refusals:
        raise typer.Exit(FAILED_EXIT)


def outcome(tally: Tally) -> str:
    """The tally for people; with time and rate for many events."""
    line = (
        f"published {tally.published}, duplicates {tally.duplicates}, refused {len(tally.refusals)}, "
        f"last sequence {tally.last_sequence}"
    )
    sent = tally.published + tally.duplicates
    if sent < MANY:
        return line
    return f"{line} ({tally.seconds:.1f} s, {sent / max(tally.seconds, 1e-3):.0f} events/s)"


def summary(tally: Tally) -> dict[str, Any]:
    """The tally as the JSON of `--json`."""
    return {
        "published": tally.published,
        "duplicates": tally.duplicates,
        "refused": [asdict(refusal) for refusal in tally.refusals],
        "last_sequence": tally.last_sequence,
        "seconds": round(tally.seconds, 3),
    }


def await_outcome(tally: Tally, waiting: Waiting) -> int:
    """Wait until the events are processed, and add those that became dead letters to the refusals.

    Returns the generation that was served then.

    Raises:
        TemporaryError: it takes longer; nothing that was published is lost.
    """
    generation = wait_for(tally.last_sequence, waiting.query, waiting.seconds)
    refused = _refused(tally, waiting.nats)
    tally.refused_before = [one for one in refused if one.where in tally.expected]
    if count := len(tally.refused_before):
        note(f"{count} events were refused where they come from, and here, too; `helix dlq ls` says why")
    refused = [one for one in refused if one.where not in tally.expected]
    for refusal in refused:
        note(f"refused {refusal}")
    tally.refusals += refused
    return generation


def _refused(tally: Tally, server: Server) -> list[Refusal]:
    """The events of `tally` that ingest or consolidation refused, in the order of the stream."""
    places = tally.places or {}

    async def work() -> list[Refusal]:
        async with jetstream_of(server) as jetstream:
            if server.nats and server.nats.is_of_tenant:
                letters = await dead_letters.own_refusals(jetstream, server.nats.tenant, places.keys())
            else:
                letters = await _letters_of(tally, places.keys(), jetstream)
        return [Refusal(places[sequence], *letters[sequence].broken_rule) for sequence in sorted(letters)]

    return run_async(work())


async def _letters_of(
    tally: Tally, events: Collection[int], jetstream: JetStreamContext
) -> dict[int, dead_letters.DeadLetter]:
    """The dead letters that refuse events of `tally`, also those of events that were published before."""
    found: dict[int, dead_letters.DeadLetter] = {}
    for tenant in tally.tenants:
        after = tally.letters_before
        if tally.duplicates:
            after = await dead_letters.start_of_earlier(jetstream, tenant)
        found |= await dead_letters.refusals_of(jetstream, events, after=after, tenant_id=tenant)
    return found


def wait_for(sequence: int, server: Server, wait_seconds: float) -> int:
    """Wait with a progress bar until all events up to `sequence` are processed; the generation served then.

    Raises:
        TemporaryError: it takes longer; nothing that was published is lost.
    """
    from helix_cli.home.query_client import query_client  # noqa: PLC0415  gRPC is slow to import

    with query_client(server) as client, progress() as bar:
        task = bar.add_task("becoming recallable", total=sequence)
        reached = client.wait_until_applied(
            sequence, wait_seconds=wait_seconds, progress=lambda applied: bar.update(task, completed=applied)
        )
    return reached.generation
