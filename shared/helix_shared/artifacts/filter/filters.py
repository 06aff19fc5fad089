"""The filters of a request, one class each. A new filter is a class here and an entry of `FILTERS`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np

from helix_memory.recall import checks
from helix_memory.vocabulary.memory_types import MEMORY_TYPES
from helix_memory.vocabulary.speech_acts import FLAGS
from helix_shared.artifacts.filter.filter import (
    Filter,
    LackedTerm,
    NumberRange,
    RequestedFilter,
    TermSet,
    check_moment,
    check_names,
)
from helix_shared.artifacts.filter.sql import literals, timestamp
from helix_shared.artifacts.signals.columns import NO_TIME, code, flag_bits
from helix_shared.errors import InvalidInputError
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime, tzinfo

    from numpy.typing import NDArray

    from helix_shared.artifacts.signals.reader import Signals


@dataclass(frozen=True, slots=True)
class ValuesFilter(Filter):
    """A filter by the names in one field of the request, of which there is at least one."""

    values: tuple[str, ...]
    field: ClassVar[str]
    """Field of the request."""

    @classmethod
    def requested(cls, request: RequestedFilter) -> Self | None:
        """The filter by the names of the request."""
        values = request.names(cls.field)
        return cls(values) if values else None


@dataclass(frozen=True, slots=True)
class NameFilter(ValuesFilter):
    """A name of the memory is one of `values`."""

    column: ClassVar[str]
    """Column of `record_schema`."""
    term_field: ClassVar[str]
    """Field of the lexicon."""
    signal: ClassVar[str]
    """Column of the signals, which holds codes."""
    noun: ClassVar[str]

    def __post_init__(self) -> None:
        check_names(f"filter.{self.field}", self.values)

    def sql(self) -> Iterable[str]:
        """One condition."""
        return (f"{self.column} IN ({literals(self.values)})",)

    def clauses(self) -> Iterable[TermSet]:
        """One set of terms."""
        return (TermSet(self.term_field, self.values),)

    def mask(self, signals: Signals, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """By code."""
        codes: NDArray[Any] = getattr(signals, self.signal)
        return np.isin(codes[ordinals], self.codes())

    def codes(self) -> Sequence[int]:
        """Codes of the values in the signals."""
        return [code(value) for value in self.values]

    def excluding(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        """The field where the name of the row is another one."""
        return () if row[self.column] in self.values else (f"filter.{self.field}",)

    def shown(self, row: Mapping[str, Any], zone: tzinfo) -> str:  # noqa: ARG002 - a name has no time
        """The name of the row."""
        return f"{self.noun} {row[self.column] or 'none'}"


class Types(NameFilter):
    """Memory types."""

    __slots__ = ()
    field = "types"
    column = "type"
    term_field = "type"
    signal = "type_code"
    noun = "type"

    def __post_init__(self) -> None:
        checks.known("filter.types", self.values, "type", MEMORY_TYPES)

    def codes(self) -> Sequence[int]:
        """Places in `MEMORY_TYPES`."""
        return [MEMORY_TYPES.index(value) for value in self.values]


class Projects(NameFilter):
    """Projects; the empty name selects memories without one."""

    __slots__ = ()
    field = "project_ids"
    column = "project_id"
    term_field = "project"
    signal = "project_code"
    noun = "project"


class Sessions(NameFilter):
    """Sessions; the empty name selects memories without one."""

    __slots__ = ()
    field = "session_ids"
    column = "session_id"
    term_field = "session"
    signal = "session_code"
    noun = "session"


@dataclass(frozen=True, slots=True)
class EventTime(Filter):
    """The event time is at least `after` and below `before`; at least one of the two is set.

    The event time of a memory is the start of its event span, or else the time at which it occurred.
    """

    after: datetime | None = None
    before: datetime | None = None

    def __post_init__(self) -> None:
        check_moment("filter.event_after", self.after)
        check_moment("filter.event_before", self.before)

    @classmethod
    def requested(cls, request: RequestedFilter) -> Self | None:
        """The filter by the two times of the request.

        Raises:
            InvalidInputError: no time lies between them.
        """
        after, before = request.moment("event_after"), request.moment("event_before")
        if after is not None and before is not None and after >= before:
            raise InvalidInputError("filter.event_after", "must be earlier than filter.event_before")
        return None if after is None and before is None else cls(after, before)

    def sql(self) -> Iterable[str]:
        """One condition for each bound."""
        if self.after is not None:
            yield f"event_at >= {timestamp(self.after)}"
        if self.before is not None:
            yield f"event_at < {timestamp(self.before)}"

    def clauses(self) -> Iterable[NumberRange]:
        """One range."""
        after, before = (
            None if bound is None else microseconds(bound) for bound in (self.after, self.before)
        )
        return (NumberRange("event_at", after, before),)

    def mask(self, signals: Signals, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """By microseconds since 1970."""
        started = signals.event_start[ordinals]
        event_at = np.where(started == NO_TIME, signals.occurred_at[ordinals], started)
        passing = np.ones(len(ordinals), np.bool_)
        if self.after is not None:
            passing &= event_at >= microseconds(self.after)
        if self.before is not None:
            passing &= event_at < microseconds(self.before)
        return passing

    def excluding(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        """The bounds that the event time of the row breaks."""
        event_at: datetime = row["event_at"]
        early = self.after is not None and event_at < self.after
        late = self.before is not None and event_at >= self.before
        return ("filter.event_after",) * early + ("filter.event_before",) * late

    def shown(self, row: Mapping[str, Any], zone: tzinfo) -> str:
        """The event time of the row to the minute."""
        return f"event time {row['event_at'].astimezone(zone):%Y-%m-%d %H:%M %Z}"


@dataclass(frozen=True, slots=True)
class FlagFilter(ValuesFilter):
    """A filter by the flags `values`.

    The field `clear_of` of the lexicon lists the flags that a memory does not have.
    """

    def __post_init__(self) -> None:
        checks.known(f"filter.{self.field}", self.values, "flag", FLAGS)

    def flagged(self, signals: Signals, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of `ordinals` [n] have one of the flags, by their bits."""
        found: NDArray[np.bool_] = (signals.flags[ordinals] & flag_bits(self.values)) != 0
        return found

    def shown(self, row: Mapping[str, Any], zone: tzinfo) -> str:  # noqa: ARG002 - a flag has no time
        """The flags of the row."""
        return f"flags {', '.join(row['flags']) or 'none'}"


