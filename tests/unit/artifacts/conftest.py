"""Small corpora: complete records from the few columns that a test sets."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from helix_shared.artifacts.generation.live_stores import Live
from helix_shared.artifacts.generation.manifest import Counts, Manifest, ModelIdentity, StreamState, digest_of
from helix_shared.artifacts.lexicon.writer import entries_of
from helix_shared.artifacts.signals.columns import signals_of
from helix_shared.artifacts.vectors.records import record_schema
from helix_shared.edges import MINHASH_BYTES, empty_row

DIMENSIONS = 8
START = datetime(2026, 1, 1, tzinfo=UTC)

Records = Callable[[list[dict[str, Any]]], pa.Table]
Fill = Callable[[Live, pa.Table], None]


def unit_vector(seed: int, dimensions: int = DIMENSIONS) -> np.ndarray:
    """A random vector of length 1."""
    vector = np.random.default_rng(seed).normal(size=dimensions).astype(np.float32)
    return vector / np.linalg.norm(vector)


def record(ordinal: int, **given: Any) -> dict[str, Any]:
    """A complete record as Python values."""
    row = empty_row(record_schema(DIMENSIONS)) | {
        "salience": 0.5,
        "confidence": 0.5,
        "priority": 0.5,
        "ordinal": ordinal,
        "memory_id": f"{ordinal:032x}",
        "tenant_id": "acme",
        "type": "episodic",
        "audience": ["*"],
        "vector": unit_vector(ordinal),
        "minhash": np.full(MINHASH_BYTES // 4, ordinal, "<u4").tobytes(),
        "created_at": START,
        "occurred_at": START,
        "event_at": START + timedelta(minutes=ordinal),
        "stream_sequence": ordinal + 1,
    }
    return row | given


@pytest.fixture(scope="session")
def records() -> Records:
    """Complete records; other columns have defaults that follow from the ordinal."""

    def table(rows: list[dict[str, Any]]) -> pa.Table:
        given = next((row["vector"] for row in rows if "vector" in row), None)
        schema = record_schema(DIMENSIONS if given is None else len(given))
        return pa.Table.from_pylist(
            [record(**{"ordinal": index} | row) for index, row in enumerate(rows)], schema=schema
        )

    return table


@pytest.fixture
def live(tmp_path: Path) -> Live:
    """Empty live stores."""
    return Live.create(tmp_path / "data" / "live", dimensions=DIMENSIONS)


@pytest.fixture
def fill() -> Fill:
    """Apply records to all live stores, as consolidation does."""

    def apply(live: Live, table: pa.Table) -> None:
        live.vectors.upsert(table)
        live.signals.append(*signals_of(table))
        live.lexicon.delete(table["ordinal"].to_pylist())
        live.lexicon.upsert(entries_of(table))
        live.lexicon.commit()

    return apply


@pytest.fixture
def manifest_of() -> Callable[..., Manifest]:
    """A manifest for the present live stores."""

    def build(live: Live, generation: int, *, parent: int = 0, epoch: int = 1) -> Manifest:
        ids = live.vectors.scan(["memory_id"])["memory_id"].to_pylist()
        return Manifest(
            generation=generation,
            parent=parent,
            epoch=epoch,
            published_at=START,
            stream=StreamState(name="HELIX_EVENTS"),
            counts=Counts(memories=live.vectors.count, hidden=live.vectors.hidden_count),
            digest=digest_of(ids),
            model=ModelIdentity(name="test", checksum="0" * 64, dimensions=DIMENSIONS),
        )

    return build
