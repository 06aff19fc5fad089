"""The floor of a recall: its embedding and its two engines alone, over the same generation in one process.

No pipeline over these engines takes less than the embedding plus the slower engine. `parallel` runs both at
once, as the service does. `dense` compares the dense channel with an exact search.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from helix_lab.bench.generate.load import BuildInfo
from helix_lab.bench.reading.recall_load import percentiles, request_of
from helix_memory.transport.recall_client import RecallClient
from helix_query.diagnostics.dense_check import channel_recall
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.generation.folders import current_number
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.artifacts.lexicon.query import FieldWeights
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.store import default_model

CANDIDATES: Final = 100
WARM_UP: Final = 20
EXACT_QUERIES: Final = 50


@contextmanager
def _opened(data: Path, models: Path) -> Iterator[tuple[Generation, Encoder]]:
    generation = Generation.open(data, current_number(data) or 0)
    try:
        with Encoder.load(default_model(models), lanes=1) as encoder:
            yield generation, encoder
    finally:
        generation.close()


def floor_section(
    address: str, data: Path, models: Path, info: BuildInfo, queries: Sequence[str]
) -> dict[str, Any]:
    """`floor_ms`: percentiles of each engine, of embedding + the slower, and of embedding + both at once.

    `recall` among them is the service's whole recall of the same texts, asked over gRPC a moment before: a
    machine whose speed changes from one minute to the next gives no ratio of two sections.
    """
    # texts that were not asked before: the service keeps vectors of those
    texts = [f"{text} {number}" for number, text in enumerate(queries, 1)]
    with (
        _opened(data, models) as (generation, encoder),
        ThreadPoolExecutor(2) as lanes,
        RecallClient(address) as client,
    ):
        search = _Searches(generation, info)

        def asked(text: str) -> dict[str, float]:
            recall, _ = _timed(lambda: client.recall(request_of(info, text)))
            return {"recall": recall} | _row(search, encoder, lanes, text)

        for text in info.questions[1 : 1 + WARM_UP]:
            asked(text)
        rows = [asked(text) for text in texts]
    return {"floor_ms": {name: percentiles([row[name] for row in rows]) for name in rows[0]}}


class _Searches:
    """Both engines, asked for what the service asks."""

    def __init__(self, generation: Generation, info: BuildInfo) -> None:
        self._generation = generation
        self._selection = Selection(info.tenant)
        self._weights = FieldWeights()

    def dense(self, vector: np.ndarray) -> object:
        return self._generation.vectors.search(vector, self._selection, limit=CANDIDATES)

    def lexical(self, text: str) -> object:
        return self._generation.lexicon.search(text, self._selection, limit=CANDIDATES, weights=self._weights)


def _row(search: _Searches, encoder: Encoder, lanes: ThreadPoolExecutor, text: str) -> dict[str, float]:
    embed, vector = _timed(lambda: encoder.embed(text))
    dense, _ = _timed(lambda: search.dense(vector))
    lexical, _ = _timed(lambda: search.lexical(text))

    def both() -> None:
        running = lanes.submit(search.dense, vector), lanes.submit(search.lexical, text)
        for one in running:
            one.result()

    parallel, _ = _timed(both)
    return {
        "embed": embed,
        "dense": dense,
        "lexical": lexical,
        "floor": embed + max(dense, lexical),
        "parallel": embed + parallel,
    }


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return (time.perf_counter() - started) * 1_000, result


def dense_section(data: Path, models: Path, info: BuildInfo, queries: Sequence[str]) -> dict[str, Any]:
    """`dense_recall_at_100`: share of the exact 100 nearest visible memories that the dense channel finds."""
    with _opened(data, models) as (generation, encoder):
        vectors = np.array([encoder.embed(text) for text in queries[:EXACT_QUERIES]])
        found = channel_recall(generation, info.tenant, vectors, depth=CANDIDATES)
    if found is None:
        return {}
    return {
        "dense_recall_at_100": round(found.recall, 4),
        "dense_recall_at_100_worst": round(found.worst, 4),
        "dense_recall_queries": found.queries,
    }
