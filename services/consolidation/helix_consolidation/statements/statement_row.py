"""A stored statement: columns for searching it, and JSON with all that a decision reads.

It follows from the row that the memory's own event delivered and never changes, so a later revision of the
memory's context changes no decision.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pydantic_core import from_json

from helix_consolidation.relations.statement import Statement
from helix_consolidation.statements.quantised import quantised, restored
from helix_shared.artifacts.lexicon.analysis import stems
from helix_shared.naming import find_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

PAYLOAD: Final = (
    "text", "title", "context", "speaker", "role", "speech_act", "source_class", "type", "entities",
    "session", "occurred_at", "event_start", "event_end", "is_derived", "about",
)  # fmt: skip
"""Fields of `Statement` that are kept as JSON."""
MOST_WORDS: Final = 64
"""Distinct words of a statement by which it is found, the first ones."""
MOST_ENTITIES: Final = 16
ERASED_GROUP: Final = -1
"""Group of an erased statement."""
NUMBERS: Final = ("group", "content", "ordinal", "sequence", "derived", "session")

SCHEMA: Final = pa.schema(
    [
        pa.field("group", pa.int64(), nullable=False),
        pa.field("content", pa.int64(), nullable=False),
        pa.field("ordinal", pa.int64(), nullable=False),
        pa.field("sequence", pa.int64(), nullable=False),
        pa.field("derived", pa.int64(), nullable=False),
        pa.field("session", pa.int64(), nullable=False),
        pa.field("vector", pa.binary(), nullable=False),
        pa.field("words", pa.binary(), nullable=False),
        pa.field("minhash", pa.binary(), nullable=False),
        pa.field("payload", pa.binary(), nullable=False),
    ]
)
"""Columns of a segment of statements."""


@dataclass(frozen=True, slots=True)
class StatementRow:
    """One statement; `vector` holds the codes of `quantised`, `words` hashes of its distinct stems."""

    group: int
    """Only statements of one group are compared; of an extracted one: `ERASED_GROUP` - 1 - its group."""
    content: int
    """Code of its content hash."""
    ordinal: int
    sequence: int
    """Stream sequence of its event."""
    derived: int
    """Sequence of its message in HELIX_DERIVED; 0 where that says nothing any more."""
    session: int
    """Code of its session; 0: of none."""
    vector: NDArray[np.int8]
    words: NDArray[np.uint32]
    minhash: bytes
    payload: bytes

    def of(self, other: StatementRow) -> bool:
        """Whether both are of one group (`statement_group`), extracted or not."""
        return _shown_group(self.group) == _shown_group(other.group)

    def as_extracted(self) -> StatementRow:
        """The same as an extracted statement: no search finds it."""
        return replace(self, group=ERASED_GROUP - 1 - self.group)

    def blanked(self) -> StatementRow:
        """The same without its context, which quotes an erased event."""
        fields = from_json(self.payload) | {"context": ""}
        return replace(self, payload=_payload(fields))

    @property
    def statement(self) -> Statement:
        """What a decision reads."""
        fields = from_json(self.payload)
        fields["entities"] = tuple(fields["entities"])
        return Statement(vector=restored(self.vector), **fields)

    def columns(self) -> dict[str, Any]:
        """Values of `SCHEMA`."""
        plain = {name: getattr(self, name) for name in NUMBERS}
        return plain | {
            "vector": self.vector.tobytes(),
            "words": self.words.tobytes(),
            "minhash": self.minhash,
            "payload": self.payload,
        }

    @classmethod
    def from_columns(cls, row: Mapping[str, Any]) -> StatementRow:
        """The inverse of `columns`."""
        arrays = {
            "vector": np.frombuffer(row["vector"], np.int8),
            "words": np.frombuffer(row["words"], np.uint32),
        }
        return cls(**{**row, **arrays})


def statement_row(
    values: Mapping[str, Any],
    vector: NDArray[np.float32],
    minhash: bytes,
    *,
    group: int,
    content: int,
    ordinal: int,
    sequence: int,
    derived: int,
) -> StatementRow:
    """The row of a memory; `values` are the fields of `PAYLOAD` without the entities."""
    names = dict.fromkeys(name.name for name in find_names(values["text"]))
    payload = {**values, "entities": list(names)[:MOST_ENTITIES]}
    return StatementRow(
        group,
        content,
        ordinal,
        sequence,
        derived,
        values["session"],
        quantised(vector),
        words_of(f"{values['title']} {values['text']}"),
        minhash,
        _payload({name: payload[name] for name in PAYLOAD}),
    )


def _payload(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _shown_group(group: int) -> int:
    return ERASED_GROUP - 1 - group if group < ERASED_GROUP else group


def words_of(text: str) -> NDArray[np.uint32]:
    """Hashes of the first distinct stems of a text."""
    distinct = dict.fromkeys(stems(text))
    hashes = [zlib.crc32(word.encode()) for word in list(distinct)[:MOST_WORDS]]
    return np.array(list(dict.fromkeys(hashes)), np.uint32)


def table_of(rows: Sequence[StatementRow]) -> pa.Table:
    """Rows as a table of `SCHEMA`."""
    return pa.Table.from_pylist([row.columns() for row in rows], schema=SCHEMA)


def rows_of(table: pa.Table) -> list[StatementRow]:
    """The inverse of `table_of`."""
    return [StatementRow.from_columns(row) for row in table.to_pylist()]
