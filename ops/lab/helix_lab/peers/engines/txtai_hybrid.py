"""txtai hybrid: its own BM25 and Faiss, scores added half and half; vectors come through `transform`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
from txtai import Embeddings

PACKAGE = "txtai"
NOTE = (
    "hybrid; its Faiss index is approximate above 5,000 documents; its tenant filter works on the best "
    "10 x top_k candidates of all tenants, so it may find fewer"
)

TENANT_QUERY = "select id, score from txtai where similar(:text) and tenant = :tenant"


def load(
    documents: list[dict[str, str]], vectors: np.ndarray, _home: Path
) -> Callable[[str, np.ndarray, str, int], list[str]]:
    """Index in memory; content is stored only if there are several tenants."""
    waiting = iter(vectors)
    tenants = any(document["tenant"] for document in documents)

    def transform(texts: list[str]) -> np.ndarray:
        # Indexing asks for the documents in their order, a search for its one question.
        return np.stack(list(islice(waiting, len(texts))))

    engine = Embeddings(method="external", transform=transform, hybrid=True, content=tenants)
    engine.index(
        (document["handle"], {"text": document["content"], "tenant": document["tenant"]}, None)
        for document in documents
    )

    def search(text: str, vector: np.ndarray, tenant: str, top_k: int) -> list[str]:
        nonlocal waiting
        waiting = iter((vector,))
        if tenant:
            given = {"text": text, "tenant": tenant}
            return [row["id"] for row in engine.search(TENANT_QUERY, top_k, parameters=given)]
        found = engine.search(text, top_k)
        return [row["id"] for row in found] if tenants else [handle for handle, _ in found]

    return search
