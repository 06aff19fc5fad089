"""Recall while memories arrive, and how soon they can be recalled.

Events go through the whole stack, at the size of the data, so they wait for a generation to be published.
`ingest_rate` measures how fast many events are taken in.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import multiprocessing
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from typing import Any, Final

from helix_cli.stack.stack import Stack
from helix_lab.bench.generate.load import BuildInfo
from helix_lab.bench.reading.recall_load import percentiles, request_of
from helix_lab.sets.wait_recallable import wait_recallable
from helix_memory.events import MessageEvent
from helix_memory.transport.connection import connect
from helix_memory.transport.publisher import Publisher
from helix_memory.transport.recall_client import RecallClient
from helix_shared.errors import TemporaryError

EVENTS_PER_SECOND: Final = 50
LIVE_SECONDS: Final = 30.0
FRESH_EVENTS: Final = 12
WAIT_SECONDS: Final = 900.0
AFTER_SWAP_SECONDS: Final = 1.0
LOOK_SECONDS: Final = 0.05
SESSION_TURNS: Final = 20


def new_turns(info: BuildInfo, mark: str) -> Iterator[MessageEvent]:
    """New turns without end: words of phrase queries mixed, so that no two are near-duplicates."""
    drawn = random.Random(mark)  # noqa: S311  repeatable texts, no secret
    words = " ".join(text for text, _ in info.phrase_queries).split() or ["nothing"]
    for k in itertools.count():
        yield MessageEvent(
            event_id=f"{mark}-{k}",
            tenant_id=info.tenant,
            session_id=f"{mark}-{k // SESSION_TURNS}",
            role="user",
            text=" ".join(drawn.choices(words, k=drawn.randint(8, 60))),
            occurred_at=datetime.now(UTC),
        )


def freshness_section(stack: Stack, info: BuildInfo, *, events: int = FRESH_EVENTS) -> dict[str, Any]:
    """`freshness_s`: from publishing one event to a recall that has it, without other load."""
    taken: list[float] = []
    turns = new_turns(info, "fresh")
    with RecallClient(stack.query_address) as client:
        for turn in itertools.islice(turns, events):
            started, sequence = asyncio.run(_publish_one(stack.nats_url, turn))
            client.wait_until_applied(sequence, wait_seconds=WAIT_SECONDS)
            taken.append(time.monotonic() - started)
    return {"freshness_s": percentiles(taken, (50, 95))}


async def _publish_one(url: str, turn: MessageEvent) -> tuple[float, int]:
    """When it was published, on the monotonic clock, and its sequence."""
    client = await connect(url, name="helix-bench")
    try:
        started = time.monotonic()
        return started, (await Publisher(client.jetstream()).publish_event(turn)).sequence
    finally:
        await client.close()


def live_section(stack: Stack, info: BuildInfo, queries: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """`live`: recall without load, under live ingest, and in the second after each new generation."""
    quiet, _ = _recalls_for(stack.query_address, info, queries, LIVE_SECONDS)
    with _feeding(stack.nats_url, info) as sent:
        before, begun = sent.value, time.monotonic()
        busy, after_swap = _recalls_for(stack.query_address, info, queries, LIVE_SECONDS)
        rate = (sent.value - before) / (time.monotonic() - begun)
    asyncio.run(wait_recallable(stack.nats_url, stack.query_address, wait_seconds=WAIT_SECONDS))
    ratio = percentiles(busy)["p95"] / percentiles(quiet)["p95"]
    return {
        "live": {
            "quiet_ms": percentiles(quiet),
            "busy_ms": percentiles(busy),
            "after_swap_ms": percentiles(after_swap),
            "busy_over_quiet_p95": round(ratio, 2),
            "events_per_second": round(rate, 1),
        }
    }


def _recalls_for(
    address: str, info: BuildInfo, queries: Sequence[tuple[str, str]], seconds: float
) -> tuple[list[float], list[float]]:
    """Times of recalls one after the other, and of those right after the generation changed."""
    times: list[float] = []
    after_swap: list[float] = []
    generation, swapped = 0, float("-inf")
    ends = time.monotonic() + seconds
    with RecallClient(address) as client:
        for text, _ in itertools.cycle(queries):
            started, served = time.perf_counter(), generation
            # a recall without an answer was waited for like any other
            with contextlib.suppress(TemporaryError):
                served = client.recall(request_of(info, text)).generation
            taken = (time.perf_counter() - started) * 1_000
            if generation and served != generation:
                swapped = time.monotonic()
            generation = served
            times.append(taken)
            if time.monotonic() - swapped < AFTER_SWAP_SECONDS:
                after_swap.append(taken)
            if time.monotonic() > ends:
                return times, after_swap
    return times, after_swap


@contextmanager
def _feeding(url: str, info: BuildInfo) -> Iterator[Synchronized[int]]:
    """Publish at a steady rate beside the block, from a process of its own; yields how many were sent."""
    spawn = multiprocessing.get_context("spawn")
    stop, sent = spawn.Event(), spawn.Value("q", 0)
    feeder = spawn.Process(target=_feed, args=(url, info, stop, sent), daemon=True)
    feeder.start()
    try:
        while not sent.value and feeder.is_alive():
            time.sleep(LOOK_SECONDS)
        yield sent
    finally:
        stop.set()
        feeder.join(WAIT_SECONDS)
    if feeder.exitcode:
        raise TemporaryError(f"the feeder ended with {feeder.exitcode} after {sent.value} events")


def _feed(url: str, info: BuildInfo, stop: Event, sent: Synchronized[int]) -> None:
    asyncio.run(_publish_steadily(url, info, stop, sent))


async def _publish_steadily(url: str, info: BuildInfo, stop: Event, sent: Synchronized[int]) -> None:
    client = await connect(url, name="helix-bench-live")
    publisher, begun = Publisher(client.jetstream()), time.monotonic()
    running: set[asyncio.Task[Any]] = set()
    for turn in new_turns(info, "live"):
        if stop.is_set():
            break
        task = asyncio.create_task(publisher.publish_event(turn))
        running.add(task)
        task.add_done_callback(running.discard)
        sent.value += 1
        await asyncio.sleep(max(0.0, begun + sent.value / EVENTS_PER_SECOND - time.monotonic()))
    await asyncio.gather(*running)
    await client.close()
