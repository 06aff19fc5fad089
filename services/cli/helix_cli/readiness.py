"""When a stack is ready: the newest generation is served and somebody fetches from every consumer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from nats.js import JetStreamContext

from helix_cli.broker import connected
from helix_cli.failure import run_async
from helix_cli.recall_client import RecallClient
from helix_shared.broker import streams
from helix_shared.errors import HelixError

CALL_SECONDS: Final = 2.0


def missing(
    *, query_address: str, nats_url: str, data: Path, consumers: Sequence[streams.DurableConsumer]
) -> str:
    """What is not ready yet, for people; empty when everything is."""
    try:
        with RecallClient(query_address, call_seconds=CALL_SECONDS) as client:
            served = client.status().generation
        if served < _published(data):
            return f"query serves generation {served}"
        return run_async(_unattended(nats_url, consumers))
    except HelixError as error:
        return str(error)


def _published(data: Path) -> int:
    """Generation that CURRENT names; 0 where there is none."""
    try:
        return int((data / "CURRENT").read_text())
    except (OSError, ValueError):
        return 0


async def _unattended(nats_url: str, consumers: Sequence[streams.DurableConsumer]) -> str:
    """Consumers from which nobody fetches; empty when all are attended."""
    async with connected(nats_url) as jetstream:
        idle = [c.name for c in consumers if not await _attended(jetstream, c)]
    return f"nobody fetches for {', '.join(idle)}" if idle else ""


async def _attended(jetstream: JetStreamContext, consumer: streams.DurableConsumer) -> bool:
    info = await jetstream.consumer_info(consumer.stream, consumer.name)
    return bool(info.num_waiting or info.num_ack_pending)
