"""Sending events with a progress bar and reporting the outcome, for the commands `publish` and `import`."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Final

import typer

from helix_cli.clients.broker import connected_client, require_events_stream, run_async
from helix_cli.clients.bulk import send_in_bulk
from helix_cli.clients.sending import Tally
from helix_cli.output.progress import progress
from helix_cli.output.terminal import note
from helix_cli.sources.source_event import Entry, Refusal
from helix_cli.stack.addresses import Server
from helix_shared.broker.publisher import Publisher

MANY: Final = 100
"""From this number of events on, the report has their rate."""
PROVISION_SECONDS: Final = 10.0
"""Longest time between the start of NATS by `helix up` and its streams."""


def publish_items(
    items: Iterable[Entry],
    *,
    server: Server,
    in_flight: int,
    as_json: bool,
    total: int | None = None,
) -> Tally:
    """Publish to `server` with a progress bar; writes each refusal to standard error.

    When publishing fails, the events acknowledged until then are reported before the error is raised.
    """
    tally = Tally()
    started = time.monotonic()

    async def work() -> None:
        async with connected_client(server.address, instance=server.instance) as client:
            jetstream = client.jetstream()
            await require_events_stream(jetstream, wait_seconds=PROVISION_SECONDS if server.instance else 0.0)
            publisher = Publisher(jetstream)
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
            report(tally, as_json=as_json)
            note("not everything was published; repeat the command, nothing is stored twice")
        raise
    tally.seconds = time.monotonic() - started
    return tally


def report(tally: Tally, *, as_json: bool) -> None:
    """Print the outcome on standard output."""
    if as_json:
        typer.echo(json.dumps(summary(tally)))
        return
    typer.echo(outcome(tally))


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


def wait_for(sequence: int, server: Server, wait_seconds: float, *, quiet: bool) -> None:
    """Wait with a progress bar until `sequence` can be recalled, and print it.

    Raises:
        TemporaryError: it cannot be recalled in time; nothing that was published is lost.
    """
    from helix_cli.clients.recall_client import RecallClient  # noqa: PLC0415  gRPC is slow to import

    with RecallClient(server.address, instance=server.instance) as client, progress() as bar:
        task = bar.add_task("becoming recallable", total=sequence)
        reached = client.wait_until_applied(
            sequence, wait_seconds=wait_seconds, progress=lambda applied: bar.update(task, completed=applied)
        )
    if not quiet:
        typer.echo(f"recallable in generation {reached.generation}")
