"""The stored rows around an erasure."""

import tracemalloc
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa

from helix_cli.residue.canaries import Canaries
from helix_cli.residue.stored import rows_left, stored_rows
from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.artifacts.generation.publishing import set_pointer
from helix_shared.artifacts.vectors.files import TABLE

ROWS, DIMENSIONS = 2_000, 384
VECTORS = np.random.default_rng(0).random((ROWS, DIMENSIONS), np.float32)


def data_folder(root: Path) -> Path:
    """A data folder of which the current generation has every other row of acme."""
    folder = folder_of(root, 1)
    folder.mkdir(parents=True)
    columns = {
        "memory_id": [f"{number:032x}" for number in range(ROWS)],
        "tenant_id": ["other" if number % 2 else "acme" for number in range(ROWS)],
        "text": [f"what was said as number {number}" for number in range(ROWS)],
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(VECTORS.ravel()), DIMENSIONS),
    }
    lancedb.connect(folder).create_table(TABLE, pa.table(columns))
    set_pointer(root, 1)
    return root


def test_the_rows_of_one_tenant_take_little_more_memory_than_their_bytes(tmp_path: Path) -> None:
    """As lists of numbers, the vectors of a million memories would take 12 GB."""
    data = data_folder(tmp_path)
    tracemalloc.start()
    rows = stored_rows(data, "acme", with_vectors=True)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [row["memory_id"] for row in rows] == [f"{number:032x}" for number in range(0, ROWS, 2)]
    assert np.array_equal([row["vector"] for row in rows], VECTORS[::2])
    assert most < len(rows) * (DIMENSIONS * 4 + 1_500)
    assert all(row.keys() == {"memory_id", "text"} for row in stored_rows(data, "acme"))
    assert stored_rows(data, "o'ther") == []


def test_the_vector_of_an_erased_row_is_searched_for(tmp_path: Path) -> None:
    """Its bytes are in no text."""
    before = stored_rows(data_folder(tmp_path), "acme", with_vectors=True)
    gone, searched = rows_left(before, before[1:])
    assert gone == searched == before[:1]
    canaries = Canaries.of_rows(searched)
    assert canaries.count(b"something" + VECTORS[0].tobytes()) == 1
    assert canaries.count(VECTORS[1:].tobytes()) == 0
