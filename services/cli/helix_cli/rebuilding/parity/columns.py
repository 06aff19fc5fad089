"""The columns of memories, and their vectors, of the same ids in two generations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_cli.rebuilding.parity.result import Section
from helix_shared.artifacts.vectors.scan import SCAN_COLUMN, VECTOR_COLUMN

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from helix_shared.artifacts.generation.reader import Generation

OF_ITS_OWN: Final = frozenset({"ordinal", "access_count", "last_accessed_at", "decayed_at"})
"""Columns that no log decides: places in the stores, and accesses, which are taken over afterwards."""
_SECTIONS: Final = {
    "texts": ("content_hash", "text", "context", "title"),
    "hidden": ("hidden", "deleted_at", "deleted_by", "erasing", "expires_at"),
    "versions": (
        "is_latest",
        "superseded_by",
        "duplicate_of",
        "closed_at",
        "restated",
        "corrects",
        "derived_from",
    ),
    "questions": ("expansions",),
}
_BY_RELATIONS: Final = frozenset({"hidden", "is_latest", "superseded_by", "closed_at", "restated"})
"""Columns that a decided relation can change."""
OTHERS: Final = "other columns"
VECTORS: Final = "vectors"
_VECTOR: Final = (VECTOR_COLUMN, SCAN_COLUMN)
_BATCH: Final = 4_096


def compare_columns(
    before: Generation,
    after: Generation,
    places: NDArray[np.int64],
    *,
    same_model: bool,
    explained: Container[str] = (),
) -> list[Section]:
    """Sections of the columns and of the vectors; `places` [n, 2] has the ordinals of each memory in both.

    Of the memories `explained`, other relations are explained, and so what relations change.
    """
    sections = {name: Section(name) for name in (*_SECTIONS, OTHERS, VECTORS)}
    section_of = {column: name for name, columns in _SECTIONS.items() for column in columns}
    names = [name for name in before.vectors.columns if name in after.vectors.columns]
    skipped = set(before.vectors.columns) ^ set(after.vectors.columns)
    if skipped:
        sections[OTHERS].note = f"only one has {', '.join(sorted(skipped))}"
    plain = [name for name in names if name not in OF_ITS_OWN and name not in _VECTOR]
    cosines: list[NDArray[np.float64]] = []
    for start in range(0, len(places), _BATCH):
        part = places[start : start + _BATCH]
        old, new = (
            side.vectors.take(part[:, column], [*names]) for column, side in enumerate((before, after))
        )
        ids = old["memory_id"].to_pylist()
        touched: dict[str, set[int]] = {name: set() for name in sections}
        unexplained: dict[str, set[int]] = {name: set() for name in sections}
        for column in plain:
            section = sections[section_of.get(column, OTHERS)]
            for row in _differing(old, new, column):
                touched[section.name].add(row)
                if column not in _BY_RELATIONS or ids[row] not in explained:
                    unexplained[section.name].add(row)
                section.example(ids[row], column, old[column][row].as_py(), new[column][row].as_py())
        if same_model:
            cosines.append(_compare_vectors(old, new, ids, sections[VECTORS], touched[VECTORS]))
            unexplained[VECTORS] = touched[VECTORS]
        for name, rows in touched.items():
            sections[name].compared += len(ids)
            sections[name].different += len(rows)
            sections[name].explained += len(rows - unexplained[name])
    if not same_model:
        sections[VECTORS] = Section(VECTORS, note="not compared: another model made them")
    elif any(len(one) for one in cosines):
        found = np.concatenate(cosines)
        sections[
            VECTORS
        ].note = f"cosine of those that differ: least {found.min():.6f}, mean {found.mean():.6f}"
    return list(sections.values())


def _differing(old: pa.Table, new: pa.Table, column: str) -> Sequence[int]:
    """Rows in which a column differs; of `hidden` only where time and use decide nothing."""
    left, right = old[column], new[column]
    if left.equals(right):
        return ()
    before, after = left.to_pylist(), right.to_pylist()
    rows = [row for row, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
    if column != "hidden":
        return rows
    decayed, expires = old["decayed_at"].to_pylist(), old["expires_at"].to_pylist()
    return [row for row in rows if decayed[row] is None and expires[row] is None]


def _compare_vectors(
    old: pa.Table, new: pa.Table, ids: list[str], section: Section, touched: set[int]
) -> NDArray[np.float64]:
    """Note the rows whose vectors differ in a bit; returns the cosines of the vectors themselves."""
    found: list[Any] = []
    for column in _VECTOR:
        if column not in old.column_names:
            continue
        if old[column].equals(new[column]):
            continue
        before, after = old[column].to_pylist(), new[column].to_pylist()
        for row, (left, right) in enumerate(zip(before, after, strict=True)):
            if left != right:
                touched.add(row)
                cosine = _cosine(left, right)
                section.example(ids[row], column, "", f"cosine {cosine:.6f}")
                found.append(cosine)
    return np.array(found, np.float64)


def _cosine(left: list[float] | None, right: list[float] | None) -> float:
    """0 where one has no vector, or one of another length."""
    if left is None or right is None or len(left) != len(right):
        return 0.0
    a, b = np.asarray(left, np.float64), np.asarray(right, np.float64)
    length = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / length if length else 0.0
