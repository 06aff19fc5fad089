"""The events of one tenant as those of another.

Ids of memories are hashes of tenant and event, so those that a correction or a lifecycle event names change
with the tenant. They are found from the events before it: `note` remembers what an event's memories are
called under both names, if anything names one of them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from helix_cli.exchange.erased import NAMING_FIELDS, event_id_of, memory_ids
from helix_memory import subjects
from helix_shared.errors import InvalidInputError
from helix_shared.event_log.record import EventRecord
from helix_shared.identity import MEMORY_ID_PATTERN, sources_of, statement_id
from helix_shared.json_object import json_object


@dataclass(slots=True)
class Renaming:
    """From one tenant to another; `named` are all ids that the events name."""

    old: str
    new: str
    named: set[str]
    unknown: set[str] = field(default_factory=set)
    """Ids that no event of the export made; they stay as they are and name nothing, as before."""
    _ids: dict[str, str] = field(default_factory=dict)
    _wanted: set[str] = field(init=False)

    def __post_init__(self) -> None:
        if not subjects.is_token(self.new):
            raise InvalidInputError("tenant", f"{self.new[:80]!r} is not a tenant: A-Z a-z 0-9 _ -, 1 to 64")
        # a statement of a language model is named by an id that its source follows from
        self._wanted = self.named.union(*map(sources_of, self.named))

    def event(self, record: EventRecord) -> EventRecord:
        """The event as one of the new tenant; calls come in the order of the log."""
        self._note(record)
        event_id = event_id_of(record)
        renamed = replace(
            record,
            subject=_with_tenant(record.subject, self.new),
            body=self._body(record.body),
        )
        known = subjects.message_id(self.old, event_id)
        own = record.message_id == known or record.message_id.startswith(f"{known}:")
        name = subjects.message_id(self.new, event_id) if own else f"{self.new}:{record.message_id}"
        # an event that has no id gets none: one name for all such would make one event of them
        return replace(renamed, message_id=name if record.message_id else "")

    def answer(self, record: EventRecord) -> EventRecord:
        """The recorded answer as one of the new tenant; its key does not depend on the tenant."""
        key = record.subject.rpartition(".")[2]
        return replace(
            record,
            subject=subjects.answer_subject(self.new, key),
            message_id=subjects.answer_message_id(self.new, key),
        )

    def _note(self, record: EventRecord) -> None:
        if not self._wanted or subjects.tenant_of(record.subject) != self.old:
            return
        event_id = event_id_of(record)
        before = memory_ids(self.old, event_id, record.body)
        if not self._wanted.isdisjoint(before):
            after = memory_ids(self.new, event_id, record.body)
            self._ids |= {was: now for was, now in zip(before, after, strict=True) if was in self._wanted}

    def _body(self, body: bytes) -> bytes:
        fields = json_object(body)
        if not fields:
            return body  # refused by the source, and refused again
        if fields.get("tenant_id") == self.old:
            fields["tenant_id"] = self.new
        for name in NAMING_FIELDS:
            if name in fields:
                value = fields[name]
                is_list = isinstance(value, list)
                fields[name] = list(map(self._renamed, value)) if is_list else self._renamed(value)
        try:
            text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        except RecursionError:
            return body  # nested deeper than any event
        return text.encode("utf-8", "surrogatepass")

    def _renamed(self, value: Any) -> Any:
        if not isinstance(value, str) or not MEMORY_ID_PATTERN.match(value):
            return value
        if value in self._ids:
            return self._ids[value]
        for number, source in enumerate(sources_of(value)):
            if source in self._ids:
                return statement_id(self._ids[source], number)
        self.unknown.add(value)
        return value


def _with_tenant(subject: str, tenant: str) -> str:
    parts = subject.split(".")
    return ".".join([*parts[:3], tenant, *parts[4:]])
