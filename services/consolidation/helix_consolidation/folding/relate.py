"""Deciding how new statements relate to earlier ones, in the order of the log.

A statement waits in `Undecided` until every event before its own is in; a lifecycle action waits for the
statements before it. So each decision sees the statements that the log holds before its own, without those
erased by then, in whatever order and batches messages arrive, and after any restart. `links` says which of
the decided relations count.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_consolidation.folding.incoming.statements import statements_of
from helix_consolidation.folding.status.links import add_link
from helix_consolidation.folding.status.version_family import update_status
from helix_consolidation.ledger.minhash_bands import NO_WORDS, estimated_jaccard, signatures_of
from helix_consolidation.relations.statement import Candidate
from helix_shared.artifacts.relations.records import DecidedRelation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from helix_consolidation.folding.context import FoldContext
    from helix_consolidation.relations.statement import Decision
    from helix_consolidation.statements.group_index import Match
    from helix_consolidation.statements.statement_index import StatementIndex
    from helix_consolidation.statements.statement_row import StatementRow

MOST_RELATIONS: Final = 8
"""Relations of one statement that are kept, the most probable ones."""
WHOLE_LOG: Final = sys.maxsize


def await_decision(
    context: FoldContext,
    batch: pa.RecordBatch,
    chosen: Sequence[tuple[int, int]],
    *,
    sequence: int,
    derived: int,
) -> None:
    """Take the statements of an event's own rows, given as (row, ordinal)."""
    if sequence > context.state.undecided.decided:
        rows = statements_of(batch, chosen, sequence=sequence, derived=derived)
        context.state.undecided.add(sequence, derived, rows)


def decide_due(context: FoldContext, *, before: int = WHOLE_LOG) -> None:
    """Decide about the statements of events below `before` whose turn has come."""
    state = context.state
    rows = state.undecided.take(below=before, floor=state.applied.floor, is_settled=state.is_settled)
    if not rows:
        return
    affected = set[int]()
    for row, matches in zip(rows, state.statements.add(rows), strict=True):
        for relation in _relations(context, row, matches):
            affected |= add_link(context, relation)
            state.extracted.touch(relation.newer)
    update_status(context, sorted(affected))


def _relations(context: FoldContext, row: StatementRow, matches: list[Match]) -> Iterator[DecidedRelation]:
    state = context.state
    if not state.ledger.is_there(row.ordinal):
        return
    _, corrected = state.ledger.corrected_by(row.ordinal)
    known = {row.ordinal, corrected, state.ledger.sources.of(row.ordinal)}
    matches = [match for match in matches if state.statements.ordinal(match.number) not in known]
    if not matches:
        return
    new = row.statement
    ordinals = [state.statements.ordinal(match.number) for match in matches]
    candidates = candidates_of(state.statements, row, matches)
    decisions = sorted(context.decide(new, candidates), key=most_probable_first)
    for decision in decisions[:MOST_RELATIONS]:
        if decision.probability > 0:
            older = ordinals[decision.older]
            yield relation_of(row.ordinal, older, decision, at=new.occurred_at, closes=decision.closes)


def candidates_of(statements: StatementIndex, row: StatementRow, matches: Sequence[Match]) -> list[Candidate]:
    """The statements that were found for `row`, as a decision reads them; `matches` are not empty."""
    others = signatures_of([statements.minhash(match.number) for match in matches])
    own = signatures_of([row.minhash])[0]
    shares = estimated_jaccard(own, others) * (own != NO_WORDS).any()
    return [
        Candidate(
            statements.statement(match.number),
            exact=match.exact,
            jaccard=float(jaccard),
            lexical=match.lexical,
            cosine=match.cosine,
        )
        for match, jaccard in zip(matches, shares, strict=True)
    ]


def relation_of(newer: int, older: int, decision: Decision, *, at: int, closes: bool) -> DecidedRelation:
    """A decision about two memories as it is kept; `at` is in microseconds."""
    return DecidedRelation(
        newer=newer,
        older=older,
        kind=decision.relation,
        probability=float(np.float32(min(decision.probability, 1.0))),
        at=at,
        closes=closes,
        revives=decision.revives,
        evidence={name: float(value) for name, value in decision.evidence.items()},
    )


def most_probable_first(decision: Decision) -> tuple[bool, bool, float, int]:
    """Sort key: what closes or revives, then by probability."""
    return not decision.closes, not decision.revives, -decision.probability, decision.older
