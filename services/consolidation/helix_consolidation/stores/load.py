"""Start from the last generation: clone it into the live folder and rebuild the state.

A few columns of the vector table are scanned and turned into the ledger and the near-duplicate index
column-wise: seconds for a million memories.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from helix_consolidation.folding.incoming.codes import content_code, group_code
from helix_consolidation.ledger.consolidation_state import ConsolidationState, Model
from helix_consolidation.ledger.event_reach import NO_TIME, Visibility, value_code, visibility_of
from helix_consolidation.ledger.facts import FACTS, NO_DUPLICATE
from helix_consolidation.ledger.indexes import SourceIndex
from helix_consolidation.ledger.sequences import log_position
from helix_consolidation.ledger.usage_facts import DECAY_COLUMNS, may_decay
from helix_consolidation.stores.relation_state import restore_relations
from helix_consolidation.stores.state_files import restore_state
from helix_consolidation.usage.learned import remove_fitted_with_erased
from helix_shared.artifacts.generation.cloning import clone
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.integrity import verify
from helix_shared.artifacts.generation.live_stores import Live
from helix_shared.artifacts.generation.manifest import digest_of
from helix_shared.artifacts.signals.row_codes import codes_of_rows
from helix_shared.artifacts.vectors.form import DEFAULT_FORM, VectorForm
from helix_shared.edges import FIRST_STATEMENT_PIECE, MINHASH_PERMUTATIONS
from helix_shared.errors import CorruptArtifactError, naming_rebuild

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from helix_consolidation.ledger.event_reach import SelectorKind
    from helix_shared.artifacts.generation.manifest import Manifest

LIVE: Final = "live"
_COPIED_COLUMNS: Final = {
    "piece": "piece",
    "stream": "stream_sequence",
    "revision": "revision_sequence",
    "salience": "salience",
    "accesses": "access_count",
    "helpful": "helpful_count",
    "unhelpful": "unhelpful_count",
    "deleted_by": "deleted_by",
    "erasing": "erasing",
}
_TIMES: Final = {
    "expires_at": "expires_at",
    "deleted_at": "deleted_at",
    "created_at": "created_at",
    "accessed_at": "last_accessed_at",
    "decayed_at": "decayed_at",
}
_SELECTORS: Final[dict[SelectorKind, str]] = {
    "session": "session_id",
    "document": "document_id",
    "user": "user_id",
}
_SCANNED: Final = (
    "ordinal",
    "memory_id",
    "tenant_id",
    *_COPIED_COLUMNS.values(),
    *_SELECTORS.values(),
    *_TIMES.values(),
    *DECAY_COLUMNS,
    "type",
    "owner",
    "audience",
    "content_hash",
    "minhash",
    "corrects",
    "derived_from",
    "superseded_by",
    "duplicate_of",
    "is_latest",
    "hidden",
    "closed_at",
    "restated",
)


@dataclass(slots=True)
class Loaded:
    """What the writer starts with."""

    state: ConsolidationState
    live: Live | None
    """None until a memories message names the model and the length of its vectors."""
    manifest: Manifest | None
    """Manifest of CURRENT; None when there is none."""


def load(root: Path, *, form: VectorForm = DEFAULT_FORM) -> Loaded:
    """Clone CURRENT into `<root>/live` and read it; the previous content of `live` is removed.

    Raises:
        CorruptArtifactError: CURRENT cannot be read.
        InvalidInputError: its vectors are in a form that cannot become `form`.
    """
    folder, number = root / LIVE, current_number(root)
    state = ConsolidationState()
    if number is None:
        shutil.rmtree(folder, ignore_errors=True)
        return Loaded(state, None, None)
    try:
        return _load(root, folder, number, state, form)
    except CorruptArtifactError as error:
        raise CorruptArtifactError(naming_rebuild(error)) from error


def _load(root: Path, folder: Path, number: int, state: ConsolidationState, form: VectorForm) -> Loaded:
    # damage that is not found now would be published again under a fresh checksum
    verify(folder_of(root, number), verified=set())
    manifest = clone(root, number, folder)
    live = Live.open(folder, form=form)
    ordinals = max(restore_state(state, folder), live.signals.count)
    state.made_with = {name: set(versions) for name, versions in manifest.made_with.items()}
    state.model = Model(manifest.model.name, manifest.model.checksum, manifest.model.dimensions)
    remove_fitted_with_erased(root, state.tombstones)  # the process may have ended before it did
    _fill(state, live.vectors.scan(_SCANNED).combine_chunks(), ordinals)
    restore_relations(state, folder)
    return Loaded(state, live, manifest)


def _fill(state: ConsolidationState, table: pa.Table, ordinals: int) -> None:
    rows = table["ordinal"].to_numpy()
    facts = np.zeros(ordinals, FACTS)
    facts["is_hidden"], facts["duplicate_of"], facts["expires_at"] = True, NO_DUPLICATE, NO_TIME
    facts["decayed_at"] = NO_TIME
    ids = table["memory_id"].to_pylist()
    facts["memory_id"][rows] = np.array(ids, "S32")
    facts["is_there"][rows] = True
    facts["is_latest"][rows] = table["is_latest"].to_numpy()
    facts["is_hidden"][rows] = table["hidden"].to_numpy()
    for name, column in _COPIED_COLUMNS.items():
        facts[name][rows] = table[column].to_numpy()
    for name, column in _TIMES.items():
        facts[name][rows] = table[column].cast(pa.int64()).fill_null(NO_TIME).to_numpy()
    facts["may_decay"][rows] = may_decay(table)
    for kind, column in _SELECTORS.items():
        facts[kind][rows] = _selector_codes(table, kind, column)
    facts["visibility"][rows], visibilities = _visibilities(table)
    facts["duplicate_of"][rows] = _ordinals_of(table, "duplicate_of", rows)
    tenants = table["tenant_id"].combine_chunks().dictionary_encode()
    facts["tenant"][rows] = tenants.indices.to_numpy()
    sources = _ordinals_of(table, "derived_from", rows)
    derived = (sources != NO_DUPLICATE) & (table["piece"].to_numpy() < FIRST_STATEMENT_PIECE)
    state.ledger.fill(
        facts,
        tenants.dictionary.to_pylist(),
        visibilities,
        corrects=_sparse(table, "corrects"),
        sources=SourceIndex(dict(zip(rows[derived].tolist(), sources[derived].tolist(), strict=True))),
        superseded_by=_sparse(table, "superseded_by"),
        closed=_closed(table),
        digest=int(digest_of(ids), 16),
    )
    _fill_extracted(state, table, rows)
    state.provisional = _provisional(state, rows, facts["stream"][rows])
    positions = log_position(facts["stream"][rows], facts["piece"][rows].astype(np.int64))
    state.near.load(rows, positions, _groups(table), _contents(table), _signatures(table["minhash"]))


def _fill_extracted(state: ConsolidationState, table: pa.Table, rows: NDArray[np.int64]) -> None:
    """Add the extracted statements to their index."""
    chosen = np.flatnonzero(table["piece"].to_numpy() >= FIRST_STATEMENT_PIECE)
    for row in chosen.tolist():
        source = state.ledger.find(table["derived_from"][row].as_py())
        if source is not None:
            window = table["revision_sequence"][row].as_py()
            state.extracted.add(int(rows[row]), source, window)


def _provisional(
    state: ConsolidationState, rows: NDArray[np.int64], streams: NDArray[np.int64]
) -> dict[int, set[int]]:
    """Rows whose own event is not processed yet, or lacked them."""
    found: dict[int, set[int]] = {}
    young = streams > state.applied.floor
    for ordinal, stream in zip(rows[young].tolist(), streams[young].tolist(), strict=True):
        is_lacked = state.ledger.code(ordinal) in state.tombstones.withdrawn
        if is_lacked or stream not in state.applied:
            found.setdefault(stream, set()).add(ordinal)
    return found


def _selector_codes(table: pa.Table, kind: SelectorKind, column: str) -> NDArray[np.int64]:
    def code(row: int) -> int:
        return value_code(table["tenant_id"][row].as_py(), kind, table[column][row].as_py())

    return codes_of_rows([table["tenant_id"], table[column]], code)


def _groups(table: pa.Table) -> NDArray[np.int64]:
    def code(row: int) -> int:
        tenant, owner, kind, audience, derived_from = (table[name][row].as_py() for name in names)
        return group_code(tenant, owner, kind, audience, derived_from=derived_from)

    names = ("tenant_id", "owner", "type", "audience", "derived_from")
    return codes_of_rows([table[name] for name in names], code)


def _visibilities(table: pa.Table) -> tuple[NDArray[np.int64], list[Visibility]]:
    """The number of each row's visibility, and the visibilities by number."""
    numbers: dict[Visibility, int] = {}

    def number(row: int) -> int:
        tenant, owner, audience = (table[name][row].as_py() for name in names)
        return numbers.setdefault(visibility_of(tenant, owner, audience), len(numbers))

    names = ("tenant_id", "owner", "audience")
    return codes_of_rows([table[name] for name in names], number), list(numbers)


