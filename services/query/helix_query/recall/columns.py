"""What the stages and an answer need of a memory's signals; everything here costs by candidate.

`view` judges by the same columns who may see what.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_memory.memory_types import MEMORY_TYPES
from helix_query.recall.candidates import CandidateSignals
from helix_shared.artifacts.signals.columns import NO_TIME
from helix_shared.moments import microseconds, moment_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_shared.artifacts.signals.reader import Signals

FIRST_MOMENT: Final = microseconds(datetime.min.replace(tzinfo=UTC))
LAST_MOMENT: Final = microseconds(datetime.max.replace(tzinfo=UTC))
SIGNAL_TIMES: Final = ("created_at", "occurred_at", "event_start", "event_end", "valid_from", "valid_to")
SIGNAL_VALUES: Final = (
    "salience", "confidence", "pinned", "priority", "token_count", "stream_sequence", "hidden",
    "event_guessed",
)  # fmt: skip
NONE: Final = np.empty(0, np.int64)


def completed(lines: Sequence[Mapping[str, Any]], signals: Signals) -> list[dict[str, Any]]:
    """Lines with what the signals say of their memories: times, values, type and event time."""
    ordinals = np.array([line["ordinal"] for line in lines], np.int64)
    times = (map(_moment, getattr(signals, name)[ordinals].tolist()) for name in SIGNAL_TIMES)
    values = (getattr(signals, name)[ordinals].tolist() for name in SIGNAL_VALUES)
    kinds = (MEMORY_TYPES[number] for number in signals.type_code[ordinals].tolist())
    names = (*SIGNAL_TIMES, *SIGNAL_VALUES, "type")
    rows = []
    for line, *found in zip(lines, *times, *values, kinds, strict=True):
        row = {**line, **dict(zip(names, found, strict=True))}
        row["event_at"] = row["event_start"] or row["occurred_at"]
        rows.append(row)
    return rows


def _moment(value: int) -> datetime | None:
    """None also for a time no calendar holds: one bad row must not spoil an answer."""
    if not FIRST_MOMENT <= value <= LAST_MOMENT:
        return None
    return moment_of(int(value))


def traits(
    signals: Signals, ordinals: NDArray[np.int64], *, as_of: datetime | None = None
) -> CandidateSignals:
    """The signals of candidates, raw; what was accessed after `as_of` counts as never accessed."""
    accessed, counts = signals.last_accessed_at[ordinals], signals.access_count[ordinals]
    if as_of is not None:
        later = accessed > microseconds(as_of)
        accessed, counts = np.where(later, NO_TIME, accessed), np.where(later, 0, counts)
    return CandidateSignals(
        type_code=signals.type_code[ordinals],
        touched_at=np.where(accessed == NO_TIME, signals.created_at[ordinals], accessed),
        occurred_at=signals.occurred_at[ordinals],
        event_start=signals.event_start[ordinals],
        event_end=signals.event_end[ordinals],
        salience=signals.salience[ordinals].astype(np.float64),
        confidence=signals.confidence[ordinals].astype(np.float64),
        priority=signals.priority[ordinals].astype(np.float64),
        pinned=signals.pinned[ordinals].astype(bool),
        project_code=signals.project_code[ordinals],
        session_code=signals.session_code[ordinals],
        access_count=counts.astype(np.int64),
    )
