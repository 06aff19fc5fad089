"""Recalls over gRPC, timed by the caller: one after the other, several at once, and the first after a start.

This process is the client; the query service is another process. `floor` measures what its engines alone
take.
"""

from __future__ import annotations

import contextlib
import itertools
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from helix_cli.stack.children import ServiceChild, child_environment
from helix_cli.stack.ports import choose_port
from helix_cli.stack.services import QUERY, service_settings
from helix_cli.stack.supervisor import drain
from helix_lab.bench.generate.load import BuildInfo
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.recall_client import RecallClient
from helix_shared.errors import OverloadedError, TemporaryError

WARM_UP: Final = 60
CALLERS: Final = 8
SATURATED_SECONDS: Final = 20.0
START_SECONDS: Final = 300.0
KIB: Final = 1_024
HIT_AT: Final = 10


@dataclass(slots=True)
class Asked:
    """Times of a series of recalls in milliseconds, in all and by stage, and which items were found."""

    milliseconds: list[float] = field(default_factory=list)
    stages: dict[str, list[float]] = field(default_factory=dict)
    hits: list[bool] = field(default_factory=list)
    without_embedding: list[float] = field(default_factory=list)
    unanswered: int = 0
    """Recalls without any channel, or without an answer; they are in no time."""


def asked_texts(info: BuildInfo, count: int) -> list[tuple[str, str]]:
    """Queries in turns: words of a known memory with its id, and a real question without an id."""
    questions = info.questions[:: max(1, len(info.questions) // max(1, count // 2))]
    mixed = itertools.chain.from_iterable(
        zip(info.phrase_queries, ((question, "") for question in itertools.cycle(questions)), strict=False)
    )
    return list(itertools.islice(mixed, count))


def percentiles(values: Sequence[float], marks: Sequence[int] = (50, 95, 99)) -> dict[str, float]:
    """Percentiles by name; empty for no values."""
    return {f"p{mark}": round(float(np.percentile(values, mark)), 2) for mark in marks} if values else {}


def request_of(info: BuildInfo, text: str) -> recall_pb2.RecallRequest:
    """A request with the default profile to the largest tenant, without a user."""
    return recall_pb2.RecallRequest(scope=recall_pb2.Scope(tenant_id=info.tenant), query=text)


def ask(address: str, info: BuildInfo, queries: Sequence[tuple[str, str]]) -> Asked:
    """Ask one after the other, after a warm-up with other questions."""
    found = Asked()
    with RecallClient(address) as client:
        for text in info.questions[1 : 1 + WARM_UP]:
            with contextlib.suppress(TemporaryError):
                client.recall(request_of(info, text))
        for text, item in queries:
            request = request_of(info, text)
            started = time.perf_counter()
            try:
                reply = client.recall(request)
            except TemporaryError:
                found.unanswered += 1
            else:
                _note(found, reply, (time.perf_counter() - started) * 1_000, item)
    return found


def _note(found: Asked, reply: recall_pb2.RecallResponse, milliseconds: float, item: str) -> None:
    found.milliseconds.append(milliseconds)
    stages = {stage.stage: stage.milliseconds for stage in reply.stages}
    for name, taken in stages.items():
        found.stages.setdefault(name, []).append(taken)
    found.without_embedding.append(milliseconds - stages.get("embed", 0.0))
    if item:
        ids = [memory.memory.memory_id for memory in reply.memories[:HIT_AT]]
        found.hits.append(item in ids)


def recall_section(asked: Asked) -> dict[str, Any]:
    """`recall_ms`, `stages_ms` and how often a known item was among the first ten."""
    return {
        "recall_ms": percentiles(asked.milliseconds),
        "stages_ms": {name: percentiles(times) for name, times in asked.stages.items()},
        "queries": len(asked.milliseconds),
        "unanswered": asked.unanswered,
        "own": {
            "recall_at_10": round(statistics.fmean(asked.hits), 3) if asked.hits else None,
            "without_embedding_ms": percentiles(asked.without_embedding),
        },
    }


def saturate(
    address: str,
    info: BuildInfo,
    queries: Sequence[tuple[str, str]],
    *,
    callers: int = CALLERS,
    seconds: float = SATURATED_SECONDS,
) -> dict[str, Any]:
    """Recalls a second when `callers` ask without a pause, and their latency."""
    times: list[float] = []
    failures = {"refused": 0, "unanswered": 0}
    lock = threading.Lock()
    ends = time.perf_counter() + seconds

    def call(offset: int) -> None:
        with RecallClient(address) as client:
            for text, _ in itertools.cycle([*queries[offset:], *queries[:offset]]):
                started = time.perf_counter()
                if started > ends:
                    return
                try:
                    client.recall(request_of(info, text))
                except (OverloadedError, TemporaryError) as error:
                    with lock:
                        failures["refused" if isinstance(error, OverloadedError) else "unanswered"] += 1
                    continue
                with lock:
                    times.append((time.perf_counter() - started) * 1_000)

    with ThreadPoolExecutor(callers) as pool:
        list(pool.map(call, (len(queries) * caller // callers for caller in range(callers))))
    return {
        "callers": callers,
        "recalls_per_second": round(len(times) / seconds, 1),
        **failures,
        **{f"{name}_ms": value for name, value in percentiles(times).items()},
    }


@contextlib.contextmanager
def query_service(data: Path, models: Path, log: Path) -> Iterator[tuple[ServiceChild, str]]:
    """Start a query service alone over `data`, without waiting for it; it ends with the block."""
    address = f"127.0.0.1:{choose_port(0, usual=0, option='port')}"
    settings = service_settings(QUERY, nats_url="", data=data, models=models, query_address=address, copies=1)
    child = ServiceChild("query-alone", "helix_query", environment=child_environment(settings), log=log)
    child.start()
    try:
        yield child, address
    finally:
        # killed, it would leave its links behind
        drain([child], hurry=threading.Event(), say=lambda _: None)


def start_seconds(data: Path, models: Path, info: BuildInfo, log: Path, *, rounds: int = 3) -> dict[str, Any]:
    """Seconds from process start to the first answer, median of `rounds`; files are in the page cache."""
    taken: list[float] = []
    for _ in range(rounds + 1):
        started = time.monotonic()
        with query_service(data, models, log) as (_, address), RecallClient(address) as client:
            _first_answer(client, info, deadline=started + START_SECONDS)
            taken.append(time.monotonic() - started)
    # the first start may read the disk
    return {"start_s": round(statistics.median(taken[1:]), 2), "start_first_s": round(taken[0], 2)}


def _first_answer(client: RecallClient, info: BuildInfo, *, deadline: float) -> None:
    while True:
        try:
            client.recall(request_of(info, info.questions[0]))
        except TemporaryError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def memory_bytes(pid: int) -> dict[str, int]:
    """Resident memory of a process: anonymous, and pages of mapped files shared with the page cache."""
    fields: dict[str, int] = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, value, *_ = line.split()
        fields[name.rstrip(":")] = int(value) * KIB
    return {
        "resident": fields["Rss"],
        "anonymous": fields["Anonymous"],
        "mapped": fields["Rss"] - fields["Anonymous"],
    }
