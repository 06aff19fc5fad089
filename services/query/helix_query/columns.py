"""What the stages need of a memory's signals, and who may see it: the one reader of the signal columns.

Everything here costs by candidate, never by corpus. `alive` is asked of every channel's hits, `visible`
of what the graph alone found, since no engine has filtered that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_query.pool import Traits
from helix_shared.artifacts.ranking import Hits
from helix_shared.artifacts.selection import Selection
from helix_shared.artifacts.signals import MEMORY_TYPES, NO_TIME, code

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_shared.artifacts.signals import Signals
    from helix_shared.artifacts.vectors import VectorReader
    from helix_shared.artifacts.versions import Versions

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_MOMENT: Final = (datetime.min.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
LAST_MOMENT: Final = (datetime.max.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
SCOPE_COLUMNS: Final = ("ordinal", "tenant_id", "owner", "audience", "event_at")
"""What only the vector table knows of a memory's visibility; the rest is filtered by signals."""
STORED_COLUMNS: Final = (
    "ordinal", "memory_id", "tenant_id", "user_id", "project_id", "session_id", "text", "title", "context",
    "speaker", "role", "event_id", "event_kind", "document_id", "source_uri", "piece", "char_start",
    "char_end", "categories", "trust", "expansions", "superseded_by", "owner", "audience",
)  # fmt: skip
"""What an answer needs from the vector table; the rest of a row stands in the signals already.

A take costs by column, so this is a third of the time of reading whole rows.
"""
SIGNAL_TIMES: Final = ("created_at", "occurred_at", "event_start", "event_end", "valid_from", "valid_to")
SIGNAL_VALUES: Final = (
    "salience", "confidence", "pinned", "priority", "token_count", "stream_sequence", "hidden",
)  # fmt: skip
NONE: Final = np.empty(0, np.int64)
REACH: Final = 4
"""How much deeper a channel is asked when dead memories took places of living ones."""


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970 of an aware time, exactly."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def alive(
    signals: Signals, ordinals: NDArray[np.int64], *, now: datetime, past: Versions | None = None
) -> NDArray[np.bool_]:
    """Which memories are recalled at `now`: not hidden, valid already and still, not expired.

    With `past` as it was known at `now`: created by then, and what was superseded or expired since was
    not hidden yet (ops/decisions/0011).
    """
    moment = microseconds(now)
    living = ~signals.hidden[ordinals]
    if past is not None:
        living |= past.current(ordinals, moment)
        living &= signals.created_at[ordinals] <= moment
    # NO_TIME is the least integer, so a missing start has always begun.
    living &= signals.valid_from[ordinals] <= moment
    for ends in (signals.valid_to[ordinals], signals.expires_at[ordinals]):
        living &= (ends == NO_TIME) | (ends > moment)
    return living


def living_hits(
    search: Callable[[int], Hits],
    signals: Signals,
    *,
    limit: int,
    now: datetime,
    past: Versions | None = None,
    already: NDArray[np.int64] = NONE,
) -> Hits:
    """The `limit` best hits that are alive; asks once more, deeper, when dead ones took their places.

    Those of `already`, which the caller has, stay among the hits but are not counted.
    """
    asked = limit + min(len(already), limit)
    hits = search(asked)
    living = alive(signals, hits.ordinals, now=now, past=past)
    counted = living & ~np.isin(hits.ordinals, already)
    if len(hits) == asked and np.count_nonzero(counted) < limit:
        hits = search((limit if living.all() else limit * REACH) + len(already))
        living = alive(signals, hits.ordinals, now=now, past=past)
        counted = living & ~np.isin(hits.ordinals, already)
    kept = living & (np.cumsum(counted) - counted < limit)
    return Hits(hits.ordinals[kept], hits.scores[kept])


def judged(selection: Selection, vectors: VectorReader, now: datetime) -> tuple[datetime, Versions | None]:
    """The moment at which memories are judged, and what `alive` needs to know when that is a past one."""
    return (now, None) if selection.as_of is None else (selection.as_of, vectors.versions)


def visible(
    ordinals: NDArray[np.int64],
    *,
    signals: Signals,
    vectors: VectorReader,
    selection: Selection,
    now: datetime,
) -> NDArray[np.bool_]:
    """Which memories are alive and inside the selection; reads owner and audience of those that may be."""
    moment, past = judged(selection, vectors, now)
    allowed = alive(signals, ordinals, now=moment, past=past) & _selected(signals, ordinals, selection)
    caller = Selection(selection.tenant_id, selection.user_id, selection.principals)
    rows = vectors.take(ordinals[allowed], columns=SCOPE_COLUMNS).to_pylist()
    admitted = [row["ordinal"] for row in rows if caller.admits(row)]
    inside: NDArray[np.bool_] = np.isin(ordinals, np.array(admitted, np.int64))
    return inside


def _selected(signals: Signals, ordinals: NDArray[np.int64], selection: Selection) -> NDArray[np.bool_]:
    """Whether tenant, type, project, session and event time are selected, as far as codes can tell."""
    selected: NDArray[np.bool_] = signals.tenant_code[ordinals] == code(selection.tenant_id)
    if selection.types:
        selected &= np.isin(
            signals.type_code[ordinals], [MEMORY_TYPES.index(kind) for kind in selection.types]
        )
    if selection.project_ids:
        selected &= np.isin(signals.project_code[ordinals], [code(name) for name in selection.project_ids])
    if selection.session_ids:
        selected &= np.isin(signals.session_code[ordinals], [code(name) for name in selection.session_ids])
    started = signals.event_start[ordinals]
    event_at = np.where(started == NO_TIME, signals.occurred_at[ordinals], started)
    if selection.event_after is not None:
        selected &= event_at >= microseconds(selection.event_after)
    if selection.event_before is not None:
        selected &= event_at < microseconds(selection.event_before)
    return selected


def completed(stored: Sequence[Mapping[str, Any]], signals: Signals) -> list[dict[str, Any]]:
    """Rows of `STORED_COLUMNS` with what the signals say of them: times, values, type and event time."""
    rows = []
    for row in stored:
        ordinal = row["ordinal"]
        times = {name: _moment(getattr(signals, name)[ordinal]) for name in SIGNAL_TIMES}
        values = {name: getattr(signals, name)[ordinal].item() for name in SIGNAL_VALUES}
        kind = MEMORY_TYPES[signals.type_code[ordinal]]
        event_at = times["event_start"] or times["occurred_at"]
        rows.append({**row, **times, **values, "type": kind, "event_at": event_at})
    return rows


def _moment(value: np.int64) -> datetime | None:
    """None also for a time no calendar holds: one bad row must not spoil an answer."""
    if not FIRST_MOMENT <= value <= LAST_MOMENT:
        return None
    return EPOCH + timedelta(microseconds=int(value))


def traits(signals: Signals, ordinals: NDArray[np.int64], *, as_of: datetime | None = None) -> Traits:
    """The signals of candidates, raw; what was accessed after `as_of` counts as never accessed."""
    accessed, counts = signals.last_accessed_at[ordinals], signals.access_count[ordinals]
    if as_of is not None:
        later = accessed > microseconds(as_of)
        accessed, counts = np.where(later, NO_TIME, accessed), np.where(later, 0, counts)
    return Traits(
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