class WithFlags(FlagFilter):
    """The memory has one of the flags."""

    __slots__ = ()
    field = "flags"

    def sql(self) -> Iterable[str]:
        """One condition."""
        return (f"array_has_any(flags, [{literals(self.values)}])",)

    def clauses(self) -> Iterable[LackedTerm]:
        """The memory is not clear of all the flags."""
        return (LackedTerm(CLEAR_OF, self.values),)

    def mask(self, signals: Signals, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """By the bits of the flags."""
        return self.flagged(signals, ordinals)

    def excluding(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        """The field where the row has none of the flags."""
        return ("filter.flags",) if set(self.values).isdisjoint(row["flags"]) else ()


class WithoutFlags(FlagFilter):
    """The memory has none of the flags."""

    __slots__ = ()
    field = "exclude_flags"

    def sql(self) -> Iterable[str]:
        """One condition."""
        return (f"NOT array_has_any(flags, [{literals(self.values)}])",)

    def clauses(self) -> Iterable[TermSet]:
        """One term for each flag."""
        return tuple(TermSet(CLEAR_OF, (value,)) for value in self.values)

    def mask(self, signals: Signals, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """By the bits of the flags."""
        return ~self.flagged(signals, ordinals)

    def excluding(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        """The field where the row has one of the flags."""
        return () if set(self.values).isdisjoint(row["flags"]) else ("filter.exclude_flags",)


FILTERS: Final[tuple[type[Filter], ...]] = (Types, Projects, Sessions, EventTime, WithFlags, WithoutFlags)
"""All filters, in the order in which a request is read and a query is built."""

TERM_FIELDS: Final[Mapping[str, str]] = {
    one.term_field: one.column for one in FILTERS if issubclass(one, NameFilter)
}
"""Fields of the lexicon that the filters on names need, and the columns that fill them."""

CLEAR_OF: Final = "clear_of"
"""Field of the lexicon: the flags that a memory does not have."""
