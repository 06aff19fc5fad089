"""Why a memory of the caller is hidden, so that no recall of the present returns it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from helix_query.diagnostics.explanation import Loss
from helix_query.recall.packing.rows import with_signals
from helix_query.recall.visibility import Visibility
from helix_shared.artifacts.signals.columns import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from helix_query.generations.snapshot import Snapshot
    from helix_shared.artifacts.filter.selection import Selection

_STATE: Final = ("ordinal", "deleted_at", "deleted_by", "erasing", "superseded_by", "closed_at")


@dataclass(frozen=True, slots=True)
class Hidden:
    """A hidden memory: what hides it, and since when or from what event."""

    loss: Loss
    """`FORGOTTEN`, `ERASED`, `REPLACED` or `NOT_VALID`."""
    state: Mapping[str, Any]
    """Columns of the vector table."""
    replacement: Mapping[str, Any] | None
    """The row of what replaced it, if that is visible to the caller."""


def hidden_memory(
    memory_id: str, selection: Selection, snapshot: Snapshot, *, now: datetime
) -> Hidden | None:
    """The memory, if its owner and access list admit the caller and no recall of `now` returns it.

    None also for one that only decay hides, which can be read by id, and where `selection` has a past moment.
    """
    signals, ordinals = snapshot.generation.signals, snapshot.ordinals_of([memory_id])
    visibility = Visibility.of(snapshot.generation, selection.unfiltered(), now)
    if selection.past or not len(ordinals):
        return None
    if visibility.is_valid_at(ordinals).any() or (signals.decayed_at[ordinals] != NO_TIME).any():
        return None
    rows = with_signals(signals.records(ordinals), signals)
    if not rows or not selection.access.admits(rows[0]):
        return None
    [state] = snapshot.generation.vectors.take(ordinals, _STATE).to_pylist()
    if state["deleted_at"] is not None:
        return Hidden(Loss.ERASED if state["erasing"] else Loss.FORGOTTEN, state, None)
    if not state["superseded_by"]:
        return Hidden(Loss.NOT_VALID, state, None)
    later = snapshot.ordinals_of([state["superseded_by"]])
    seen = with_signals(
        signals.records(later[visibility.of_earlier(with_corrected=True).is_visible(later)]), signals
    )
    return Hidden(Loss.REPLACED, state, seen[0] if seen else None)
