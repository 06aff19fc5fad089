"""Chroma: its persistent client, one collection, HNSW at its defaults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import chromadb
import numpy as np
from chromadb.config import Settings

PACKAGE = "chromadb"
NOTE = "dense only (HNSW): the local engine has no search over words and vectors together"


def load(
    documents: list[dict[str, str]], vectors: np.ndarray, home: Path
) -> Callable[[str, np.ndarray, str, int], list[str]]:
    """Fill a collection in batches of the client's own size; tenants are a metadata filter."""
    client = chromadb.PersistentClient(home, settings=Settings(anonymized_telemetry=False))
    collection = client.create_collection("documents", embedding_function=None)
    batch = client.get_max_batch_size()
    for start in range(0, len(documents), batch):
        part = documents[start : start + batch]
        collection.add(
            ids=[document["handle"] for document in part],
            embeddings=vectors[start : start + batch],
            documents=[document["content"] for document in part],
            metadatas=[{"tenant": document["tenant"]} for document in part],
        )

    def search(_text: str, vector: np.ndarray, tenant: str, top_k: int) -> list[str]:
        found = collection.query(
            query_embeddings=[vector],
            n_results=min(top_k, len(documents)),
            where={"tenant": tenant} if tenant else None,
            include=[],
        )
        handles: list[str] = found["ids"][0]
        return handles

    return search
