"""The truth: a set published through NATS and asked over gRPC, as a user's program would."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from helix.recall.v1 import recall_pb2
from helix_cli.located import Located
from helix_cli.recall_client import RecallClient
from helix_cli.sending import Tally, send_in_order
from helix_cli.stack import Stack
from helix_lab.data import EvaluationSet, Question
from helix_lab.handles import event_of, handle, moment, tenant_of
from helix_lab.settle import settle
from helix_shared.broker.connection import connect
from helix_shared.broker.publisher import Publisher

CRASH_LOOK_SECONDS: Final = 0.05

Tick = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one question: document ids, best first, and how long it took."""

    question: Question
    ranking: list[str]
    milliseconds: float
    skipped: bool


def publish_set(data: EvaluationSet, stack: Stack, *, wait_seconds: float) -> tuple[Tally, float]:
    """Publish the corpus and wait until all of it is recallable; the seconds that took."""
    return asyncio.run(_publish(data, stack.nats_url, stack.query_address, wait_seconds))


def crash_half_way(stack: Stack, documents: int) -> threading.Thread:
    """SIGKILL one of each worker and the writer once half of `documents` is recallable."""

    def crash() -> None:
        with RecallClient(stack.query_address) as client:
            while client.status().memories < documents // 2:
                time.sleep(CRASH_LOOK_SECONDS)
        for service in ("ingest", "doc2query", "kg", "consolidation"):
            stack.kill(service)

    thread = threading.Thread(target=crash, daemon=True)
    thread.start()
    return thread


async def _publish(
    data: EvaluationSet, nats_url: str, query_address: str, wait_seconds: float
) -> tuple[Tally, float]:
    started = time.monotonic()
    client = await connect(nats_url, name="helix-lab")
    tally = Tally()
    try:
        publisher = Publisher(client.jetstream())
        events = (Located(str(n), event_of(data, n)) for n in range(len(data.documents)))
        await send_in_order(events, publisher.publish_event, tally=tally)
    finally:
        await client.close()
    await settle(nats_url, query_address, wait_seconds=wait_seconds)
    return tally, time.monotonic() - started


def ask_set(
    data: EvaluationSet, query_address: str, *, profile: str, top_k: int, tick: Tick = lambda: None
) -> list[Answer]:
    """Ask every answerable question over gRPC, one after the other."""
    names = {handle("document", data.name, document.id): document.id for document in data.documents}
    answers = []
    with RecallClient(query_address) as client:
        for question in data.answerable:
            answers.append(_ask(client, data.name, question, names, profile, top_k))
            tick()
    return answers


def _ask(
    client: RecallClient, set_name: str, question: Question, names: dict[str, str], profile: str, top_k: int
) -> Answer:
    request = recall_pb2.RecallRequest(
        scope=recall_pb2.Scope(tenant_id=tenant_of(set_name, question.tenant)),
        query=question.text,
        top_k=top_k,
        ranking_profile=profile,
    )
    asked_at = moment(question.timestamp)
    if asked_at is not None:
        request.now.FromDatetime(asked_at)
    started = time.perf_counter()
    reply = client.recall(request)
    took = (time.perf_counter() - started) * 1_000
    found = [names[memory.memory.source.event_id] for memory in reply.memories]
    # several pieces of one document rank as the best of them
    return Answer(question, list(dict.fromkeys(found)), took, reply.route.skipped)