def _contents(table: pa.Table) -> NDArray[np.int64]:
    hashes = table["content_hash"].to_pylist()
    return np.fromiter(map(content_code, hashes), np.int64, len(hashes))


def _signatures(minhash: pa.ChunkedArray) -> NDArray[np.uint32]:
    array = minhash.combine_chunks()
    flat = np.frombuffer(array.buffers()[1], "<u4")
    start = array.offset * MINHASH_PERMUTATIONS
    chosen = flat[start : start + len(array) * MINHASH_PERMUTATIONS]
    return chosen.reshape(len(array), MINHASH_PERMUTATIONS).astype(np.uint32)


def _ordinals_of(table: pa.Table, column: str, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    found_at = pc.index_in(table[column], value_set=table["memory_id"].combine_chunks())
    positions = found_at.fill_null(-1).to_numpy()
    found: NDArray[np.int64] = np.where(positions < 0, NO_DUPLICATE, rows[positions]) if len(rows) else rows
    return found


def _closed(table: pa.Table) -> dict[int, tuple[int, int]]:
    """By ordinal, when a memory was closed and how often it was restated, where either is set."""
    chosen = table.filter(pc.or_(pc.is_valid(table["closed_at"]), pc.greater(table["restated"], 0)))
    times = chosen["closed_at"].cast(pa.int64()).fill_null(NO_TIME).to_pylist()
    values = zip(times, chosen["restated"].to_pylist(), strict=True)
    return dict(zip(chosen["ordinal"].to_pylist(), values, strict=True))


def _sparse(table: pa.Table, column: str) -> dict[int, str]:
    chosen = table.filter(pc.not_equal(table[column], ""))
    return dict(zip(chosen["ordinal"].to_pylist(), chosen[column].to_pylist(), strict=True))
