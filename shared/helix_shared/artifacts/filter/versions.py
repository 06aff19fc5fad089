"""The times at which hidden memories were superseded, for recalls of a past moment.

A correction supersedes the memory that it names and every earlier correction of that memory. A version of a
document supersedes the pieces of the version before. A later memory that replaces the value of an earlier one
closes it (`superseded_by`). If the superseding memory no longer exists (its document was deleted, or the
correction was erased or forgotten), the time is unknown and the memory counts as superseded at any time.
Forgotten memories are left out, and a forgotten correction supersedes nothing.

There are two times: when the superseding memory was created, that is known, and when it occurred.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from helix_shared.artifacts.filter.sql import ids_sql
from helix_shared.artifacts.signals.columns import NO_TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

ReadRows = Callable[[str, Sequence[str]], pa.Table]
"""Reads columns of the rows that satisfy an SQL condition."""

NEVER: Final = int(np.iinfo(np.int64).max)
ALWAYS: Final = int(np.iinfo(np.int64).min)
IDS_PER_READ: Final = 1_000

_STATED: Final = ("tenant_id", "stream_sequence", "created_at", "occurred_at")


@dataclass(frozen=True, slots=True)
class Versions:
    """Hidden memories that are not forgotten: `ordinals` [n], ascending, and their times [n].

    Times are microseconds since 1970 (UTC), `NEVER` or `ALWAYS`.
    """

    ordinals: NDArray[np.int64]
    superseded_at: NDArray[np.int64]
    """When the superseding memory was created."""
    ended_at: NDArray[np.int64]
    """When it occurred."""
    valid_to: NDArray[np.int64]
    """Until when the event of the memory said that it holds; `NO_TIME`: it did not say."""

    @classmethod
    def read(cls, read: ReadRows) -> Self:
        """From the vector table of a generation; documents are read only if one was replaced."""
        columns = (
            "ordinal",
            "memory_id",
            "corrects",
            "document_id",
            "is_latest",
            "superseded_by",
            "valid_to",
            "decayed_at",
        )
        hidden = read("hidden = true AND deleted_at IS NULL", (*columns, *_STATED))
        corrections = read("corrects != '' AND deleted_at IS NULL", ("corrects", *_STATED))
        replaced = pc.any(pc.and_(pc.invert(hidden["is_latest"]), pc.not_equal(hidden["document_id"], "")))
        documents = read("document_id != ''", ("document_id", *_STATED)) if replaced.as_py() else None
        return cls.of(hidden, corrections, documents, _closing(read, hidden))

    @classmethod
    def of(
        cls,
        hidden: pa.Table,
        corrections: pa.Table,
        documents: pa.Table | None,
        closing: pa.Table | None = None,
    ) -> Self:
        """From hidden rows, corrections that are not forgotten, all pieces of documents, and closing rows."""
        times = np.minimum(
            _first_after(corrections, "corrects", hidden, "memory_id"),
            _first_after(corrections, "corrects", hidden, "corrects"),
        )
        if documents is not None:
            times = np.minimum(times, _first_after(documents, "document_id", hidden, "document_id"))
        times = np.where(times == NEVER, _closed(closing, hidden), times)
        is_latest = hidden["is_latest"].to_numpy()
        times[:, ~is_latest & (times[0] == NEVER)] = ALWAYS
        # a memory that decay hides was known until then; what is not decayed has only expired
        decayed_at = hidden["decayed_at"].cast(pa.int64()).fill_null(NEVER).to_numpy()
        times[:, is_latest] = np.stack([decayed_at, np.where(decayed_at == NEVER, NEVER, ALWAYS)])[
            :, is_latest
        ]
        valid_to = hidden["valid_to"].cast(pa.int64()).fill_null(NO_TIME).to_numpy()
        order = np.argsort(ordinals := hidden["ordinal"].to_numpy())
        return cls(ordinals[order], times[0][order], times[1][order], valid_to[order])

    def is_current(
        self, ordinals: NDArray[np.int64], *, as_of: int | None, valid_at: int | None
    ) -> NDArray[np.bool_]:
        """Which of `ordinals` [n] are here and were not superseded by a memory that counts.

        It counts if it was created by `as_of` and occurred by `valid_at` (microseconds since 1970).
        """
        places, is_current = self._places(ordinals)
        is_current[is_current] = ~self._counts(places[is_current], as_of, valid_at)
        return is_current

    def ends(
        self,
        ordinals: NDArray[np.int64],
        valid_to: NDArray[np.int64],
        *,
        as_of: int | None,
        valid_at: int | None,
    ) -> NDArray[np.int64]:
        """`valid_to` [n] of the signals without the ends that only a memory that does not count has set."""
        places, here = self._places(ordinals)
        found = valid_to.copy()
        rows = np.flatnonzero(here)
        rows = rows[~self._counts(places[rows], as_of, valid_at)]
        found[rows] = self.valid_to[places[rows]]
        return found

    def _places(self, ordinals: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        if not len(self.ordinals):
            return np.zeros(len(ordinals), np.int64), np.zeros(len(ordinals), np.bool_)
        places = np.minimum(np.searchsorted(self.ordinals, ordinals), len(self.ordinals) - 1)
        here: NDArray[np.bool_] = self.ordinals[places] == ordinals
        return places, here

    def _counts(
        self, places: NDArray[np.int64], as_of: int | None, valid_at: int | None
    ) -> NDArray[np.bool_]:
        counts: NDArray[np.bool_] = self.superseded_at[places] != NEVER
        if as_of is not None:
            counts &= self.superseded_at[places] <= as_of
        if valid_at is not None:
            counts &= self.ended_at[places] <= valid_at
        return counts


def _closing(read: ReadRows, hidden: pa.Table) -> pa.Table | None:
    """The memories that `superseded_by` names; None if there are none."""
    named = pc.unique(pc.if_else(hidden["is_latest"], "", hidden["superseded_by"])).to_pylist()
    ids = sorted({one for one in named if one})
    columns = ("memory_id", *_STATED)
    parts = [
        read(ids_sql(ids[start : start + IDS_PER_READ]), columns)
        for start in range(0, len(ids), IDS_PER_READ)
    ]
    return pa.concat_tables(parts) if parts else None


def _closed(closing: pa.Table | None, rows: pa.Table) -> NDArray[np.int64]:
    """Times [2, n] at which the memory named by `superseded_by` of each row was created and occurred."""
    if closing is None:
        return np.full((2, rows.num_rows), NEVER, np.int64)
    times = dict(zip(closing["memory_id"].to_pylist(), _times(closing).T.tolist(), strict=True))
    found = [times.get(one, (NEVER, NEVER)) for one in rows["superseded_by"].to_pylist()]
    return np.array(found, np.int64).reshape(-1, 2).T


def _first_after(later: pa.Table, later_key: str, rows: pa.Table, key: str) -> NDArray[np.int64]:
    """Times [2, n] at which the next row of `later` with the key of each of `rows` was created and occurred.

    `NEVER` where there is none. Sequences ascend with the time of creation.
    """
    if not later.num_rows or not rows.num_rows:
        return np.full((2, rows.num_rows), NEVER, np.int64)
    keys = pa.concat_arrays([_keys(later, later_key), _keys(rows, key)]).dictionary_encode().indices
    sequences = np.concatenate([_numbers(later["stream_sequence"]), _numbers(rows["stream_sequence"])])
    steps, step = np.unique(sequences, return_inverse=True)
    places = keys.to_numpy().astype(np.int64) * len(steps) + step
    mine, theirs = places[later.num_rows :], places[: later.num_rows]
    order = np.argsort(theirs)
    following = np.searchsorted(theirs[order], mine, side="right")
    chosen = order[np.minimum(following, len(order) - 1)]
    same_key = theirs[chosen] // len(steps) == mine // len(steps)
    named = ~np.equal(rows[key].to_numpy(), "")
    return np.where(same_key & named & (following < len(order)), _times(later)[:, chosen], NEVER)


def _times(table: pa.Table) -> NDArray[np.int64]:
    """When rows were created and when they occurred, [2, n]."""
    return np.stack([_numbers(table[name].cast(pa.int64())) for name in ("created_at", "occurred_at")])


def _keys(table: pa.Table, column: str) -> Any:
    joined = pc.binary_join_element_wise(table["tenant_id"], table[column], "\x1f")
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined


def _numbers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = column.to_numpy().astype(np.int64)
    return numbers
