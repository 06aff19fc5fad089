"""Waiting until everything published is recallable, enrichment included.

A memory is recallable as soon as its event is applied; questions and links come after it. The
whole path is idle when every consumer has nothing pending and nothing unacknowledged, because
the writer acknowledges only what a published generation holds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final

from nats.js import JetStreamContext

from helix_memory import subjects
from helix_memory.transport.connection import connect
from helix_memory.transport.recall_client import RecallClient
from helix_shared.broker.shard_bucket import read_map
from helix_shared.broker.streams import DurableConsumer, consumers_of
from helix_shared.errors import TemporaryError

LOOK_SECONDS: Final = 0.25


async def wait_recallable(nats_url: str, query_address: str, *, wait_seconds: float) -> float:
    """Wait until all events are processed and served, in every shard; return the seconds it took.

    `query_address`: of all shards, in their order, with commas between them.

    Raises:
        TemporaryError: not all events were recallable in time; names what is still in progress.
    """
    started = time.monotonic()
    client = await connect(nats_url, name="helix-lab")
    try:
        jetstream = client.jetstream()
        last = (await jetstream.stream_info(subjects.EVENTS_STREAM)).state.last_seq
        consumers = consumers_of((await read_map(jetstream)).shards)
        while busy := await _under_way(jetstream, query_address, consumers, last):
            if time.monotonic() - started > wait_seconds:
                raise TemporaryError(f"not idle after {wait_seconds:g} s: {busy}")
            await asyncio.sleep(LOOK_SECONDS)
    finally:
        await client.close()
    return time.monotonic() - started


async def _under_way(
    jetstream: JetStreamContext, query_address: str, consumers: Sequence[DurableConsumer], last: int
) -> str:
    for consumer in consumers:
        if consumer.stream == subjects.ACCESS_STREAM:
            continue  # no memory becomes recallable by an access
        info = await jetstream.consumer_info(consumer.stream, consumer.name)
        waiting = (info.num_pending or 0) + (info.num_ack_pending or 0)
        if waiting:
            return f"{waiting} messages wait for {consumer.name}"
    derived = (await jetstream.stream_info(subjects.DERIVED_STREAM)).state.last_seq
    with RecallClient(query_address) as client:
        served = await asyncio.to_thread(client.status)
    if served.applied_sequence < last or served.derived_sequence < derived:
        return f"generation {served.generation} has events up to {served.applied_sequence} of {last}"
    return ""
