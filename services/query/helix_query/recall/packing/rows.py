"""Rows of memories as a reply shows them: stored records, completed from the signals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_memory.vocabulary.memory_types import MEMORY_TYPES
from helix_shared.moments import microseconds, moment_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.generations.snapshot import Snapshot
    from helix_query.recall.visibility import Visibility
    from helix_shared.artifacts.filter.past_moment import PastMoment
    from helix_shared.artifacts.filter.versions import Versions
    from helix_shared.artifacts.signals.reader import Signals

FIRST_MOMENT: Final = microseconds(datetime.min.replace(tzinfo=UTC))
LAST_MOMENT: Final = microseconds(datetime.max.replace(tzinfo=UTC))
SIGNAL_TIMES: Final = (
    "created_at", "occurred_at", "event_start", "event_end", "valid_from", "valid_to", "expires_at",
)  # fmt: skip
SIGNAL_VALUES: Final = (
    "salience", "confidence", "pinned", "priority", "token_count", "stream_sequence", "hidden",
    "event_guessed",
)  # fmt: skip


def stored_rows(
    snapshot: Snapshot, ordinals: NDArray[np.int64], visibility: Visibility
) -> list[dict[str, Any]]:
    """Rows of the valid among `ordinals`, in their order; callers must still check `Selection.admits`.

    At a past moment, rows are as they were then: not superseded, with the end and the answer that were known
    by then, and with `as_of` without a context that was completed later.
    """
    signals = snapshot.generation.signals
    rows = with_signals(signals.records(ordinals[visibility.is_valid_at(ordinals)]), signals)
    return rows if visibility.versions is None else _then(rows, snapshot, visibility, visibility.versions)


def _then(
    rows: Sequence[dict[str, Any]], snapshot: Snapshot, visibility: Visibility, versions: Versions
) -> list[dict[str, Any]]:
    """The rows without values that were set after the moment of `visibility`."""
    signals, past = snapshot.generation.signals, visibility.selection.past
    last = None if past.as_of is None else snapshot.last_sequence_at(past.as_of)
    ends = past.ends(signals, versions, np.array([row["ordinal"] for row in rows], np.int64))
    answers = _reached([row["answered_by"] for row in rows if row["answered_by"]], snapshot, past)
    found = []
    for row, end in zip(rows, ends.tolist(), strict=True):
        then = row | {"superseded_by": "", "valid_to": moment_or_none(end)}
        if row["answered_by"] not in answers:
            then["answered_by"] = ""
        if last is not None and row["revision_sequence"] > max(last, row["stream_sequence"]):
            then["context"] = ""
        found.append(then)
    return found


def _reached(memory_ids: Sequence[str], snapshot: Snapshot, past: PastMoment) -> frozenset[str]:
    """The ids whose memories existed at a past moment."""
    signals, ordinals = snapshot.generation.signals, snapshot.ordinals_of(memory_ids)
    there = ordinals[past.reached(signals, ordinals)]
    return frozenset(record["memory_id"] for record in signals.records(there))


def with_signals(lines: Sequence[Mapping[str, Any]], signals: Signals) -> list[dict[str, Any]]:
    """Lines with the signals of their memories: times, values, type and event time."""
    ordinals = np.array([line["ordinal"] for line in lines], np.int64)
    times = (map(moment_or_none, getattr(signals, name)[ordinals].tolist()) for name in SIGNAL_TIMES)
    values = (getattr(signals, name)[ordinals].tolist() for name in SIGNAL_VALUES)
    kinds = (MEMORY_TYPES[number] for number in signals.type_code[ordinals].tolist())
    names = (*SIGNAL_TIMES, *SIGNAL_VALUES, "type")
    rows = []
    for line, *found in zip(lines, *times, *values, kinds, strict=True):
        row = {**line, **dict(zip(names, found, strict=True))}
        row["event_at"] = row["event_start"] or row["occurred_at"]
        rows.append(row)
    return rows


def moment_or_none(value: int) -> datetime | None:
    """None also for a time outside the calendar's range: one bad row must not fail the whole answer."""
    if not FIRST_MOMENT <= value <= LAST_MOMENT:
        return None
    return moment_of(int(value))
