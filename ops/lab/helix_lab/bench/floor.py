"""The floor of a recall: its embedding and its two engines bare, over the same generation in one process.

Less than the embedding plus the slower engine no pipeline over these engines can take. `parallel` runs both
at once, as the service does. `dense` compares the vector index with an exact search.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from helix_lab.bench.asking import percentiles
from helix_lab.bench.load import Facts
from helix_shared.artifacts.generation import Generation
from helix_shared.artifacts.lexicon_query import FieldWeights
from helix_shared.artifacts.publishing import current
from helix_shared.artifacts.selection import Selection
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.store import default_model

CANDIDATES: Final = 100
WARM_UP: Final = 20
EXACT_QUERIES: Final = 50


@contextmanager
def _opened(data: Path, models: Path) -> Iterator[tuple[Generation, Encoder]]:
    generation = Generation.open(data, current(data) or 0)
    try:
        with Encoder.load(default_model(models), lanes=1) as encoder:
            yield generation, encoder
    finally:
        generation.close()


def floor_section(data: Path, models: Path, facts: Facts, queries: Sequence[str]) -> dict[str, Any]:
    """`floor_ms`: percentiles of each engine, of embedding + the slower, and of embedding + both at once."""
    with _opened(data, models) as (generation, encoder), ThreadPoolExecutor(2) as lanes:
        search = _Searches(generation, facts)
        for text in facts.questions[1 : 1 + WARM_UP]:
            _row(search, encoder, lanes, text)
        rows = [_row(search, encoder, lanes, text) for text in queries]
    return {"floor_ms": {name: percentiles([row[name] for row in rows]) for name in rows[0]}}


class _Searches:
    """Both engines, asked for what the service asks."""

    def __init__(self, generation: Generation, facts: Facts) -> None:
        self._generation = generation
        self._selection = Selection(facts.tenant)
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


def dense_section(data: Path, models: Path, facts: Facts, queries: Sequence[str]) -> dict[str, Any]:
    """`dense_recall_at_100`: what share of the exact 100 nearest the index finds."""
    selection, found = Selection(facts.tenant), []
    with _opened(data, models) as (generation, encoder):
        table = generation.vectors.search  # the service's own parameters
        allowed = np.flatnonzero(_admitted(generation, facts))
        for text in queries[:EXACT_QUERIES]:
            vector = encoder.embed(text)
            nearest = set(table(vector, selection, limit=CANDIDATES).ordinals.tolist())
            exact = generation.signals.cosines(vector, allowed)
            best = allowed[np.argsort(-exact, kind="stable")[:CANDIDATES]]
            found.append(len(nearest & set(best.tolist())) / max(1, len(best)))
    return {
        "dense_recall_at_100": round(float(np.mean(found)), 4),
        "dense_recall_at_100_worst": round(float(np.min(found)), 4),
        "dense_recall_queries": len(found),
    }


def _admitted(generation: Generation, facts: Facts) -> np.ndarray:
    """Which ordinals the asked selection holds, by the columns the vectors lie beside."""
    every = generation.vectors.take(
        np.arange(generation.manifest.counts.signals), ["tenant_id", "owner", "audience", "hidden"]
    )
    admitted = np.zeros(generation.manifest.counts.signals, np.bool_)
    for row in every.to_pylist():
        admitted[row["ordinal"]] = (
            row["tenant_id"] == facts.tenant
            and not row["owner"]
            and "*" in row["audience"]
            and not row["hidden"]
        )
    return admitted
