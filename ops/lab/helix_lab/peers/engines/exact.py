"""Exact dense search: the inner product with every vector of the tenant, in numpy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

PACKAGE = "numpy"
NOTE = "dense only, brute force; numpy has no filter, so a tenant has a block of vectors of its own"


def load(
    documents: list[dict[str, str]], vectors: np.ndarray, _home: Path
) -> Callable[[str, np.ndarray, str, int], list[str]]:
    """Keep one block of vectors for every tenant, and the whole."""
    handles = np.array([document["handle"] for document in documents])
    tenants = np.array([document["tenant"] for document in documents])
    blocks = {
        tenant: (handles[tenants == tenant], np.ascontiguousarray(vectors[tenants == tenant]))
        for tenant in set(tenants.tolist()) - {""}
    }
    blocks[""] = (handles, vectors)
    nothing = handles[:0], vectors[:0]

    def search(_text: str, vector: np.ndarray, tenant: str, top_k: int) -> list[str]:
        names, block = blocks.get(tenant, nothing)
        scores = block @ vector
        best = np.argsort(-scores, kind="stable")[:top_k]
        found: list[str] = names[best].tolist()
        return found

    return search
