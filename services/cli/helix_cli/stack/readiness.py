"""When a stack is ready: the newest generation is served, every consumer is read, the writer writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from nats.js import JetStreamContext

from helix_cli.clients.broker import connected
from helix_cli.clients.polling import looks
from helix_cli.clients.recall_client import RecallClient
from helix_cli.clients.writer_state import look_at_writer
from helix_cli.commands.options import Server
from helix_cli.output.failure import run_async
from helix_memory import subjects
from helix_shared.broker import streams
from helix_shared.errors import HelixError, OtherInstanceError, TemporaryError

CALL_SECONDS: Final = 2.0
SERVED_SECONDS: Final = 30.0


def wait_until_served(client: RecallClient, nats: Server, *, wait_seconds: float = SERVED_SECONDS) -> None:
    """Return when a generation is served, or when there is no event that one could come from.

    Raises:
        OtherInstanceError: another instance answers.
        TemporaryError: the query service does not answer, or serves nothing, for `wait_seconds`.
    """
    waits = ""
    for _ in looks(wait_seconds):
        try:
            if client.status().generation or not run_async(_last_event(nats)):
                return
            waits = "events are published, but none can be recalled yet"
        except OtherInstanceError:
            raise
        except TemporaryError as error:
            waits = str(error)
    raise TemporaryError(f"{waits}; waited {wait_seconds:g} s, `helix status` shows where it stands")


async def _last_event(nats: Server) -> int:
    """Sequence of the newest event; 0 where there is none."""
    async with connected(nats.address, instance=nats.instance) as jetstream:
        return (await jetstream.stream_info(subjects.EVENTS_STREAM)).state.last_seq


def missing(
    *, query_address: str, nats_url: str, data: Path, consumers: Sequence[streams.DurableConsumer]
) -> str:
    """What is not ready yet, for people; empty when everything is."""
    try:
        if reason := run_async(_unattended(nats_url, consumers)):
            return reason
        with RecallClient(query_address, call_seconds=CALL_SECONDS) as client:
            served = client.status().generation
        return f"query serves generation {served}" if served < _published(data) else ""
    except HelixError as error:
        return str(error)


def _published(data: Path) -> int:
    """Generation that CURRENT names; 0 where there is none."""
    try:
        return int((data / "CURRENT").read_text())
    except (OSError, ValueError):
        return 0


async def _unattended(nats_url: str, consumers: Sequence[streams.DurableConsumer]) -> str:
    """What holds the log up: a writer that stands still, or consumers that nobody reads."""
    async with connected(nats_url) as jetstream:
        if problem := (await look_at_writer(jetstream)).problem:
            return f"the writer stands still: {problem}"
        idle = [c.name for c in consumers if not await _attended(jetstream, c)]
    return f"nobody fetches for {', '.join(idle)}" if idle else ""


async def _attended(jetstream: JetStreamContext, consumer: streams.DurableConsumer) -> bool:
    info = await jetstream.consumer_info(consumer.stream, consumer.name)
    return bool(info.num_waiting or info.num_ack_pending)
