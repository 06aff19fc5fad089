"""Section `index`: each kind of vector index on the same generated vectors, without the rest of Helix.

Vectors are those of a bench of the same size and seed: real ones moved by noise. Queries are real questions.
The table, the index and the reader are the store's own; neighbours are rescored by int8 vectors, as a store
of that size keeps them. Recall is against exact search by the float32 vectors.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from rich.table import Table

from helix_lab.bench.generate.base_memories import Base, read_base, texts
from helix_lab.bench.generate.layout import lay_out
from helix_lab.bench.generate.load import BATCH
from helix_lab.bench.generate.variant_vectors import moved, noise_of
from helix_lab.bench.reading.recall_load import percentiles
from helix_lab.sets.vector_store import VectorStore
from helix_shared.artifacts.signals.vector_storage import dot_products, packed
from helix_shared.artifacts.vectors.files import remove_superseded
from helix_shared.artifacts.vectors.form import INDEX_KINDS, IndexKind
from helix_shared.artifacts.vectors.index import wanted_index
from helix_shared.artifacts.vectors.maintenance import build_vector_index
from helix_shared.artifacts.vectors.reader import VectorReader
from helix_shared.artifacts.vectors.records import table_schema
from helix_shared.artifacts.vectors.table import open_table
from helix_shared.artifacts.vectors.writer import VectorWriter
from helix_shared.edges import MINHASH_BYTES
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.model import read_card
from helix_shared.encoders.store import default_model

if TYPE_CHECKING:
    from numpy.typing import NDArray

TEN: Final = 10
DEPTH: Final = 100
LANES: Final = 2
_MEGABYTE: Final = 1_000_000
_HEAD: Final = (
    *("index", "recall@10", "recall@100", "build s", "build CPU s", "MB", "bytes a vector"),
    *("search p50 ms", "search p95 ms", "search CPU ms"),
)
_EMPTY: Final[dict[pa.DataType, Any]] = {
    pa.string(): "",
    pa.bool_(): False,
    pa.list_(pa.string()): [],
    pa.list_(pa.int32()): [],
    pa.binary(MINHASH_BYTES): bytes(MINHASH_BYTES),
    pa.timestamp("us", tz="UTC"): 0,
}


@dataclass(frozen=True, slots=True)
class _Corpus:
    """A table of `n` rows without an index, its stored vectors, and the queries with their exact answers."""

    folder: Path
    n: int
    stored: NDArray[Any]
    queries: NDArray[np.float32]
    exact: NDArray[np.int64]


def index_section(
    home: Path, models: Path, data: Path | None, n: int, *, seed: int, queries: int
) -> dict[str, Any]:
    """`vector_index`: recall@100, build, size and search times of each kind of index over `n` vectors.

    Works in a folder below the lab's `home`, which it removes.
    """
    model = default_model(models)
    with (
        VectorStore(home / "vectors", model=read_card(model).checksum) as store,
        Encoder.load(model, lanes=LANES, cache=store) as encoder,
    ):
        base = read_base(texts(data), encoder)
        chosen = np.random.default_rng(seed).permutation(len(base.questions))[:queries].tolist()
        asked = np.array([encoder.embed(base.questions[place]) for place in chosen], np.float32)
    with tempfile.TemporaryDirectory(prefix=".index-", dir=home) as folder:
        return {"vector_index": compare_kinds(Path(folder), base, asked, n, seed=seed)}


def compare_kinds(
    folder: Path, base: Base, queries: NDArray[np.float32], n: int, *, seed: int
) -> dict[str, Any]:
    """Measure every kind of index over `n` variants of the base vectors; `folder` is empty."""
    corpus = _corpus(folder, base, queries, n, seed=seed)
    kinds = {kind: _measured(corpus, kind) for kind in INDEX_KINDS}
    return {"auto": wanted_index(n).kind, "kinds": kinds}


def index_table(report: Mapping[str, Any]) -> Table | None:
    """The section as a table of the console, a column for each kind."""
    if not (rows := list(_rows(report))):
        return None
    heads, *figures = zip(*rows, strict=True)
    table = Table(*heads, title="vector index", title_justify="left")
    for line in figures:
        table.add_row(*line)
    return table


def index_page(report: Mapping[str, Any]) -> Iterator[str]:
    """The section as a table of Markdown."""
    for number, row in enumerate(_rows(report)):
        yield f"| {' | '.join(row)} |"
        if number == 0:
            yield "|---|" + "---:|" * (len(row) - 1)
    if "vector_index" in report:
        yield ""


def _rows(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    found = report.get("vector_index")
    if not found:
        return
    yield _HEAD
    for kind, figures in found["kinds"].items():
        times = figures["search_ms"]
        yield (
            f"{kind} (auto)" if kind == found["auto"] else kind,
            f"{figures['recall_at_10']:.3f}",
            f"{figures['recall_at_100']:.3f}",
            f"{figures['build_seconds']}",
            f"{figures['build_cpu_seconds']}",
            f"{figures['bytes'] / _MEGABYTE:.1f}",
            f"{figures['bytes_per_vector']:.1f}",
            f"{times['p50']}",
            f"{times['p95']}",
            f"{figures['search_cpu_ms']}",
        )


def _corpus(folder: Path, base: Base, asked: NDArray[np.float32], n: int, *, seed: int) -> _Corpus:
    layout, noise = lay_out(n, base.kinds, seed=seed), noise_of(base.vectors)
    dimensions = base.vectors.shape[1]
    writer = VectorWriter.create(folder / "table", dimensions)
    kind = packed(np.empty((0, dimensions), np.float32), "int8").dtype
    stored = np.lib.format.open_memmap(folder / "stored.npy", mode="w+", dtype=kind, shape=(n,))
    scores, nearest = np.empty((len(asked), 0), np.float32), np.empty((len(asked), 0), np.int64)
    for start in range(0, n, BATCH):
        part = slice(start, start + BATCH)
        vectors = moved(noise, layout.base[part], layout.session[part], seed=seed + start)
        stored[part] = packed(vectors, "int8")
        writer.upsert(_records(start, vectors))
        ordinals = np.broadcast_to(np.arange(start, start + len(vectors)), (len(asked), len(vectors)))
        scores, nearest = np.hstack([scores, asked @ vectors.T]), np.hstack([nearest, ordinals])
        best = np.argpartition(-scores, min(DEPTH, n) - 1, axis=1)[:, :DEPTH]
        scores, nearest = np.take_along_axis(scores, best, 1), np.take_along_axis(nearest, best, 1)
    stored.flush()
    exact = np.take_along_axis(nearest, np.argsort(-scores, axis=1), 1)
    return _Corpus(folder / "table", n, stored, asked, exact)


def _records(start: int, vectors: NDArray[np.float32]) -> pa.Table:
    """Whole rows of the table with these vectors; every other column is empty."""
    count, dimensions = vectors.shape
    schema = table_schema(dimensions)
    columns: dict[str, Any] = {
        "ordinal": np.arange(start, start + count),
        "memory_id": [f"{ordinal:032x}" for ordinal in range(start, start + count)],
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), dimensions),
    }
    for field in schema:
        if field.name not in columns:
            columns[field.name] = pa.array([_EMPTY.get(field.type, 0)] * count, field.type)
    return pa.table(columns, schema=schema)


def _measured(corpus: _Corpus, kind: IndexKind) -> dict[str, Any]:
    table, index = open_table(corpus.folder), wanted_index(corpus.n, scan=kind)
    started, used = time.perf_counter(), time.process_time()
    build_vector_index(table, index)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - used
    remove_superseded(corpus.folder)
    size = sum(found.size_bytes for found in table.list_indices() if found.name == index.name)
    return {
        "build_seconds": round(seconds, 1),
        "build_cpu_seconds": round(cpu_seconds, 1),
        "bytes": size,
        "bytes_per_vector": round(size / corpus.n, 1),
        "partitions": index.partitions,
        "probes": index.nprobes,
        "candidates": index.candidates(DEPTH),
    } | _searched(corpus)


def _searched(corpus: _Corpus) -> dict[str, Any]:
    reader = VectorReader(
        corpus.folder, cosines=lambda query, ordinals: dot_products(corpus.stored[ordinals], query)
    )
    reader.warm(with_index=True)
    first_ten, shares, times = [], [], []
    used = time.process_time()
    for query, exact in zip(corpus.queries, corpus.exact, strict=True):
        started = time.perf_counter()
        hits = reader.search(query, None, limit=DEPTH, indexed_only=True)
        times.append((time.perf_counter() - started) * 1_000)
        first_ten.append(np.isin(exact[:TEN], hits.ordinals[:TEN]).mean())
        shares.append(np.isin(exact, hits.ordinals).mean())
    cpu_seconds = time.process_time() - used
    reader.close()
    return {
        "recall_at_10": round(float(np.mean(first_ten)), 4),
        "recall_at_100": round(float(np.mean(shares)), 4),
        "search_ms": percentiles(times),
        "search_cpu_ms": round(cpu_seconds * 1_000 / len(times), 2),
    }
