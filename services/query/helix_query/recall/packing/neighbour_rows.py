"""What may stand around the packed memories: chosen by signals, then read in one access.

Candidates are held to everything but the types of the filter: what is said around a decision is no
decision. Nothing that is recalled or that the caller has is among them, and nobody stands around two.
`stages.surround` packs what fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_query.recall.candidates import Around, Entry, Packed
from helix_query.recall.columns import NONE
from helix_query.recall.packing.rows import entry_of, stored_rows

if TYPE_CHECKING:
    from datetime import tzinfo

    from numpy.typing import NDArray

    from helix_query.generations.snapshot import Snapshot
    from helix_query.recall.visibility import Visibility

PASSED_OVER: Final = 8
"""Dead neighbours that are passed over at most to reach a living one."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Ordinals around one memory: right beside it, and the rest of its session, in reading order."""

    memory_id: str
    beside: tuple[int | None, int | None]
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()

    @property
    def ordinals(self) -> set[int]:
        """All of them."""
        return {*self.before, *self.after, *(ordinal for ordinal in self.beside if ordinal is not None)}


def surroundings(
    recalled: Sequence[Mapping[str, Any]],
    packed: Packed,
    view: Visibility,
    served: Snapshot,
    *,
    whole: bool,
    room: int,
    limit: int,
    already: NDArray[np.int64],
    zone: tzinfo | None,
) -> list[Around]:
    """What may be packed around the packed of `recalled`, in their order.

    `room` is the tokens left, `limit` how many memories are read at most; dates are those of `zone`, or UTC.
    """
    own = np.array([row["ordinal"] for row in recalled], np.int64)
    taken = set(np.concatenate([own, already]).tolist())
    most = len(taken) + limit
    around = [row for row in recalled if row["memory_id"] in packed.memory_ids]
    reach = max(limit, PASSED_OVER) if whole else PASSED_OVER
    stretches = _stretches(around, view, served, reach=reach)
    chosen: list[Chosen] = []
    for row, stretch in zip(around, stretches, strict=True):
        if len(taken) >= most:
            break
        left, tokens = most - len(taken), served.generation.signals.token_count
        found = _choose(row["memory_id"], stretch, tokens, taken=taken, whole=whole, room=room, limit=left)
        chosen.append(found)
        taken |= found.ordinals
    read = sorted(set().union(*(one.ordinals for one in chosen)))
    entries = _read(read, view, served, zone)
    return [_around(one, entries) for one in chosen]


@dataclass(frozen=True, slots=True)
class Visible:
    """What the caller may see of the stretch around one memory, in reading order."""

    before: list[int]
    after: list[int]
    is_whole: bool
    """The stretch reaches both ends of the session."""


def _stretches(
    rows: Sequence[Mapping[str, Any]], view: Visibility, served: Snapshot, *, reach: int
) -> list[Visible]:
    """The stretch around each row, judged for all of them at once before anything is counted.

    What the caller may not see must not even take room.
    """
    order, signals = served.session_order, served.generation.signals
    stretches = [order.around(row["ordinal"], signals, reach=reach) for row in rows]
    everyone = np.unique(np.concatenate([one.ordinals for one in stretches] or [NONE]))
    seen = everyone[view.of_all_types().sees(everyone)]
    found = []
    for one in stretches:
        living = np.isin(one.ordinals, seen)
        before = one.ordinals[: one.place][living[: one.place]].tolist()
        after = one.ordinals[one.place + 1 :][living[one.place + 1 :]].tolist()
        found.append(Visible(before, after, one.is_whole))
    return found


def _choose(
    memory_id: str,
    stretch: Visible,
    token_count: NDArray[np.int32],
    *,
    taken: set[int],
    whole: bool,
    room: int,
    limit: int,
) -> Chosen:
    before, after = stretch.before, stretch.after
    # What stands beside it and is taken, or too long, is not replaced by what is further off.
    sides = [side[0] if side else None for side in (before[-1:], after[:1])]
    beside = [
        None if ordinal is None or ordinal in taken or token_count[ordinal] >= room else ordinal
        for ordinal in sides
    ][:limit]
    rest = [ordinal for ordinal in (*before, *after) if ordinal not in taken]
    chosen = Chosen(memory_id, (beside[0], beside[1] if len(beside) > 1 else None))
    tokens = int(token_count[np.array(rest, np.int64)].sum())
    if not whole or not stretch.is_whole or len(rest) > limit or tokens > room:
        return chosen
    fresh = set(rest)
    return replace(
        chosen,
        before=tuple(ordinal for ordinal in before if ordinal in fresh),
        after=tuple(ordinal for ordinal in after if ordinal in fresh),
    )


def _read(
    ordinals: Sequence[int], view: Visibility, served: Snapshot, zone: tzinfo | None
) -> dict[int, Entry]:
    """Entries of those that the caller may see."""
    view = view.of_all_types()
    rows = stored_rows(served, np.array(ordinals, np.int64), view)
    return {row["ordinal"]: entry_of(row, zone) for row in rows if view.selection.admits(row)}


def _around(chosen: Chosen, entries: Mapping[int, Entry]) -> Around:
    previous, following = (None if one is None else entries.get(one) for one in chosen.beside)
    return Around(
        chosen.memory_id,
        previous,
        following,
        tuple(entries[ordinal] for ordinal in chosen.before if ordinal in entries),
        tuple(entries[ordinal] for ordinal in chosen.after if ordinal in entries),
    )
