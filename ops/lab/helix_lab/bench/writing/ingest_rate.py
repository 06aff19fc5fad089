"""How fast many events are taken in, against the embedder alone on the same texts.

Ingest is measured twice: alone with NATS over a full stream, and as the whole stack until every event can be
recalled with its expansions and links. Rates are wall clock, so they need a quiet machine. `cpu_ms_per_event`
is the processor time by process, which also holds on a busy machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from helix_cli.clients.broker import provision_server
from helix_cli.clients.sending import Tally, send_in_order
from helix_cli.stack.children import ServiceChild, child_environment
from helix_cli.stack.services import service_settings
from helix_cli.stack.stack import Stack
from helix_cli.stack.supervisor import drain
from helix_ingest.extraction.drafts import CONTEXT_TURNS, drafts_of
from helix_ingest.extraction.values import LoggedEvent
from helix_ingest.settings import IngestSettings
from helix_lab.bench.generate.load import BuildInfo
from helix_lab.bench.writing.live_ingest import new_turns
from helix_lab.bench.writing.processor_time import milliseconds_per_event, stack_seconds
from helix_lab.sets.wait_recallable import wait_recallable
from helix_memory import subjects
from helix_memory.events import MessageEvent
from helix_memory.transport.connection import connect
from helix_memory.transport.publisher import Publisher
from helix_shared.broker.server import NatsServer
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.store import default_model
from helix_shared.errors import TemporaryError
from helix_shared.sources.source_event import SourceEvent

EVENTS: Final = 1_000
LANES: Final = 2
ROUNDS: Final = 4
"""Ingest and embedder run by turns, half of the events each: the speed of a machine changes within minutes.
"""
WAIT_SECONDS: Final = 900.0
LOOK_SECONDS: Final = 0.1
"""Seconds between two looks at the progress of ingest: each look takes processor time from it."""
_FIRST: Final = 50
"""Answers after which the clock starts, when models are loaded and warm."""


def ingest_section(stack: Stack, info: BuildInfo, models: Path, *, events: int = EVENTS) -> dict[str, Any]:
    """`ingest`: memories a second of ingest alone and of the whole stack, and of the embedder.

    The whole stack is compared with the embedder right before and right after it.
    """
    alone, ingested = [], []
    for number in range(ROUNDS):
        turns = list(itertools.islice(new_turns(info, f"alone{number}"), events // 2))
        alone.append(embedded(turns, models))
        ingested.append(_ingested_per_second(turns, models))
    whole_stack(stack, list(itertools.islice(new_turns(info, "first"), _FIRST)))
    beside = [alone[-1][0]]
    whole = whole_stack(stack, list(itertools.islice(new_turns(info, "bulk"), events)))
    beside.append(embedded(list(itertools.islice(new_turns(info, "after"), events // 2)), models)[0])
    embedder, ingest = sum(rate for rate, _ in alone) / ROUNDS, sum(ingested) / ROUNDS
    embedder_ms = sum(spent for _, spent in alone) / ROUNDS
    return {
        "ingest": {
            "events": events,
            "memories_per_second": round(ingest, 1),
            "embedder_per_second": round(embedder, 1),
            "of_embedder": round(ingest / embedder, 3),
            "whole_stack_of_embedder": round(whole["whole_stack_per_second"] / (sum(beside) / 2), 3),
            "embedder_cpu_ms_per_event": round(embedder_ms, 2),
            "embedder_cpu_of_whole_stack": round(embedder_ms / whole["cpu_ms_per_event"]["total"], 3),
            **whole,
        }
    }


def whole_stack(stack: Stack, turns: Sequence[MessageEvent]) -> dict[str, Any]:
    """Publish `turns` at once and wait until all is recallable; rates, and processor time by service."""
    before, started = stack_seconds(stack), time.monotonic()
    asyncio.run(_publish_all(stack.nats_url, turns))
    published = time.monotonic() - started
    asyncio.run(wait_recallable(stack.nats_url, stack.query_address, wait_seconds=WAIT_SECONDS))
    taken = time.monotonic() - started
    return {
        "whole_stack_per_second": round(len(turns) / taken, 1),
        "published_per_second": round(len(turns) / published, 1),
        "cpu_ms_per_event": milliseconds_per_event(before, stack_seconds(stack), events=len(turns)),
    }


def embedded(turns: Sequence[MessageEvent], models: Path) -> tuple[float, float]:
    """Turns a second, and milliseconds of processor time a turn, of the embedder alone.

    It makes vectors of the texts that ingest embeds for the turns.
    """
    with Encoder.load(default_model(models), lanes=LANES) as encoder:
        most_tokens = IngestSettings.load().most_tokens(encoder.card)
        texts = [_embedded_texts(turns, at, encoder, most_tokens) for at in range(len(turns))]
        encoder.embed_many([text for some in texts[:_FIRST] for text in some])
        rest = [text for some in texts[_FIRST:] for text in some]
        started, spent = time.monotonic(), time.process_time()
        encoder.embed_many(rest)
        count = len(turns) - _FIRST
        return count / (time.monotonic() - started), (time.process_time() - spent) * 1_000 / count


def _embedded_texts(turns: Sequence[MessageEvent], at: int, encoder: Encoder, most_tokens: int) -> list[str]:
    now = datetime.now(UTC)
    session = turns[at].session_id
    before = [
        LoggedEvent(turn, place + 1, now)
        for place, turn in enumerate(turns[max(0, at - CONTEXT_TURNS) : at], max(0, at - CONTEXT_TURNS))
        if turn.session_id == session
    ]
    drafts = drafts_of(
        LoggedEvent(turns[at], at + 1, now),
        before,
        most_tokens=most_tokens,
        count_tokens=encoder.count_tokens,
    )
    return [text for draft in drafts for text in (draft.passage, draft.window) if text]


def _ingested_per_second(turns: Sequence[MessageEvent], models: Path) -> float:
    """Turns a second that one ingest worker answers out of a full stream, with NATS alone beside it.

    Raises:
        TemporaryError: it does not come to an end.
    """
    with tempfile.TemporaryDirectory(prefix="helix-bench-") as home, NatsServer(Path(home) / "nats") as nats:
        provision_server(nats.url)
        asyncio.run(_publish_all(nats.url, turns))
        with _worker(nats.url, models, Path(home)):
            return asyncio.run(_answers_per_second(nats.url, len(turns)))


@contextlib.contextmanager
def _worker(nats_url: str, models: Path, home: Path) -> Iterator[None]:
    settings = service_settings(
        "ingest", nats_url=nats_url, data=home, models=models, query_address="", copies=1
    )
    worker = ServiceChild(
        "ingest-alone", "helix_ingest", environment=child_environment(settings), log=home / "ingest.log"
    )
    worker.start()
    try:
        yield
    finally:
        drain([worker], hurry=threading.Event(), say=lambda _: None)


async def _answers_per_second(url: str, wanted: int) -> float:
    client = await connect(url, name="helix-bench")
    try:
        begun, ends = (0, 0.0), time.monotonic() + WAIT_SECONDS
        while time.monotonic() < ends:
            state = (await client.jetstream().stream_info(subjects.DERIVED_STREAM)).state
            now = time.monotonic()
            if state.messages >= wanted:
                return (state.messages - begun[0]) / (now - begun[1])
            if state.messages >= min(_FIRST, wanted // 2) and not begun[0]:
                begun = (state.messages, now)
            await asyncio.sleep(LOOK_SECONDS)
    finally:
        await client.close()
    raise TemporaryError(f"ingest has not answered {wanted} events in {WAIT_SECONDS:g} s")


async def _publish_all(url: str, turns: Sequence[MessageEvent]) -> None:
    client = await connect(url, name="helix-bench")
    try:
        located = (SourceEvent(turn.event_id, turn) for turn in turns)
        await send_in_order(located, Publisher(client.jetstream()).publish_event, tally=Tally())
    finally:
        await client.close()
