"""The typed pre-filter of a recall: which memories a caller may see and asked for.

A value, never text: each engine compiles it for itself (`vector_filter` to SQL literals,
`lexicon_query` to term queries), so nothing a user wrote reaches a parser. Fails closed: there is
no selection without a tenant. `admits` is the same rule for a row already in hand, for channels
without an engine of their own such as the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from helix_shared.audience import EVERYONE
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Selection:
    """What may be returned; empty tuples and None mean "any".

    A row is visible if its owner is empty or `user_id`, and its audience holds `EVERYONE` or one of
    `principals`. `event_after` is inclusive, `event_before` exclusive; they are compared as instants with the
    start of an event span (`helix_shared.calendar_days`). With `as_of` only what was created by then is
    selected, and what was hidden since but for a forget is not left out: `Versions` judges it. All are aware
    times.

    Raises:
        InvalidInputError: no tenant, a value no store can hold, or a time without a zone.
    """

    tenant_id: str
    user_id: str = ""
    principals: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    project_ids: tuple[str, ...] = ()
    session_ids: tuple[str, ...] = ()
    event_after: datetime | None = None
    event_before: datetime | None = None
    as_of: datetime | None = None

    def __post_init__(self) -> None:
        if not self.tenant_id:
            raise InvalidInputError("tenant_id", "must not be empty")
        for name in ("tenant_id", "user_id", "principals", "types", "project_ids", "session_ids"):
            if not _storable("".join(getattr(self, name))):
                raise InvalidInputError(name, "must be text without NUL and lone surrogates")
        for name in ("event_after", "event_before", "as_of"):
            moment: datetime | None = getattr(self, name)
            if moment is not None and moment.utcoffset() is None:
                raise InvalidInputError(name, "must carry a time zone")

    @property
    def owners(self) -> tuple[str, ...]:
        """Values of a row's `owner` that are visible."""
        return ("", self.user_id) if self.user_id else ("",)

    @property
    def audiences(self) -> tuple[str, ...]:
        """Entries of a row's `audience` of which one is enough."""
        return tuple(dict.fromkeys((EVERYONE, *self.principals)))

    def admits(self, row: Mapping[str, Any]) -> bool:
        """Tell whether a row of `record_schema` (its filter columns as Python values) is selected."""
        event_at: datetime = row["event_at"]
        return (
            row["tenant_id"] == self.tenant_id
            and row["owner"] in self.owners
            and not set(self.audiences).isdisjoint(row["audience"])
            and (not self.types or row["type"] in self.types)
            and (not self.project_ids or row["project_id"] in self.project_ids)
            and (not self.session_ids or row["session_id"] in self.session_ids)
            and (self.event_after is None or event_at >= self.event_after)
            and (self.event_before is None or event_at < self.event_before)
            and (self.as_of is None or row["created_at"] <= self.as_of)
        )


def _storable(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)
