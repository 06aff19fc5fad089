"""The columns of the signals: their names and types, and how records become rows.

`segments` stores them, `reader` serves them.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow.compute as pc

from helix_memory.vocabulary.facets import FACETS
from helix_memory.vocabulary.memory_types import MEMORY_TYPES
from helix_memory.vocabulary.speech_acts import FLAGS, SPEECH_ACTS
from helix_shared.about import about_code
from helix_shared.artifacts.signals.record_file import encoded_records
from helix_shared.artifacts.signals.row_codes import codes_of_rows
from helix_shared.artifacts.signals.salience import salience_moves
from helix_shared.artifacts.signals.sketches import sketches_of
from helix_shared.audience import EVERYONE
from helix_shared.edges import MINHASH_PERMUTATIONS, TOKEN_CODE_BYTES
from helix_shared.identity import joined

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import DTypeLike, NDArray

NO_TIME: Final = int(np.iinfo(np.int64).min)
"""An unknown time."""
UNDATED: Final = int(np.iinfo(np.int64).max)
"""`replaced_at` of a memory that a correction replaced: when that one holds from, the record does not say."""

TIMES: Final = (
    "created_at",
    "occurred_at",
    "event_start",
    "event_end",
    "valid_from",
    "valid_to",
    "expires_at",
    "last_accessed_at",
    "last_feedback_at",
    "decayed_at",
    "replaced_at",
)
CODES: Final = {
    "session_code": "session_id",
    "project_code": "project_id",
    "tenant_code": "tenant_id",
    "owner_code": "owner",
}
AUDIENCE: Final = "audience_code"
RESTATED_DOUBT_FACTOR: Final = 0.85
"""Factor of the doubt in a memory for each later one that says the same, up to `MOST_RESTATED`."""
MOST_RESTATED: Final = 4
SALIENCE_MOVE: Final = "salience_move"
RECORD: Final = "record"
"""Key of the encoded JSON records, which are written beside the columns."""
TOKEN_CODES: Final = "token_codes"  # noqa: S105  a name of a column, no secret
"""Key of the codes of the tokens, one `bytes` a row, which are written beside the columns."""
CODE_COUNT: Final = "code_count"
CACHED_CODES: Final = 4_096
"""Names whose code is cached: a recall needs those of its tenant and owners for every mask."""

SCALARS: Final[Mapping[str, DTypeLike]] = {
    "type_code": np.uint8,
    "hidden": np.bool_,
    **dict.fromkeys(TIMES, np.int64),
    "salience": np.float32,
    "confidence": np.float32,
    "priority": np.float32,
    "pinned": np.bool_,
    "event_guessed": np.bool_,
    "access_count": np.int32,
    "token_count": np.int32,
    **dict.fromkeys(CODES, np.int64),
    # 0: everyone; otherwise of the whole access list, which is in the record
    AUDIENCE: np.int64,
    "stream_sequence": np.int64,
    "speech_act": np.uint8,
    # `helix_shared.about.about_code`
    "about_code": np.int64,
    # whether a memory answers this question
    "is_answered": np.bool_,
    # whether this statement was resolved from the verbatim memory of the same event
    "is_derived": np.bool_,
    # bits of `helix_memory.vocabulary.speech_acts.FLAGS`
    "flags": np.uint8,
    # of the verbatim memory: its own id, or the one that a statement was derived from
    "source_code": np.int64,
    # of the question that this memory answers; 0: of none
    "answers_code": np.int64,
    # bits of `helix_memory.vocabulary.facets.FACETS`
    "facets": np.uint16,
    # what its use adds to the salience of ingest
    SALIENCE_MOVE: np.float32,
    # number of token codes, which are in a file of their own
    CODE_COUNT: np.int32,
}
SKETCH: Final = "sketch"
MATRICES: Final[Mapping[str, DTypeLike]] = {"vector": np.float32, "minhash": np.uint32, SKETCH: np.uint64}
COLUMNS: Final[Mapping[str, DTypeLike]] = {**SCALARS, **MATRICES}


@lru_cache(CACHED_CODES)
def code(text: str) -> int:
    """63-bit hash of a name, the value of the `*_code` columns; 0 for the empty name. Cached."""
    return hashed(text)


def hashed(text: str) -> int:
    """The same hash without the cache."""
    return _hashed(text.encode("utf-8", "surrogatepass")) if text else 0


def audience_code(audience: Sequence[str]) -> int:
    """Code of an access list; 0 where it holds `EVERYONE`."""
    return 0 if EVERYONE in audience else _hashed(joined(*audience))


def _hashed(encoded: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(encoded, digest_size=8).digest(), "little") >> 1


def type_code(name: str) -> int:
    """Code of a memory type; an unknown type counts as episodic."""
    return MEMORY_TYPES.index(name) if name in MEMORY_TYPES else 0


def speech_act_code(name: str) -> int:
    """Code of a speech act; an unknown act counts as a statement."""
    return SPEECH_ACTS.index(name) if name in SPEECH_ACTS else 0


def flag_bits(names: Sequence[str]) -> int:
    """Bits of flags; an unknown flag has none."""
    return sum(1 << FLAGS.index(name) for name in set(names) if name in FLAGS)


def facet_bits(names: Sequence[str]) -> int:
    """Bits of facets; an unknown facet has none."""
    return sum(1 << FACETS.index(name) for name in FACETS if name in names)


_COMPUTED: Final[Mapping[str, tuple[str, Callable[[Any], int]]]] = {
    "type_code": ("type", type_code),
    "speech_act": ("speech_act", speech_act_code),
    "about_code": ("about", about_code),
    "is_answered": ("answered_by", bool),
    "is_derived": ("derived_from", bool),
    "flags": ("flags", flag_bits),
    "answers_code": ("answers", hashed),
    "facets": ("facets", facet_bits),
}
"""Column -> the record's column that it follows from, and how."""


