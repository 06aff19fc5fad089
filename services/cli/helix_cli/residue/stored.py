"""The stored rows of a tenant on this machine, and which of them an erasure took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_cli.residue.canaries import SEPARATOR
from helix_cli.residue.patterns import Patterns
from helix_shared.artifacts.filter.sql import literal
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.vectors.scan import VECTOR_COLUMN
from helix_shared.artifacts.vectors.table import open_table
from helix_shared.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LEAST_CHARACTERS: Final = 12
"""A shorter text occurs by chance."""
_COLUMNS: Final = ("memory_id", "text")


def stored_rows(data: Path, tenant_id: str, *, with_vectors: bool = False) -> list[dict[str, Any]]:
    """Id and text of every memory of a tenant in the current generation of its shard's folder.

    With its vector if that is wanted, an array: as numbers of Python, those of a million memories take 12 GB.

    Raises:
        NotFoundError: there is no generation in `data`.
        CorruptArtifactError: CURRENT is damaged.
    """
    number = current_number(data)
    if number is None:
        raise NotFoundError(f"there is no generation in {data}; run this where Helix runs")
    table = open_table(folder_of(data, number))
    names = [*_COLUMNS, *([VECTOR_COLUMN] if with_vectors else [])]
    wanted = table.search().where(f"tenant_id = {literal(tenant_id)}").select(names)
    rows: list[dict[str, Any]] = []
    for batch in wanted.limit(max(int(table.count_rows()), 1)).to_arrow().to_batches():
        found = batch.select(_COLUMNS).to_pylist()
        if with_vectors:
            vectors = np.array(batch[VECTOR_COLUMN].flatten(), np.float32).reshape(len(found), -1)
            found = [row | {VECTOR_COLUMN: vector} for row, vector in zip(found, vectors, strict=True)]
        rows += found
    return rows


def rows_left(
    before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows that are gone, and those of them that can be searched for: nobody else says the same."""
    there = {row["memory_id"] for row in after}
    gone = [row for row in before if row["memory_id"] not in there]
    long = [row for row in gone if len(row["text"]) >= LEAST_CHARACTERS]
    said = Patterns(map(_said, long)).occurring(SEPARATOR.join(map(_said, after)))
    return gone, [row for row in long if _said(row) not in said]


def _said(row: dict[str, Any]) -> bytes:
    return str(row["text"]).lower().encode("utf-8", "surrogatepass")
