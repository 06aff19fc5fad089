"""Corrections of which the corrected memory was erased: an export has them as memories of their own.

What such a correction left open was copied from that memory, and is in the stores alone. Another instance
would refuse it, since nothing there is corrected. As a memory with the same event id it has the same memory
id, and everything that names it still does. A later correction of the same memory corrects that one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from helix_cli.exchange.erased import Erased, event_id_of
from helix_consolidation.ledger.event_reach import value_code
from helix_memory import subjects
from helix_memory.identity import memory_id
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.vectors.table import open_table
from helix_shared.identity import MEMORY_ID_PATTERN
from helix_shared.json_object import json_object

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from helix_shared.event_log.record import EventRecord

CORRECT: Final = "correct"
_FIELDS: Final = (
    "user_id", "project_id", "session_id", "acl", "shared", "occurred_at", "type", "title", "salience",
    "confidence", "pinned", "priority", "valid_from", "valid_to", "expires_at",
)  # fmt: skip
"""Fields of an explicit memory that are columns of the same name."""


@dataclass(slots=True)
class Orphans:
    """Completes the events of one reading of the log; `data_of` gives the data folder of a tenant."""

    erased: Erased
    data_of: Callable[[str], Path]
    completed: int = 0
    _roots: dict[int, str] = field(default_factory=dict)
    """By the code of an erased first version, the id of what stands for it in the export."""
    _tables: dict[Path, Any] = field(default_factory=dict)
    """By data folder, the memories of the generation that was current at the first look-up, or None."""

    def complete(self, record: EventRecord) -> EventRecord:
        """The record as it is exported; calls come in the order of the log."""
        if not self.erased or subjects.kind_of(record.subject) != CORRECT:
            return record
        fields = json_object(record.body)
        tenant, corrects = record.subject.split(".")[3], fields.get("memory_id")
        if not isinstance(corrects, str) or not MEMORY_ID_PATTERN.match(corrects):
            return record
        code = value_code(tenant, "memory", corrects)
        if code not in self.erased.tombstones.erased_memories:
            return record
        root = self._root_of(code)
        if (stands := self._roots.get(root)) is not None:
            self.completed += 1
            return replace(record, body=_encoded(fields | {"memory_id": stands}))
        own = memory_id(tenant, event_id_of(record), 0)
        row = self._stored(self.data_of(tenant), own)
        if row is None:
            return record  # refused, so there is nothing to recall
        self._roots[root] = own
        self.completed += 1
        session = str(row["session_id"])
        kept = {name: row[name] for name in _FIELDS} | {"tags": row["categories"], "text": fields["text"]}
        if not row["event_guessed"]:
            kept |= {name: row[name] for name in ("event_start", "event_end")}
        base = {name: fields[name] for name in ("event_id", "tenant_id") if name in fields}
        whole = base | {"kind": "memory"} | {name: value for name, value in kept.items() if value is not None}
        return replace(
            record, subject=subjects.event_subject(tenant, session, "memory"), body=_encoded(whole)
        )

    def _root_of(self, code: int) -> int:
        corrections, passed = self.erased.tombstones.erased_corrections, set[int]()
        while code in corrections and code not in passed:
            passed.add(code)
            code = corrections[code].corrects
        return code

    def _stored(self, data: Path, name: str) -> dict[str, Any] | None:
        if data not in self._tables:
            number = current_number(data)
            self._tables[data] = None if number is None else open_table(folder_of(data, number))
        table = self._tables[data]
        if table is None:
            return None
        columns = [*_FIELDS, "categories", "event_guessed", "event_start", "event_end"]
        found = table.search().where(f"memory_id = '{name}'").select(columns).limit(1)
        rows: list[dict[str, Any]] = found.to_arrow().to_pylist()
        return rows[0] if rows else None


def _encoded(fields: dict[str, Any]) -> bytes:
    def moment(value: Any) -> str:
        if isinstance(value, datetime):
            return value.isoformat()
        raise TypeError(type(value).__name__)

    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"), default=moment)
    return text.encode("utf-8", "surrogatepass")
