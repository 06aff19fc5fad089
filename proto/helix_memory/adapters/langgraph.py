"""LangGraph: `HelixStore`, the long-term memory of graphs and of LangMem."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from helix_memory import limits
from helix_memory.adapters import conditions, missing_extra, records
from helix_memory.adapters.namespaces import listed_namespaces
from helix_memory.adapters.record_store import RecordStore, whole_number
from helix_memory.adapters.records import Record
from helix_memory.adapters.texts import text_of
from helix_memory.client import Helix
from helix_memory.errors import InvalidInputError

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        get_text_at_path,
    )
except ModuleNotFoundError as error:
    raise missing_extra("langgraph", error) from error

if TYPE_CHECKING:
    from helix_memory.adapters.reading import Found

KIND: Final = "langgraph"
WHOLE: Final = "$"
"""The path of a whole value."""


class HelixStore(BaseStore):
    """Values under namespaces and keys, searched by meaning and by words; Helix makes the vectors.

        graph = builder.compile(store=HelixStore(helix))

    It belongs to tenant and user of the client. A put replaces the value before, a delete erases it for
    good, and every read sees what was written through this object before. A client without a user writes for
    the whole tenant: both reach the values of that key of every user. A value of more than about 1,900
    characters of JSON is searched as JSON; one value has at most 100,000. There is no time to live.
    """

    def __init__(self, helix: Helix, *, fields: Sequence[str] = (WHOLE,)) -> None:
        """Use a client; `fields` are the paths that a search reads where `put` names none."""
        self._fields = list(fields)
        self._store = RecordStore(helix, KIND, is_item=_has_value)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The results of operations. Reads see nothing of the batch; of writes of one key the last counts.

        Raises:
            InvalidInputError: a value is none of JSON or too large, or a filter or a number is wrong.
        """
        several = list(ops)
        writes = {(one.namespace, one.key): one for one in several if isinstance(one, PutOp)}
        made = {place: self._record(one) for place, one in writes.items() if one.value is not None}
        results = [None if isinstance(one, PutOp) else self._read(one) for one in several]
        for (namespace, key), one in writes.items():
            if one.value is None:
                self._store.erase(list(namespace), [key])
            else:
                self._store.put(made[namespace, key])
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`, on a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            found = self._store.get(list(op.namespace), [op.key])
            return Item(**_fields_of(found[0])) if found else None
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return listed_namespaces(
                map(tuple, self._namespaces()),
                [(one.match_type, one.path) for one in op.match_conditions or ()],
                max_depth=op.max_depth,
                offset=whole_number("offset", op.offset),
                limit=whole_number("limit", op.limit),
            )
        raise InvalidInputError("ops", f"{type(op).__name__} is no operation of a store")

    def _search(self, op: SearchOp) -> list[SearchItem]:
        wanted = conditions.checked(op.filter)
        offset, limit = whole_number("offset", op.offset), whole_number("limit", op.limit)
        prefix = list(op.namespace_prefix)
        spaces = [one for one in self._namespaces() if one[: len(prefix)] == prefix]
        if op.query and op.query.strip():
            admits = (lambda one: conditions.admits(wanted, _value_of(one))) if wanted else None
            found = self._store.search(op.query, spaces, limit=offset + limit, admits=admits)
        else:
            found = [one for one in self._store.listed(spaces) if conditions.admits(wanted, _value_of(one))]
        return [
            SearchItem(**_fields_of(one), score=one.best.score if one.best else None)
            for one in found[offset : offset + limit]
        ]

    def _namespaces(self) -> list[list[str]]:
        return [one for one in self._store.spaces() if isinstance(one, list)]

    def _record(self, op: PutOp) -> Record:
        value = dict(op.value)
        text = records.json_of("value", value)
        place = KIND, list(op.namespace), op.key
        fields = self._fields if op.index is None else op.index or []
        body, hidden = self._searched(value, fields), {}
        if not body.strip():
            body, hidden = records.document_of(*place), {"searched": False}
        try:
            return Record.of(*place, body, {"value": value, **hidden}, field="value")
        except InvalidInputError:
            if fields and fields != [WHOLE]:
                reason = (
                    f"leaves a value of {len(text):,} characters, too many to search some fields of it alone"
                )
                raise InvalidInputError("index", f"{reason}; index the whole value") from None
        if len(text) > limits.TEXT_CHARACTERS:
            reason = f"takes {len(text):,} characters as JSON; at most {limits.TEXT_CHARACTERS:,}"
            raise InvalidInputError("value", reason)
        return Record.of(*place, text, hidden, field="namespace")

    def _searched(self, value: Mapping[str, Any], fields: Sequence[str]) -> str:
        if list(fields) == [WHOLE]:
            return text_of(value) or records.json_of("value", value)
        return "\n".join(text for path in fields for text in get_text_at_path(value, path))


def _has_value(found: Found) -> bool:
    try:
        value = found.note["value"] if "value" in found.note else records.value_of(found.body or "")
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict)


def _value_of(found: Found) -> dict[str, Any]:
    if "value" in found.note:
        return dict(found.note["value"])
    value: dict[str, Any] = records.value_of(found.body or "{}")
    return value


def _fields_of(found: Found) -> dict[str, Any]:
    moment = found.stored_at or datetime.now(UTC)
    return {
        "namespace": tuple(found.note["space"]),
        "key": found.name,
        "value": _value_of(found),
        "created_at": moment,
        "updated_at": moment,
    }
