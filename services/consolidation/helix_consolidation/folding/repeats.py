"""Folding near-duplicates: a memory repeats the earliest of the log that says nearly the same; both stay.

Each memory has one `RELATES` edge, to the one it repeats. `relate` has the index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_consolidation.folding.changes import Relation
from helix_consolidation.ledger.relate import rank

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_consolidation.folding.arrivals import Arrival
    from helix_consolidation.folding.folding import Folding
    from helix_consolidation.ledger.relate import Neighbour

EDGE: Final = "RELATES"


def index(folding: Folding, ordinal: int, arrival: Arrival, *, is_new: bool) -> None:
    """Index a memory, or another version of it, and say what it repeats and which later ones repeat it."""
    near, values = folding.known.near, (arrival.group, arrival.content, arrival.signature)
    if not is_new and near.holds(ordinal, *values):
        return
    repeats: list[int] = []
    if not is_new:
        repeats = folding.known.ledger.repeats_of([ordinal])
        for changed in (ordinal, *repeats):
            _repeat(folding, changed, None)
        follow(folding, sorted(near.forget(ordinal)))
    place = near.add(ordinal, rank(arrival.entry.stream_sequence, arrival.entry.piece), *values)
    _repeat_found(folding, ordinal, place.earliest)
    compare(folding, [*repeats, *folding.known.ledger.repeats_of(sorted(place.displaced))])
    _follow(folding, ordinal, place.later)


def compare(folding: Folding, ordinals: Iterable[int]) -> None:
    """Look up anew what these memories repeat."""
    for ordinal in ordinals:
        _repeat_found(folding, ordinal, folding.known.near.place(ordinal).earliest)


def follow(folding: Folding, ordinals: Iterable[int]) -> None:
    """Let later near-duplicates of these memories repeat them, unless they repeat an earlier one."""
    for ordinal in ordinals:
        _follow(folding, ordinal, folding.known.near.place(ordinal).later)


def _follow(folding: Folding, ordinal: int, neighbours: Iterable[Neighbour]) -> None:
    ledger = folding.known.ledger
    for later in neighbours:
        repeated = ledger.duplicate_of(later.ordinal)
        if repeated is None or ledger.order(repeated) > ledger.order(ordinal):
            _repeat(folding, later.ordinal, ordinal, later.jaccard)


def _repeat_found(folding: Folding, ordinal: int, found: Neighbour | None) -> None:
    if found is None:
        _repeat(folding, ordinal, None)
    else:
        _repeat(folding, ordinal, found.ordinal, found.jaccard)


def _repeat(folding: Folding, ordinal: int, earlier: int | None, jaccard: float = 0.0) -> None:
    before = folding.known.ledger.duplicate_of(ordinal)
    if before == earlier:
        return
    folding.known.ledger.record_duplicate(ordinal, earlier)
    folding.changes.rewritten.add(ordinal)
    if before is not None:
        folding.changes.relate(Relation(ordinal, before, EDGE, 0.0))
    if earlier is not None:
        folding.changes.relate(Relation(ordinal, earlier, EDGE, jaccard))
