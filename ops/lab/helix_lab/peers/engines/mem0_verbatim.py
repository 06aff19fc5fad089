"""Mem0 OSS storing verbatim: `infer=False`, its default local Qdrant, no LLM, telemetry off."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

PACKAGE = "mem0ai"
NOTE = (
    "dense only: its keyword channel needs files from a model hub (fastembed's Qdrant/bm25) and a spaCy "
    "model, its entities an LLM at storing; its default threshold of 0.1 stays"
)

EVERYONE = "everyone"
"""Mem0 stores nothing without a user; `*` in a filter matches any."""


def load(
    documents: list[dict[str, str]], vectors: np.ndarray, home: Path
) -> Callable[[str, np.ndarray, str, int], list[str]]:
    """Add every content as a message of its tenant; tenants are Mem0's users."""
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(home)}
    # Mem0 reads both when it is imported.
    from mem0 import Memory  # noqa: PLC0415
    from mem0.embeddings.base import EmbeddingBase  # noqa: PLC0415

    class Given(EmbeddingBase):  # type: ignore[misc]  # mem0 ships no types
        """Returns the vector that was supplied for a text."""

        vector: np.ndarray

        def embed(self, _text: str, _memory_action: str | None = None) -> list[float]:
            numbers: list[float] = self.vector.tolist()
            return numbers

    memory = Memory.from_config(_config(home, vectors.shape[1]))
    given = memory.embedding_model = Given()
    for document, vector in zip(documents, vectors, strict=True):
        given.vector = vector
        memory.add(
            document["content"],
            user_id=document["tenant"] or EVERYONE,
            metadata={"handle": document["handle"]},
            infer=False,
        )

    def search(text: str, vector: np.ndarray, tenant: str, top_k: int) -> list[str]:
        given.vector = vector
        found = memory.search(text, top_k=top_k, filters={"user_id": tenant or "*"})
        return [row["metadata"]["handle"] for row in found["results"]]

    return search


def _config(home: Path, dimensions: int) -> dict[str, object]:
    # Clients of a model and of an embedder are made in any case; neither is ever called.
    remote = {"provider": "openai", "config": {"api_key": "never used"}}
    store = {"path": str(home / "qdrant"), "embedding_model_dims": dimensions}
    return {
        "llm": remote,
        "embedder": remote,
        "vector_store": {"provider": "qdrant", "config": store},
        "history_db_path": str(home / "history.db"),
    }
