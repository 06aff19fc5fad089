"""Folding near-duplicates: a memory repeats the earliest of the log that says nearly the same; both stay.

Each memory has one `RELATES` edge, to the one it repeats. `relate` has the index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_consolidation.folding.changes import Relation
from helix_consolidation.ledger.near_duplicates import log_position

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_consolidation.folding.context import FoldContext
    from helix_consolidation.folding.incoming_rows import IncomingRow
    from helix_consolidation.ledger.near_duplicates import DuplicateMatch

EDGE: Final = "RELATES"


def index(context: FoldContext, ordinal: int, incoming: IncomingRow, *, is_new: bool) -> None:
    """Index a memory, or another version of it, and say what it repeats and which later ones repeat it."""
    near, values = context.state.near, (incoming.group, incoming.content, incoming.signature)
    if not is_new and near.holds(ordinal, *values):
        return
    repeats: list[int] = []
    if not is_new:
        repeats = context.state.ledger.duplicates_of([ordinal])
        for changed in (ordinal, *repeats):
            _repeat(context, changed, None)
        follow(context, sorted(near.forget(ordinal)))
    place = near.add(ordinal, log_position(incoming.entry.stream_sequence, incoming.entry.piece), *values)
    _repeat_found(context, ordinal, place.earliest)
    compare(context, [*repeats, *context.state.ledger.duplicates_of(sorted(place.displaced))])
    _follow(context, ordinal, place.later)


def compare(context: FoldContext, ordinals: Iterable[int]) -> None:
    """Look up anew what these memories repeat."""
    for ordinal in ordinals:
        _repeat_found(context, ordinal, context.state.near.place(ordinal).earliest)


def follow(context: FoldContext, ordinals: Iterable[int]) -> None:
    """Let later near-duplicates of these memories repeat them, unless they repeat an earlier one."""
    for ordinal in ordinals:
        _follow(context, ordinal, context.state.near.place(ordinal).later)


def _follow(context: FoldContext, ordinal: int, neighbours: Iterable[DuplicateMatch]) -> None:
    ledger = context.state.ledger
    for later in neighbours:
        repeated = ledger.duplicate_of(later.ordinal)
        if repeated is None or ledger.order(repeated) > ledger.order(ordinal):
            _repeat(context, later.ordinal, ordinal, later.jaccard)


def _repeat_found(context: FoldContext, ordinal: int, found: DuplicateMatch | None) -> None:
    if found is None:
        _repeat(context, ordinal, None)
    else:
        _repeat(context, ordinal, found.ordinal, found.jaccard)


def _repeat(context: FoldContext, ordinal: int, earlier: int | None, jaccard: float = 0.0) -> None:
    before = context.state.ledger.duplicate_of(ordinal)
    if before == earlier:
        return
    context.state.ledger.record_duplicate(ordinal, earlier)
    context.changes.rewritten.add(ordinal)
    if before is not None:
        context.changes.relate(Relation(ordinal, before, EDGE, 0.0))
    if earlier is not None:
        context.changes.relate(Relation(ordinal, earlier, EDGE, jaccard))
