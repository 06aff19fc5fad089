"""Chooses neighbours of the packed memories by signals, then reads their rows in one access.

Neighbours must pass the caller's selection except its types: what is said around a decision is no decision.
No recalled memory, none that the caller has and none of the same turn as a recalled one is a neighbour, and
no memory is a neighbour twice. A statement that was derived from a turn is no neighbour: the turn is. Nor is
a question that a packed statement quotes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_query.recall.packing.entries import Entry, entry_of
from helix_query.recall.packing.neighbours import Neighbours
from helix_query.recall.packing.quoted_questions import quoting_in
from helix_query.recall.packing.rows import stored_rows
from helix_shared.artifacts.distinct import distinct

if TYPE_CHECKING:
    from datetime import tzinfo

    from numpy.typing import NDArray

    from helix_query.generations.snapshot import Snapshot
    from helix_query.profile.profile import RankingProfile
    from helix_query.recall.result import Packed
    from helix_query.recall.visibility import Visibility

MAX_INVISIBLE_SKIPPED: Final = 8
"""Invisible neighbours that are passed over at most to reach a visible one."""


@dataclass(frozen=True, slots=True)
class ChosenNeighbours:
    """Ordinals around one memory: right beside it, and the rest of its session, in reading order."""

    memory_id: str
    beside: tuple[int | None, int | None]
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()

    @property
    def ordinals(self) -> set[int]:
        """All of them."""
        return {*self.before, *self.after, *(ordinal for ordinal in self.beside if ordinal is not None)}


def neighbours_of(
    recalled: Sequence[Mapping[str, Any]],
    packed: Packed,
    visibility: Visibility,
    snapshot: Snapshot,
    *,
    whole: bool,
    room: int,
    profile: RankingProfile,
    already_served: NDArray[np.int64],
    zone: tzinfo | None,
) -> list[Neighbours]:
    """What may be packed around those of `recalled` that are packed, in their order.

    `room` is the tokens left; the profile says how many memories are read at most. Dates are those of `zone`,
    or UTC.
    """
    limit = profile.pack.neighbour_limit
    own = np.array([row["ordinal"] for row in recalled], np.int64)
    taken = set(np.concatenate([own, already_served]).tolist())
    most = len(taken) + limit
    around = [row for row in recalled if row["memory_id"] in packed.memory_ids]
    reach = max(limit, MAX_INVISIBLE_SKIPPED) if whole else MAX_INVISIBLE_SKIPPED
    stretches = _stretches(around, visibility, snapshot, reach=reach)
    chosen: list[ChosenNeighbours] = []
    for row, stretch in zip(around, stretches, strict=True):
        if len(taken) >= most:
            break
        left, tokens = most - len(taken), snapshot.generation.signals.token_count
        found = _choose(row["memory_id"], stretch, tokens, taken=taken, whole=whole, room=room, limit=left)
        chosen.append(found)
        taken |= found.ordinals
    read = sorted(set().union(*(one.ordinals for one in chosen)))
    rows = _read(read, visibility, snapshot)
    quoting = quoting_in([*around, *rows], profile)
    entries = {row["ordinal"]: entry_of(row, zone) for row in rows if row["memory_id"] not in quoting}
    return [_around(one, entries) for one in chosen]


@dataclass(frozen=True, slots=True)
class VisibleStretch:
    """The visible ordinals around one memory, in reading order."""

    before: list[int]
    after: list[int]
    is_whole: bool
    """The stretch reaches both ends of the session."""


def _stretches(
    rows: Sequence[Mapping[str, Any]], visibility: Visibility, snapshot: Snapshot, *, reach: int
) -> list[VisibleStretch]:
    """The visible stretch around each row, checked together; invisible rows are left out."""
    order, signals = snapshot.session_order, snapshot.generation.signals
    stretches = [order.around(row["ordinal"], signals, reach=reach) for row in rows]
    everyone = distinct(*(one.ordinals for one in stretches))
    own = np.array([row["ordinal"] for row in rows], np.int64)
    may_stand = visibility.of_neighbours().is_visible(everyone)
    may_stand &= ~signals.is_derived[everyone]
    same_turn = np.isin(signals.source_code[everyone], signals.source_code[own])
    may_stand &= np.isin(everyone, own) | ~same_turn
    seen = everyone[may_stand]
    found = []
    for one in stretches:
        living = np.isin(one.ordinals, seen)
        before = one.ordinals[: one.place][living[: one.place]].tolist()
        after = one.ordinals[one.place + 1 :][living[one.place + 1 :]].tolist()
        found.append(VisibleStretch(before, after, one.is_whole))
    return found


def _choose(
    memory_id: str,
    stretch: VisibleStretch,
    token_count: NDArray[np.int32],
    *,
    taken: set[int],
    whole: bool,
    room: int,
    limit: int,
) -> ChosenNeighbours:
    before, after = stretch.before, stretch.after
    # A neighbour that is taken or too long is not replaced by a more distant one.
    beside: list[int | None] = []
    for side in (before[-1:], after[:1]):
        fits = [ordinal for ordinal in side if ordinal not in taken and token_count[ordinal] < room]
        is_left = limit > len(beside) - beside.count(None)
        beside.append(fits[0] if fits and is_left else None)
    rest = [ordinal for ordinal in (*before, *after) if ordinal not in taken]
    chosen = ChosenNeighbours(memory_id, (beside[0], beside[1]))
    tokens = int(token_count[np.array(rest, np.int64)].sum())
    if not whole or not stretch.is_whole or len(rest) > limit or tokens > room:
        return chosen
    fresh = set(rest)
    return replace(
        chosen,
        before=tuple(ordinal for ordinal in before if ordinal in fresh),
        after=tuple(ordinal for ordinal in after if ordinal in fresh),
    )


def _read(ordinals: Sequence[int], visibility: Visibility, snapshot: Snapshot) -> list[dict[str, Any]]:
    """Rows of the visible ones."""
    visibility = visibility.of_neighbours()
    rows = stored_rows(snapshot, np.array(ordinals, np.int64), visibility)
    return [row for row in rows if visibility.selection.admits(row)]


def _around(chosen: ChosenNeighbours, entries: Mapping[int, Entry]) -> Neighbours:
    previous, following = (None if one is None else entries.get(one) for one in chosen.beside)
    return Neighbours(
        chosen.memory_id,
        previous,
        following,
        tuple(entries[ordinal] for ordinal in chosen.before if ordinal in entries),
        tuple(entries[ordinal] for ordinal in chosen.after if ordinal in entries),
    )
