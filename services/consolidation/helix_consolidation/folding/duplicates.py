"""Folding near-duplicates: a memory points to its earliest near-duplicate in the log; both stay.

A version of a memory is no duplicate of another version of it. Each memory has at most one such `RELATES`
edge, to the memory it duplicates; it counts before the edge of a decided relation to the same memory.
`ledger.near_duplicates` is the index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.folding.changes import Relation
from helix_consolidation.folding.status.links import decided_weight
from helix_consolidation.folding.status.version_members import one_memory
from helix_consolidation.ledger.sequences import log_position
from helix_shared.artifacts.relations.records import RELATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from helix_consolidation.folding.context import FoldContext
    from helix_consolidation.folding.incoming.rows import IncomingRow
    from helix_consolidation.ledger.near_duplicates import DuplicateMatch


def index_duplicates(context: FoldContext, ordinal: int, row: IncomingRow, *, is_new: bool) -> None:
    """Index a memory, or another version of it; update what it duplicates and what duplicates it."""
    near, values = context.state.near, (row.group, row.content, row.signature)
    if not is_new and near.is_indexed_as(ordinal, *values):
        return
    duplicates: list[int] = []
    if not is_new:
        duplicates = context.state.ledger.duplicates_of([ordinal])
        for changed in (ordinal, *duplicates):
            _record(context, changed, None)
        match_later(context, sorted(near.remove(ordinal)))
    matches = near.add(ordinal, log_position(row.entry.stream_sequence, row.entry.piece), *values)
    _record_match(context, ordinal, matches.earlier)
    match_again(context, [*duplicates, *context.state.ledger.duplicates_of(sorted(matches.displaced))])
    _match_later(context, ordinal, matches.later)


def match_again(context: FoldContext, ordinals: Iterable[int]) -> None:
    """Look up again what these memories duplicate."""
    for ordinal in ordinals:
        _record_match(context, ordinal, context.state.near.matches(ordinal).earlier)


def match_later(context: FoldContext, ordinals: Iterable[int]) -> None:
    """Let later near-duplicates of these memories point to them, unless they point to an earlier one."""
    for ordinal in ordinals:
        _match_later(context, ordinal, context.state.near.matches(ordinal).later)


def _match_later(context: FoldContext, ordinal: int, matches: Sequence[DuplicateMatch]) -> None:
    ledger = context.state.ledger
    for later in _of_others(context, ordinal, matches):
        current = ledger.duplicate_of(later.ordinal)
        if current is None or ledger.order(current) > ledger.order(ordinal):
            _record(context, later.ordinal, ordinal, later.jaccard)


def _of_others(context: FoldContext, ordinal: int, matches: Sequence[DuplicateMatch]) -> list[DuplicateMatch]:
    """The matches that are no version of the same memory."""
    own = one_memory(context.state, ordinal) if matches else set[int]()
    return [match for match in matches if match.ordinal not in own]


def _record_match(context: FoldContext, ordinal: int, earlier: Sequence[DuplicateMatch]) -> None:
    match = next(iter(_of_others(context, ordinal, earlier)), None)
    if match is None:
        _record(context, ordinal, None)
    else:
        _record(context, ordinal, match.ordinal, match.jaccard)


def _record(context: FoldContext, ordinal: int, earlier: int | None, jaccard: float = 0.0) -> None:
    before = context.state.ledger.duplicate_of(ordinal)
    if before == earlier:
        return
    context.state.ledger.record_duplicate(ordinal, earlier)
    context.changes.rewritten.add(ordinal)
    if before is not None:
        decided = decided_weight(context.state, ordinal, before)
        context.changes.relate(Relation(ordinal, before, RELATES, decided))
    if earlier is not None:
        context.changes.relate(Relation(ordinal, earlier, RELATES, jaccard))
