"""Section `index` of the bench: every kind over the same vectors, against exact search."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console

from helix_lab.bench.generate.base_memories import KINDS, Base
from helix_lab.bench.reading.vector_indices import compare_kinds, index_page, index_table
from helix_shared.artifacts.vectors.form import INDEX_KINDS

ROWS, DIMENSIONS = 3_000, 16


def test_each_kind_is_measured_and_shown(tmp_path: Path) -> None:
    """Recall is a share of the exact hundred; product codes are smaller than scalar ones."""
    drawn = np.random.default_rng(1)
    vectors = drawn.standard_normal((len(KINDS) * 50, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    kinds = np.repeat(np.arange(len(KINDS)), 50).astype(np.int8)
    base = Base(pa.table({}), vectors, kinds, links=[], expansions=[], questions=[])
    found = compare_kinds(tmp_path, base, vectors[:20], ROWS, seed=3)
    assert found["auto"] == "scalar"
    assert tuple(found["kinds"]) == INDEX_KINDS
    for figures in found["kinds"].values():
        assert figures["partitions"] == figures["probes"] == 3
        assert 0.9 < figures["recall_at_100"] <= 1
        assert 0.9 < figures["recall_at_10"] <= 1
    sizes = {kind: figures["bytes_per_vector"] for kind, figures in found["kinds"].items()}
    assert sizes["product"] < sizes["scalar"]
    page = list(index_page({"vector_index": found}))
    assert [line.split(" | ")[0] for line in page] == [
        "| index", f"|---|{'---:|' * 9}", "| scalar (auto)", "| binary", "| product", "",
    ]  # fmt: skip
    console = Console(width=120, record=True)
    console.print(index_table({"vector_index": found}))
    assert "recall@100" in console.export_text()


def test_a_report_without_the_section_has_no_table() -> None:
    """Other sections are shown as before."""
    assert index_table({}) is None
    assert list(index_page({})) == []
