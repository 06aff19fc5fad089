"""The stream path: a corpus is published through NATS and asked over gRPC, as a user's program would.

Uses nothing but `helix_cli`'s stack, publisher and client. Documents are published as `helix import` does it,
in the order of the set: relations between memories follow the order of the log, on the direct path as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from helix_cli.clients.bulk import send_in_bulk
from helix_cli.clients.sending import Tally
from helix_cli.stack.services import FORWARDER
from helix_cli.stack.stack import Stack
from helix_lab.sets.answers import Answer
from helix_lab.sets.ask import answer_of, names_of, request_of
from helix_lab.sets.data import EvaluationSet, Question
from helix_lab.sets.handles import event_of
from helix_lab.sets.wait_recallable import wait_recallable
from helix_memory.transport.connection import connect
from helix_memory.transport.polling import poll
from helix_memory.transport.publisher import Publisher
from helix_memory.transport.recall_client import RecallClient
from helix_shared.errors import TemporaryError
from helix_shared.sources.source_event import SourceEvent

CRASH_LOOK_SECONDS: Final = 0.05
CRASHED: Final = ("ingest", "doc2query", "kg", "consolidation")
COPIED: Final = ("ingest", "doc2query", "kg")


@dataclass(frozen=True, slots=True)
class Loading:
    """How a corpus is published."""

    copies: int = 1
    """Copies of each worker."""
    crash: bool = False
    """SIGKILL one process of each worker, and the writer, half way through."""
    wait_seconds: float = 3_600.0


@dataclass(frozen=True, slots=True)
class StreamCorpus:
    """One set, published and recallable."""

    data: EvaluationSet
    client: RecallClient
    names: Mapping[str, str]
    published: int
    seconds: float
    """Seconds from the first publish until everything could be recalled."""

    def ask(self, question: Question, profile: str, *, top_k: int) -> Answer:
        """Answer one question; the time is the caller's."""
        request = request_of(self.data, question, profile=profile, top_k=top_k)
        started = time.perf_counter()
        reply = self.client.recall(request)
        milliseconds = (time.perf_counter() - started) * 1_000
        return answer_of(reply, question, self.names, milliseconds=milliseconds)


@contextlib.contextmanager
def open_stream(
    data: EvaluationSet, models: Path, profiles: Path, *, loading: Loading
) -> Iterator[StreamCorpus]:
    """A stack of its own with the whole corpus published; `profiles` is a folder of ranking profiles.

    Raises:
        TemporaryError: not all events are recallable within `loading.wait_seconds`.
    """
    with (
        tempfile.TemporaryDirectory(prefix="helix-lab-") as home,
        Stack(
            Path(home),
            nats_port=0,
            query_port=0,
            # questions of the lab are no use of a memory
            copies=dict.fromkeys(COPIED, loading.copies) | {FORWARDER: 0},
            models=models,
            environment={"HELIX_QUERY_PROFILES_DIR": str(profiles)},
        ) as stack,
        RecallClient(stack.query_address) as client,
    ):
        stack.wait_ready()
        tally, seconds = _load(data, stack, loading)
        yield StreamCorpus(data, client, names_of(data), tally.published, seconds)


def _load(data: EvaluationSet, stack: Stack, loading: Loading) -> tuple[Tally, float]:
    started = time.monotonic()
    waiting = ThreadPoolExecutor(1, thread_name_prefix="lab-crash")
    try:
        half = len(data.documents) // 2
        crashing = waiting.submit(crash_after, stack, half, loading.wait_seconds) if loading.crash else None
        tally = asyncio.run(_publish(data, stack, loading.wait_seconds))
        if crashing is not None:
            crashing.result()
            asyncio.run(
                wait_recallable(stack.nats_url, stack.query_address, wait_seconds=loading.wait_seconds)
            )
    finally:
        # not awaited: where publishing failed, its calls fail when the stack ends
        waiting.shutdown(wait=False)
    return tally, time.monotonic() - started


def crash_after(stack: Stack, events: int, wait_seconds: float) -> None:
    """SIGKILL one of each worker and the writer once the first `events` of the log can be recalled.

    Raises:
        TemporaryError: they cannot within `wait_seconds`; nothing was killed.
    """
    with RecallClient(stack.query_address) as client:
        for _ in poll(wait_seconds, every_seconds=CRASH_LOOK_SECONDS):
            if client.status().applied_sequence >= events:
                break
        else:
            raise TemporaryError(
                f"{events} events are not recallable after {wait_seconds:g} s: nothing was killed"
            )
    for service in CRASHED:
        stack.kill(service)


async def _publish(data: EvaluationSet, stack: Stack, wait_seconds: float) -> Tally:
    client = await connect(stack.nats_url, name="helix-lab")
    tally = Tally()
    try:
        publisher = Publisher(client.jetstream())
        events = (SourceEvent(str(n), event_of(data, n)) for n in range(len(data.documents)))
        publish_batch = functools.partial(publisher.publish_together, client)
        await send_in_bulk(events, publisher.publish_event, publish_batch, tally=tally)
    finally:
        await client.close()
    await wait_recallable(stack.nats_url, stack.query_address, wait_seconds=wait_seconds)
    return tally