def blank(name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Values of a column for ordinals without a row: hidden, no times, zero everywhere else."""
    value = NO_TIME if name in TIMES else name == "hidden"
    return np.full(shape, value, dtype=COLUMNS[name])


def signals_of(records: pa.Table) -> tuple[NDArray[np.int64], dict[str, NDArray[np.generic]]]:
    """Ordinals and signal columns of records (`record_schema`), ready for `SignalsWriter.append`."""
    columns: dict[str, NDArray[np.generic]] = {}
    for name, dtype in SCALARS.items():
        columns[name] = _scalar(records, name).astype(dtype, copy=False)
    vectors = _matrix(records["vector"].combine_chunks().flatten(), records.num_rows)
    columns["vector"], columns[SKETCH] = vectors, sketches_of(vectors)
    bits = b"".join(records["minhash"].to_pylist())
    signature = np.frombuffer(bits, dtype="<u4").astype(np.uint32)
    columns["minhash"] = signature.reshape(records.num_rows, MINHASH_PERMUTATIONS)
    columns[RECORD] = encoded_records(records)
    columns[TOKEN_CODES] = objects(records[TOKEN_CODES].to_pylist())
    return records["ordinal"].to_numpy(), columns


def objects(values: Sequence[bytes]) -> NDArray[np.object_]:
    """One row for each of `values`."""
    rows = np.empty(len(values), object)
    rows[:] = values
    return rows


def _scalar(records: pa.Table, name: str) -> NDArray[np.generic]:
    if name in _READ_BY:
        return _READ_BY[name](records)
    if name in TIMES:
        return _times(records[name])
    if name in CODES:
        return _coded(records[CODES[name]])
    if name in _COMPUTED:
        source, value_of = _COMPUTED[name]
        return np.array([value_of(value) for value in records[source].to_pylist()], dtype=COLUMNS[name])
    if name == "source_code":
        sources = zip(records["derived_from"].to_pylist(), records["memory_id"].to_pylist(), strict=True)
        return np.array([hashed(derived_from or own) for derived_from, own in sources], np.int64)
    values: NDArray[np.generic] = records[name].to_numpy()
    return values


def raised_confidence(confidence: NDArray[Any], restated: NDArray[Any]) -> NDArray[np.generic]:
    """Confidence of memories [n] that later ones say again: each lessens the doubt, up to a few."""
    raised: NDArray[np.generic] = 1 - (1 - confidence) * RESTATED_DOUBT_FACTOR ** np.minimum(
        restated, MOST_RESTATED
    )
    return np.where(restated > 0, raised, confidence)


def _valid_to(records: pa.Table) -> NDArray[np.generic]:
    """What a later memory replaced holds no longer than that, whatever its event said."""
    return _times(pc.min_element_wise(*(records[name].cast("int64") for name in ("valid_to", "closed_at"))))


def _replaced_at(records: pa.Table) -> NDArray[np.generic]:
    """From when a later memory replaces this one, where nothing else hides it: it is not deleted or decayed.

    A new version of a document is left out: the pieces that it lacks may have been deleted.
    """
    closed = records["closed_at"].cast("int64")
    of_document = pc.not_equal(records["document_id"], "")
    corrected = pc.and_not(pc.not_equal(records["superseded_by"], ""), of_document)
    replaced = pc.if_else(pc.is_valid(closed), closed, pc.if_else(corrected, UNDATED, None))
    hidden = pc.or_(pc.is_valid(records["deleted_at"]), pc.is_valid(records["decayed_at"]))
    return _times(pc.if_else(hidden, None, replaced))


def _decayed_at(records: pa.Table) -> NDArray[np.generic]:
    """Since when decay hides a memory, where nothing but decay does."""
    return _times(pc.if_else(records["is_latest"], records["decayed_at"].cast("int64"), None))


def _confidence(records: pa.Table) -> NDArray[np.generic]:
    return raised_confidence(records["confidence"].to_numpy(), records["restated"].to_numpy())


def _audience(records: pa.Table) -> NDArray[np.generic]:
    lists = records["audience"]
    return codes_of_rows([lists], lambda row: audience_code(lists[row].as_py()))


def _moves(records: pa.Table) -> NDArray[np.generic]:
    counts = (records[f"{kind}_count"].to_numpy() for kind in ("access", "helpful", "unhelpful"))
    return salience_moves(*counts)


def _code_counts(records: pa.Table) -> NDArray[np.generic]:
    lengths: NDArray[np.generic] = pc.binary_length(records[TOKEN_CODES]).to_numpy()
    return lengths // TOKEN_CODE_BYTES


_READ_BY: Final[Mapping[str, Callable[[pa.Table], NDArray[np.generic]]]] = {
    "valid_to": _valid_to,
    "replaced_at": _replaced_at,
    "decayed_at": _decayed_at,
    "confidence": _confidence,
    AUDIENCE: _audience,
    SALIENCE_MOVE: _moves,
    CODE_COUNT: _code_counts,
}
"""Columns with a function of their own."""


def _times(column: pa.ChunkedArray) -> NDArray[np.generic]:
    times: NDArray[np.generic] = column.cast("int64").fill_null(NO_TIME).to_numpy()
    return times


def _coded(texts: pa.ChunkedArray) -> NDArray[np.int64]:
    encoded = texts.combine_chunks().dictionary_encode()
    codes = np.array([code(text) for text in encoded.dictionary.to_pylist()], dtype=np.int64)
    picked: NDArray[np.int64] = codes[encoded.indices.to_numpy()] if len(texts) else codes
    return picked


def _matrix(flat: pa.Array, rows: int) -> NDArray[np.float32]:
    values: NDArray[np.float32] = flat.to_numpy(zero_copy_only=False).astype(np.float32, copy=False)
    return values.reshape(rows, len(values) // max(rows, 1))
