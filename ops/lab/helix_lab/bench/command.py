"""What recall costs over its engines: whole recalls against their floor, in one run.

The floor of a query is its embedding plus the slower of the raw LanceDB search and the raw tantivy
search over the same generation: less than that no pipeline over these engines can take.
"""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from helix.events import MessageEvent
from helix.recall.v1 import recall_pb2
from helix_cli.located import Located
from helix_cli.recall_client import RecallClient
from helix_cli.sending import Tally, send_in_order
from helix_cli.stack import Stack
from helix_lab.settle import settle
from helix_shared.artifacts.generation import Generation
from helix_shared.artifacts.lexicon_query import FieldWeights
from helix_shared.artifacts.publishing import current
from helix_shared.artifacts.selection import Selection
from helix_shared.broker.connection import connect
from helix_shared.broker.publisher import Publisher
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.store import default_model
from helix_shared.settings import helix_home

TENANT: Final = "bench"
CANDIDATES: Final = 100
_SUBJECTS: Final = ("staging", "the importer", "billing", "the scheduler", "the parser", "our cache", "login")
_VERBS: Final = ("fails with", "now uses", "was moved to", "should avoid", "depends on", "logs", "retries")
_OBJECTS: Final = ("port", "token", "E", "queue", "shard", "timeout", "index", "worker", "schema", "bucket")
_REASONS: Final = (
    "since the release",
    "after the migration",
    "because of load",
    "in the nightly run",
    "again",
)

console = Console()


def bench(
    n: Annotated[int, typer.Option(help="Memories.", min=100, max=1_000_000)] = 2_000,
    queries: Annotated[int, typer.Option(help="Recalls to time.", min=10, max=10_000)] = 200,
    out: Annotated[Path | None, typer.Option(help="Write the figures as JSON here.")] = None,
    wait_seconds: Annotated[float, typer.Option(help="How long publishing may take.")] = 3_600.0,
) -> None:
    """Publish generated turns, time recalls over gRPC and, on the same generation, the bare engines."""
    drawn = random.Random(7)  # noqa: S311  a repeatable text, no secret
    turns = list(_turns(drawn, n))
    asked = [" ".join(drawn.sample(turn.text.split(), 6)) for turn in drawn.choices(turns, k=queries)]
    with (
        tempfile.TemporaryDirectory(prefix="helix-bench-") as home,
        Stack(Path(home), nats_port=0, query_port=0, models=helix_home() / "models") as stack,
    ):
        stack.wait_ready()
        seconds = asyncio.run(_publish(turns, stack, wait_seconds))
        recalls, stages = _recalls(stack.query_address, asked)
        floor = _floor(stack.home.data, asked)
    report = {
        "n": n,
        "queries": queries,
        "memories_per_second": round(n / seconds, 1),
        "recall_ms": _percentiles(recalls),
        "stages_ms": {name: _percentiles(times) for name, times in stages.items()},
        "floor_ms": {name: _percentiles(times) for name, times in floor.items()},
        "recall_over_floor_p50": round(float(np.median(recalls) / np.median(floor["floor"])), 2),
    }
    _print(report)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(report, indent=2) + "\n")


def _turns(drawn: random.Random, n: int) -> Iterator[MessageEvent]:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for k in range(n):
        words = (drawn.choice(part) for part in (_SUBJECTS, _VERBS, _OBJECTS))
        tail = f"{drawn.randrange(10_000)} {drawn.choice(_REASONS)}, seen in module_{drawn.randrange(500)}"
        yield MessageEvent(
            event_id=f"bench-{k}",
            tenant_id=TENANT,
            session_id=f"s{k // 40}",
            role="user",
            text=f"{' '.join(words)} {tail}",
            occurred_at=start + timedelta(minutes=k),
        )


async def _publish(turns: list[MessageEvent], stack: Stack, wait_seconds: float) -> float:
    started = time.monotonic()
    client = await connect(stack.nats_url, name="helix-bench")
    try:
        located = (Located(turn.event_id, turn) for turn in turns)
        await send_in_order(located, Publisher(client.jetstream()).publish_event, tally=Tally())
    finally:
        await client.close()
    await settle(stack.nats_url, stack.query_address, wait_seconds=wait_seconds)
    return time.monotonic() - started


def _recalls(address: str, asked: list[str]) -> tuple[list[float], dict[str, list[float]]]:
    whole: list[float] = []
    stages: dict[str, list[float]] = {}
    with RecallClient(address) as client:
        for text in asked:
            request = recall_pb2.RecallRequest(scope=recall_pb2.Scope(tenant_id=TENANT), query=text)
            started = time.perf_counter()
            reply = client.recall(request)
            whole.append((time.perf_counter() - started) * 1_000)
            for stage in reply.stages:
                stages.setdefault(stage.stage, []).append(stage.milliseconds)
    return whole, stages


def _floor(data: Path, asked: list[str]) -> dict[str, list[float]]:
    """Embedding, raw dense and raw lexical search of the same queries, one after the other."""
    generation = Generation.open(data, current(data) or 0)
    try:
        with Encoder.load(default_model(helix_home() / "models"), lanes=1) as encoder:
            rows = [_engine_times(generation, encoder, text) for text in asked]
    finally:
        generation.close()
    columns = dict(zip(("embed", "dense", "lexical"), map(list, zip(*rows, strict=True)), strict=True))
    return columns | {"floor": [embed + max(dense, lexical) for embed, dense, lexical in rows]}


def _engine_times(generation: Generation, encoder: Encoder, text: str) -> tuple[float, float, float]:
    selection, weights = Selection(TENANT), FieldWeights()
    embed, vector = _timed(lambda: encoder.embed_query(text))
    dense, _ = _timed(lambda: generation.vectors.search(vector, selection, limit=CANDIDATES))
    lexical, _ = _timed(lambda: generation.lexicon.search(text, selection, limit=CANDIDATES, weights=weights))
    return embed, dense, lexical


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return (time.perf_counter() - started) * 1_000, result


def _percentiles(times: list[float]) -> dict[str, float]:
    return {f"p{q}": round(float(np.percentile(times, q)), 2) for q in (50, 95, 99)}


def _print(report: dict[str, Any]) -> None:
    table = Table(title=f"{report['n']} memories, {report['queries']} recalls", title_justify="left")
    for column in ("what", "p50 ms", "p95 ms", "p99 ms"):
        table.add_column(column, justify="left" if column == "what" else "right")
    rows = {"whole recall over gRPC": report["recall_ms"]}
    rows |= {f"  stage {name}": times for name, times in report["stages_ms"].items()}
    rows |= {f"engine {name}": times for name, times in report["floor_ms"].items()}
    for name, times in rows.items():
        table.add_row(name, *(f"{times[p]:.2f}" for p in ("p50", "p95", "p99")))
    console.print(table)
    console.print(
        f"whole recall / floor at p50: {report['recall_over_floor_p50']}; "
        f"published to recallable: {report['memories_per_second']} memories a second"
    )
