"""Why memories of the caller are hidden from recalls of the present."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from helix_query.diagnostics.explanation import Loss
from helix_query.recall.packing.rows import with_signals
from helix_query.recall.visibility import Visibility
from helix_shared.artifacts.signals.columns import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from helix_query.generations.snapshot import Snapshot
    from helix_shared.artifacts.filter.selection import Selection

_STATE: Final = ("ordinal", "deleted_at", "deleted_by", "erasing", "superseded_by", "closed_at")


@dataclass(frozen=True, slots=True)
class Hidden:
    """A hidden memory: the reason, and the time or event from which it is hidden."""

    loss: Loss
    """`FORGOTTEN`, `ERASED`, `REPLACED` or `NOT_VALID`."""
    state: Mapping[str, Any]
    """Columns of the vector table."""
    replacement: Mapping[str, Any] | None
    """The row of what replaced it, if that is visible to the caller."""
    expired_at: datetime | None = None
    """When it expired; None: it has not."""


def hidden_memory(
    memory_id: str, selection: Selection, snapshot: Snapshot, *, now: datetime
) -> Hidden | None:
    """The memory, as one of `hidden_memories`."""
    return hidden_memories(snapshot.ordinals_of([memory_id]), selection, snapshot, now=now).get(memory_id)


def hidden_memories(
    ordinals: NDArray[np.int64], selection: Selection, snapshot: Snapshot, *, now: datetime
) -> dict[str, Hidden]:
    """Of the memories at `ordinals` [n] those that the caller may see and no recall of `now` returns, by id.

    Without those that only decay hides, which can be read by id; none where `selection` has a past moment.
    """
    if selection.past:
        return {}
    signals = snapshot.generation.signals
    visibility = Visibility.of(snapshot.generation, selection.unfiltered(), now)
    ordinals = ordinals[~visibility.is_valid_at(ordinals) & (signals.decayed_at[ordinals] == NO_TIME)]
    rows = list(filter(selection.access.admits, with_signals(signals.records(ordinals), signals)))
    named = {row["ordinal"]: row["memory_id"] for row in rows}
    ends = {row["ordinal"]: row["expires_at"] for row in rows}
    expired = {one: end for one, end in ends.items() if end is not None and end <= now}
    states = snapshot.generation.vectors.take(list(named), _STATE).to_pylist()
    replacements = _replacements(states, visibility, snapshot)
    return {
        named[state["ordinal"]]: _hidden(state, replacements, expired.get(state["ordinal"]))
        for state in states
    }


def _replacements(
    states: Sequence[Mapping[str, Any]], visibility: Visibility, snapshot: Snapshot
) -> dict[str, Mapping[str, Any]]:
    """The rows of what replaced hidden memories, of those that the caller sees, by id."""
    replaced_by = {state["superseded_by"] for state in states if state["deleted_at"] is None}
    later = snapshot.ordinals_of(list(filter(None, replaced_by)))
    seen = later[visibility.of_earlier(with_corrected=True).is_visible(later)]
    signals = snapshot.generation.signals
    return {row["memory_id"]: row for row in with_signals(signals.records(seen), signals)}


def _hidden(
    state: Mapping[str, Any], replacements: Mapping[str, Mapping[str, Any]], expired_at: datetime | None
) -> Hidden:
    if state["deleted_at"] is not None:
        return Hidden(Loss.ERASED if state["erasing"] else Loss.FORGOTTEN, state, None)
    if not state["superseded_by"]:
        return Hidden(Loss.NOT_VALID, state, None, expired_at)
    return Hidden(Loss.REPLACED, state, replacements.get(state["superseded_by"]), expired_at)
