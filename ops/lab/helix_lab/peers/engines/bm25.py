"""Plain BM25 by bm25s: Lucene form, k1 1.2, b 0.75, its own lower-cased words, no stemmer, no stop words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bm25s
import numpy as np

PACKAGE = "bm25s"
NOTE = "sparse only; a word has two letters or more; word statistics are those of all tenants together"


def load(
    documents: list[dict[str, str]], _vectors: np.ndarray, _home: Path
) -> Callable[[str, np.ndarray, str, int], list[str]]:
    """Index every content; a tenant is a mask over the scores."""
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index(_words([document["content"] for document in documents]), show_progress=False)
    handles = [document["handle"] for document in documents]
    tenants = np.array([document["tenant"] for document in documents])
    nothing = np.zeros(len(tenants), np.float32)
    masks = {tenant: (tenants == tenant).astype(np.float32) for tenant in set(tenants.tolist()) - {""}}

    def search(text: str, _vector: np.ndarray, tenant: str, top_k: int) -> list[str]:
        found = index.retrieve(
            _words([text]),
            k=min(top_k, len(handles)),
            weight_mask=masks.get(tenant, nothing) if tenant else None,
            show_progress=False,
        )
        pairs = zip(found.documents[0], found.scores[0], strict=True)
        return [handles[row] for row, score in pairs if score > 0]

    return search


def _words(texts: list[str]) -> list[list[str]]:
    words: list[list[str]] = bm25s.tokenize(texts, stopwords=None, return_ids=False, show_progress=False)
    return words
