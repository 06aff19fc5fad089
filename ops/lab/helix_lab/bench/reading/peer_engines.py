"""Other engines on the same vectors, texts and questions, through the lab's machinery for peers.

The questions are phrase queries: recall@10 is how often the memory they were taken from is among the first
ten. Vectors are given, so compare their times with a recall without its embedding.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np

from helix_lab.bench.generate.load import BuildInfo
from helix_lab.bench.reading.recall_load import HIT_AT, percentiles
from helix_lab.peers.exchange import read_costs
from helix_lab.peers.run import run_peers
from helix_lab.sets.answers import Run
from helix_lab.sets.data import Document, EvaluationSet, Question
from helix_shared.artifacts.generation.folders import current_number
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.store import default_model

ENGINES: Final = ("lancedb_hybrid", "chroma", "txtai_hybrid")
QUESTIONS: Final = 200
TOP_K: Final = 10
_COLUMNS: Final = ("memory_id", "text", "title", "speaker", "tenant_id")


def peers_section(
    data: Path, models: Path, info: BuildInfo, *, python: Path, most_seconds: float
) -> dict[str, Any]:
    """`peers`: times, recall@10 and costs of each engine, or why it has none."""
    if not python.exists():
        return {"peers": {"skipped": f"no environment of the peers at {python}; run `make peers-setup`"}}
    data_set, vectors = _as_set(data, info)
    with Encoder.load(default_model(models), lanes=1) as encoder:
        asked = np.stack([encoder.embed(question.text) for question in data_set.questions])
    with tempfile.TemporaryDirectory(prefix=".peers-", dir=data) as scratch:
        results = run_peers(
            data_set,
            vectors,
            asked,
            engines=ENGINES,
            python=python,
            top_k=TOP_K,
            folder=Path(scratch),
            timeout_seconds=most_seconds,
        )
        return {"peers": {result.name: _figures(result, data_set, Path(scratch)) for result in results}}


def _figures(result: Any, data: EvaluationSet, folder: Path) -> dict[str, Any]:
    if not isinstance(result, Run):
        return {"skipped": result.reason}
    hits = [
        next(iter(data.relevant[answer.question_id])) in answer.ranking[:HIT_AT] for answer in result.answers
    ]
    costs = read_costs(folder / result.name)
    return {
        "recall_ms": percentiles([answer.milliseconds for answer in result.answers]),
        "recall_at_10": round(float(np.mean(hits)), 3),
        "load_seconds": round(costs.load_seconds, 1),
        "peak_memory_mib": round(costs.peak_memory_mib),
        "version": costs.version,
        "note": costs.note,
    }


def _as_set(data: Path, info: BuildInfo) -> tuple[EvaluationSet, np.ndarray]:
    """Every memory as a document, and its vector."""
    generation = Generation.open(data, current_number(data) or 0)
    try:
        table = generation.vectors.take(np.arange(info.n), list(_COLUMNS))
        # int8 vectors of a large corpus as float32
        vectors = np.empty((info.n, generation.vectors.dimensions), np.float32)
        for ordinals, full in generation.vectors.all_vectors():
            vectors[ordinals] = full
    finally:
        generation.close()
    columns = [table[name].to_pylist() for name in _COLUMNS]
    documents = [
        Document(memory_id, text, title, "", "", speaker, tenant)
        for memory_id, text, title, speaker, tenant in zip(*columns, strict=True)
    ]
    items = info.phrase_queries[:QUESTIONS]
    questions = [Question(f"q{k}", text, "", "", info.tenant) for k, (text, _) in enumerate(items)]
    relevant = {f"q{k}": {item: 1.0} for k, (_, item) in enumerate(items)}
    return EvaluationSet(f"bench-{info.n}", documents, questions, relevant), vectors
