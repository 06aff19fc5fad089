"""The reader of the vector table of a published generation, pinned to the version it opened.

Searches are approximate if there is a vector index; scores are exact cosines of the stored vectors.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from helix_shared.artifacts.files.held_folder import HeldFolder
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.filter.sql import id_prefixes_sql, texts_sql
from helix_shared.artifacts.filter.versions import Versions
from helix_shared.artifacts.hits import MAX_HITS, Hits
from helix_shared.artifacts.vectors.engine import lancedb
from helix_shared.artifacts.vectors.files import TABLE_FOLDER
from helix_shared.artifacts.vectors.maintenance import unindexed_rows, vector_index
from helix_shared.artifacts.vectors.scan import (
    SCAN_COLUMN,
    SHORT_CANDIDATES,
    VECTOR_COLUMN,
    scanned_column,
    scanned_dimensions,
    shortened,
    unit_query,
)
from helix_shared.artifacts.vectors.search_loop import result_of
from helix_shared.artifacts.vectors.table import (
    RowMap,
    open_for_search,
    open_table,
    require_table,
    rows_of_ids,
)
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

    from helix_shared.artifacts.vectors.index import VectorIndex

INDEX_CACHE_BYTES: Final = 256 << 20
"""Cache of a reader for index pages: over 10^6 memories a binary index takes 76 MB, a product one 108."""
METADATA_CACHE_BYTES: Final = 64 << 20
MOST_TAIL_ROWS: Final = 30_000
"""Longest `tail`; with more rows outside the index, the engine scans them."""
_BATCH_ROWS: Final = 8_192


class Latest(Protocol):
    """Ordinals of the newest rows: `Signals.latest`."""

    def __call__(self, count: int, /) -> NDArray[np.int64]:
        """At least `count` of them."""


class Cosines(Protocol):
    """Exact cosines of a unit query with the memories of `ordinals`: `Signals.cosines`."""

    def __call__(self, query: NDArray[np.float32], ordinals: NDArray[np.int64], /) -> NDArray[np.float32]:
        """One cosine per ordinal."""


class VectorReader:
    """Reads the table of a published generation; safe to use from several threads.

    With `cosines` the index's candidates are rescored from memory-mapped vectors, which is faster than
    LanceDB's own refinement. Without an index LanceDB's distances are exact.
    """

    def __init__(
        self,
        folder: Path,
        *,
        cosines: Cosines | None = None,
        latest: Latest | None = None,
        previous: VectorReader | None = None,
        scratch: Path | None = None,
    ) -> None:
        """Pin the newest version in `folder`; row ids that `previous` has read are not read again.

        With `latest` it has a `tail`. With `scratch`, a local writable folder, it holds the files of the
        table there, so that `folder` may be removed while it is in use.

        Raises:
            CorruptArtifactError: there is no table, or it cannot be read.
            OSError: the files cannot be held.
        """
        require_table(folder)
        self._held = None if scratch is None else HeldFolder(folder / TABLE_FOLDER, scratch)
        self._cosines = cosines
        self._row_map: RowMap | None = None
        self._earlier_map = None if previous is None else previous.row_map
        self._lock = threading.Lock()
        self._versions: Versions | None = None
        self._versions_lock = threading.Lock()
        try:
            place = folder if self._held is None else self._held.root
            session = lancedb.Session(INDEX_CACHE_BYTES, METADATA_CACHE_BYTES)
            self._table = open_table(place, session=session)
            self._searched = result_of(open_for_search(place, session=session))
            self._schema: pa.Schema = self._table.schema
            # Short vectors need `cosines` to be rescored.
            self._column = VECTOR_COLUMN if cosines is None else scanned_column(self._schema)
            scanned = self._column == scanned_column(self._schema)
            self._index = vector_index(self._table) if scanned else None
            self.tail = None if latest is None or self._index is None else _tail(self.unindexed_rows, latest)
            """Rows outside the index, for the caller to compare; None: the engine scans them."""
        except BaseException:
            self.close()
            raise

    @property
    def columns(self) -> list[str]:
        """Names of a record's columns."""
        return list(self._schema.names)

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self._schema.field("vector").type.list_size)

    @property
    def count(self) -> int:
        """Rows, hidden ones included."""
        return int(self._table.count_rows())

    def search(
        self,
        vector: NDArray[np.float32],
        selection: Selection | None,
        *,
        limit: int,
        nprobes: int | None = None,
        candidates: int | None = None,
        indexed_only: bool = False,
    ) -> Hits:
        """The `limit` selected memories nearest to `vector`; the score is the exact cosine.

        Without a selection it searches all rows, hidden ones and those of all tenants included: the caller
        must check them. `nprobes` partitions are searched and `candidates` neighbours rescored by full
        vectors; the defaults suit the index. Without an index all rows are compared. `indexed_only` leaves
        out the rows outside the index, which take the engine several times as long as the rest.

        Raises:
            InvalidInputError: a vector of another length, zero or not finite; a limit out of bounds.
        """
        query = unit_query(vector, self.dimensions)
        if not 1 <= limit <= MAX_HITS:
            raise InvalidInputError("limit", f"must be 1 to {MAX_HITS}")
        depth = max(limit, self.candidates(limit) if candidates is None else candidates)
        refine = math.ceil(depth / limit) if self._cosines is None else None
        asked = depth if refine is None else limit
        found = result_of(self._nearest(query, selection, asked, nprobes, refine, indexed_only=indexed_only))
        ordinals = self._rows.ordinals(found["_rowid"].to_numpy())
        if self._cosines is None:
            return Hits.ranked(ordinals, np.float32(1) - found["_distance"].to_numpy(), limit=limit)
        return Hits.ranked(ordinals, self._cosines(query, ordinals), limit=limit)

    async def _nearest(
        self,
        query: NDArray[np.float32],
        selection: Selection | None,
        limit: int,
        nprobes: int | None,
        refine: int | None,
        *,
        indexed_only: bool,
    ) -> pa.Table:
        """Row ids and distances from LanceDB."""
        short = scanned_dimensions(self._schema) if self._column == SCAN_COLUMN else self.dimensions
        search = self._searched.query().nearest_to(shortened(query, short)).column(self._column)
        search = search.distance_type("cosine").select(["_distance"]).with_row_id().limit(limit)
        if selection is not None:
            # LanceDB applies the filter before the search by default
            search = search.where(selection.sql())
        if self._index is not None:
            search = search.nprobes(max(1, self._index.nprobes if nprobes is None else nprobes))
            search = search if refine is None else search.refine_factor(refine)
            search = search.fast_search() if indexed_only else search
        return await search.to_arrow()

    def candidates(self, limit: int) -> int:
        """Number of neighbours that are rescored by full vectors for the best `limit`."""
        if self._index is not None:
            return self._index.candidates(limit)
        return SHORT_CANDIDATES * limit if self._column == SCAN_COLUMN else limit

    def all_vectors(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Ordinals and full vectors of all rows, in batches; reads the whole table, so not for a recall."""
        every = self._table.search().select(["ordinal", VECTOR_COLUMN]).limit(max(self.count, 1))
        for batch in every.to_batches(_BATCH_ROWS):
            flat = batch[VECTOR_COLUMN].flatten().to_numpy(zero_copy_only=False)
            yield batch["ordinal"].to_numpy(), flat.reshape(batch.num_rows, self.dimensions)

    def take(
        self, ordinals: Sequence[int] | NDArray[np.int64], columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Rows of the `ordinals` that exist, in their order; the column `ordinal` is always included."""
        names = list(dict.fromkeys(["ordinal", *(self._schema.names if columns is None else columns)]))
        wanted = np.asarray(ordinals, dtype=np.int64)
        row_ids = self._rows.row_ids(wanted)
        if not len(row_ids):
            return self._schema.empty_table().select(names)
        rows = self._table.take_row_ids(row_ids.tolist()).select(names).to_arrow()
        # LanceDB returns rows in the order of its files, and one row for an ordinal given twice
        position = {ordinal: index for index, ordinal in enumerate(rows["ordinal"].to_pylist())}
        return rows.take(np.array([position[one] for one in wanted.tolist() if one in position], np.int64))

    def find(self, memory_ids: Sequence[str], columns: Sequence[str] | None = None) -> pa.Table:
        """Rows with these memory ids, in any order; includes hidden rows and other tenants': check them."""
        return rows_of_ids(self._table, memory_ids, self._schema.names if columns is None else columns)

    def find_prefixes(self, prefixes: Iterable[str], tenant_id: str, columns: Sequence[str]) -> pa.Table:
        """Rows of a tenant whose id begins with one of these, any order; hidden rows, too."""
        return self._where(id_prefixes_sql(prefixes, tenant_id), columns)

    def find_texts(self, texts: Iterable[str], tenant_id: str, columns: Sequence[str]) -> pa.Table:
        """Rows of a tenant whose text has the `content_hash` of one of these, any order; hidden rows, too."""
        return self._where(texts_sql(texts, tenant_id), columns)

    @property
    def row_map(self) -> RowMap | None:
        """The map of row ids; None until a search or a take needed it."""
        return self._row_map

    @property
    def versions(self) -> Versions:
        """When hidden rows were superseded; read on first use."""
        with self._versions_lock:
            if self._versions is None:
                self._versions = Versions.read(self._where)
            return self._versions

    @property
    def index(self) -> VectorIndex | None:
        """The vector index; None: searches are exact."""
        return self._index

    @property
    def unindexed_rows(self) -> int:
        """Rows outside the index, which every search scans; all rows without one."""
        return unindexed_rows(self._table, self._index)

    @property
    def scanned_dimensions(self) -> int:
        """Dimensions of a vector that are scanned."""
        return scanned_dimensions(self._schema)

    def warm(self, *, with_index: bool = False) -> None:
        """Load what the first search needs; `with_index`: the vector index too, which takes .3 s at 10^6."""
        if with_index and self._index is not None:
            self._table.prewarm_index(self._index.name)
        self.search(np.ones(self.dimensions, np.float32), Selection(tenant_id="warm"), limit=1)

    def close(self) -> None:
        """Release the files; the reader cannot be used afterwards."""
        if self._held is not None:
            self._held.close()

    def _where(self, condition: str, columns: Sequence[str]) -> pa.Table:
        found = self._table.search().where(condition).select(list(columns)).limit(max(self.count, 1))
        return found.to_arrow()

    @property
    def _rows(self) -> RowMap:
        with self._lock:
            if self._row_map is None:
                earlier, self._earlier_map = self._earlier_map, None
                if earlier is not None and earlier.fits(self._table):
                    self._row_map = earlier.extended(self._table)
                else:
                    self._row_map = RowMap.of(self._table)
            return self._row_map


def _tail(unindexed: int, latest: Latest) -> NDArray[np.int64] | None:
    """The rows outside the index, and some inside it; None if there are too many."""
    ordinals = latest(unindexed) if unindexed else np.empty(0, np.int64)
    return ordinals if len(ordinals) <= MOST_TAIL_ROWS else None
