"""When hidden memories were superseded, for a recall of a past moment.

A correction supersedes the memory that it names and every earlier correction of that memory. A version of a
document supersedes the pieces of the version before. If the superseding memory no longer exists (its
document was deleted, or the correction was erased or forgotten), the time is unknown and the memory counts
as superseded at any time. Forgotten memories are left out, and a forgotten correction supersedes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from numpy.typing import NDArray

Read = Callable[[str, Sequence[str]], pa.Table]
"""Reads columns of the rows that satisfy an SQL condition."""

NEVER: Final = int(np.iinfo(np.int64).max)
ALWAYS: Final = int(np.iinfo(np.int64).min)

_STATED: Final = ("tenant_id", "stream_sequence", "created_at")


@dataclass(frozen=True, slots=True)
class Versions:
    """Hidden memories that are not forgotten: `ordinals` [n], ascending, and `superseded_at` [n].

    Times are microseconds since 1970 (UTC), `NEVER` or `ALWAYS`.
    """

    ordinals: NDArray[np.int64]
    superseded_at: NDArray[np.int64]

    @classmethod
    def read(cls, read: Read) -> Self:
        """From the vector table of a generation; documents are read only if one was replaced."""
        columns = ("ordinal", "memory_id", "corrects", "document_id", "is_latest", *_STATED)
        hidden = read("hidden = true AND deleted_at IS NULL", columns)
        corrections = read("corrects != '' AND deleted_at IS NULL", ("corrects", *_STATED))
        replaced = pc.any(pc.and_(pc.invert(hidden["is_latest"]), pc.not_equal(hidden["document_id"], "")))
        documents = read("document_id != ''", ("document_id", *_STATED)) if replaced.as_py() else None
        return cls.of(hidden, corrections, documents)

    @classmethod
    def of(cls, hidden: pa.Table, corrections: pa.Table, documents: pa.Table | None) -> Self:
        """From hidden rows, corrections that are not forgotten, and all pieces of documents."""
        superseded_at = np.minimum(
            _first_after(corrections, "corrects", hidden, "memory_id"),
            _first_after(corrections, "corrects", hidden, "corrects"),
        )
        if documents is not None:
            replaced_at = _first_after(documents, "document_id", hidden, "document_id")
            superseded_at = np.minimum(superseded_at, replaced_at)
        is_latest = hidden["is_latest"].to_numpy()
        superseded_at[~is_latest & (superseded_at == NEVER)] = ALWAYS
        superseded_at[is_latest] = NEVER
        ordinals = hidden["ordinal"].to_numpy()
        order = np.argsort(ordinals)
        return cls(ordinals[order], superseded_at[order])

    def is_current_at(self, ordinals: NDArray[np.int64], moment: int) -> NDArray[np.bool_]:
        """Which of `ordinals` [n] are here and were not superseded at `moment` (microseconds since 1970)."""
        if not len(self.ordinals):
            return np.zeros(len(ordinals), np.bool_)
        places = np.minimum(np.searchsorted(self.ordinals, ordinals), len(self.ordinals) - 1)
        is_current: NDArray[np.bool_] = self.ordinals[places] == ordinals
        is_current &= self.superseded_at[places] > moment
        return is_current


def _first_after(later: pa.Table, later_key: str, rows: pa.Table, key: str) -> NDArray[np.int64]:
    """For each of `rows` [n], when the next row of `later` with the same key was created, or `NEVER`.

    Sequences ascend with the time of creation.
    """
    if not later.num_rows or not rows.num_rows:
        return np.full(rows.num_rows, NEVER, np.int64)
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
    created = _numbers(later["created_at"].cast(pa.int64()))
    return np.where(same_key & named & (following < len(order)), created[chosen], NEVER)


def _keys(table: pa.Table, column: str) -> Any:
    joined = pc.binary_join_element_wise(table["tenant_id"], table[column], "\x1f")
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined


def _numbers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = column.to_numpy().astype(np.int64)
    return numbers
