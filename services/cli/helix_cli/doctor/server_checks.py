"""Checks of the servers: streams and consumers, the writer, the log against the stores, the query service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from helix_cli.clients.broker_status import BrokerStatus, broker_status
from helix_cli.clients.query_status import generation_of
from helix_cli.doctor.finding import Finding, ok
from helix_cli.doctor.generation_checks import REBUILD, Generations
from helix_cli.home.addresses import Server
from helix_memory import subjects
from helix_memory.transport.connection import UNANSWERED, reason_of
from helix_memory.transport.polling import poll
from helix_memory.transport.recall_client import RecallClient
from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.errors import HelixError

if TYPE_CHECKING:
    from nats.aio.client import Client

CALL_SECONDS: Final = 10.0
OPENING_SECONDS: Final = 10.0
"""How long the query service may take to serve the generation that CURRENT names."""
SHOWN: Final = 20


async def broker_checks(server: Server) -> AsyncIterator[Finding]:
    """Streams, consumers, the writer's lease and dead letters."""
    status = await broker_status(server.address, server.instance, server.nats)
    if status.problem and not status.streams:
        yield Finding(
            "nats",
            "problem",
            status.problem,
            "nothing is taken or made recallable",
            "start it, or `helix up`",
        )
        return
    yield ok("nats", server.address)
    for difference in status.differences:
        yield Finding(
            "streams", "problem", difference, "events may be lost, refused or repeated",
            "`helix provision`, or `helix doctor --repair`", "provision",
        )  # fmt: skip
    if not status.differences:
        yield ok("streams", "streams, consumers and the lease are as provisioning wants them")
    yield _writer(status)
    yield _letters(status)


def _writer(status: BrokerStatus) -> Finding:
    if status.writer.writes:
        return ok("writer", "a process has the lease and takes messages")
    return Finding(
        "writer", "problem", str(status.writer), "events wait in the log; nothing new is recallable",
        "read the log of consolidation; the runbook explains each reason",
    )  # fmt: skip


def _letters(status: BrokerStatus) -> Finding:
    row = status.stream(subjects.DLQ_STREAM)
    count = row.messages if row else 0
    if not count:
        return ok("dead letters", "none")
    return Finding(
        "dead letters", "warning", f"{count} refused messages", "their events have no effect, or lack a part",
        "`helix dlq ls` and `show` say why; after a repair `helix dlq redrive`, else `drop`",
    )  # fmt: skip


async def log_checks(client: Client, data: Path, known: Generations) -> AsyncIterator[Finding]:
    """Every applied event has its memories; fills `known.log`."""
    if known.stores is None:
        return
    from helix_consolidation.reconciliation.log import compare_log, read_state  # noqa: PLC0415  as compare
    from helix_shared.artifacts.generation.reader import place_of  # noqa: PLC0415

    manifest = known.stores.manifest
    generation = manifest.generation
    try:
        state, place = read_state(data, generation), place_of(folder_of(data, generation), manifest)
        compared = known.log = await compare_log(client, known.stores, state, place=place)
    except (HelixError, *UNANSWERED) as error:
        reason = reason_of(error)
        if not folder_of(data, generation).is_dir():
            reason = f"generation {generation} was retired meanwhile"
        yield Finding("log", "warning", f"not compared with the stores: {reason}", advice="try again")
        return
    for event in compared.missing[:SHOWN]:
        yield Finding(
            "log", "problem", f"event {event.sequence} of tenant {event.tenant_id} has no memories",
            "ingest derives some from it, but no store has them: its result was lost, or its letter dropped",
            "`helix doctor --repair` stores the result again", "derive",
        )  # fmt: skip
    if compared.unasked:
        yield Finding(
            "log",
            "note",
            f"{compared.unasked} events have no memories, and no ingest says whether they give any",
        )
    if not compared.missing:
        yield ok("log", f"the newest {compared.events} applied events have their memories")


def query_checks(server: Server, known: Generations, shard: int) -> Finding:
    """Whether the query service answers, and from which generation of a shard; it has time to open one."""
    served = 0
    try:
        with RecallClient(
            server.address, call_seconds=CALL_SECONDS, instance=server.instance, credentials=server.calls
        ) as client:
            for _ in poll(OPENING_SECONDS):
                served = generation_of(client.status(), shard)
                if served >= known.current:
                    break
    except HelixError as error:
        return Finding(
            "query", "problem", str(error), "nobody can recall", "read its log; `helix up` restarts it"
        )
    if served >= known.current:
        return ok("query", f"serves generation {served}")
    return Finding(
        "query", "warning", f"serves generation {served}, CURRENT names {known.current}",
        f"it did not open the new one in {OPENING_SECONDS:g} s, or refused it",
        f"if it stays, its log says generation_refused: {REBUILD}",
    )  # fmt: skip
