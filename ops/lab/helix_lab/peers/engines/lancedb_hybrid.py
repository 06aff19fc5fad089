"""LanceDB's own hybrid search: its full-text index and its vector search, fused by its RRFReranker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.rerankers import RRFReranker

PACKAGE = "lancedb"
NOTE = "hybrid; full-text index at its defaults (English stems and stop words), vectors as in lancedb_dense"

INDEXED_FROM_ROWS = 100_000
"""Up to about this many LanceDB's documentation calls a vector index unnecessary."""


def load(
    documents: list[dict[str, str]], vectors: np.ndarray, home: Path
) -> Callable[[str, np.ndarray, str, int], list[str]]:
    """Write one table with a full-text index; tenants are a prefilter on a bitmap index."""
    columns = {name: [document[name] for document in documents] for name in ("handle", "content", "tenant")}
    flat = pa.array(vectors.reshape(-1), pa.float32())
    columns["vector"] = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    table = lancedb.connect(home).create_table("documents", pa.table(columns))
    table.create_fts_index("content")
    if any(columns["tenant"]):
        table.create_scalar_index("tenant", index_type="BITMAP")
    if len(documents) >= INDEXED_FROM_ROWS:
        table.create_index()
    reranker = RRFReranker()

    def search(text: str, vector: np.ndarray, tenant: str, top_k: int) -> list[str]:
        query = table.search(query_type="hybrid").vector(vector).text(text)
        query = query.rerank(reranker).select(["handle"]).limit(top_k)
        if tenant:
            query = query.where(f"tenant = '{tenant}'", prefilter=True)
        return [row["handle"] for row in query.to_list()]

    return search
