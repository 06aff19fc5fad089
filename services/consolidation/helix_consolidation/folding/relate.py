"""Deciding how new statements relate to earlier ones, in the order of the log.

A statement waits in `Undecided` until every event before its own is in; a lifecycle action waits for the
statements before it. So each decision sees the statements that the log holds before its own, without those
erased by then, in whatever order and batches messages arrive, and after any restart. `links` says which of
the decided relations count.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_consolidation.folding.incoming.statements import statements_of
from helix_consolidation.folding.status.links import add_link
from helix_consolidation.folding.status.version_family import update_status
from helix_consolidation.folding.status.version_members import one_memory
from helix_consolidation.ledger.event_reach import NO_TIME
from helix_consolidation.ledger.minhash_bands import NO_WORDS, estimated_jaccard, signatures_of
from helix_consolidation.ledger.sequences import WHOLE_LOG
from helix_consolidation.metrics import DECIDED_EARLY
from helix_consolidation.relations.statement import Candidate
from helix_consolidation.relations.unsure import without_verdict
from helix_shared.artifacts.relations.records import CLOSES, DecidedRelation
from helix_shared.pairs.messages import MOST_PAIRS, TEXT_CHARACTERS, Pair, PairedText, UnsurePairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from helix_consolidation.folding.context import FoldContext
    from helix_consolidation.ledger.consolidation_state import ConsolidationState
    from helix_consolidation.relations.statement import Decision, Statement
    from helix_consolidation.statements.group_index import Match
    from helix_consolidation.statements.statement_index import StatementIndex
    from helix_consolidation.statements.statement_row import StatementRow

MOST_RELATIONS: Final = 8
"""Relations of one statement that are kept, the most probable ones."""
MIN_STAYS_CLOSED: Final = 0.5
"""Probability of a replacement by a correction, from which it closes what its first version had closed."""


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
    early = state.undecided.decided_early
    rows = state.undecided.take(below=before, floor=state.applied.floor, has_all_before=state.has_all_before)
    DECIDED_EARLY.inc(state.undecided.decided_early - early)
    if not rows:
        return
    affected = set[int]()
    unsure = defaultdict[int, list[_Unsure]](list)
    for row, matches in zip(rows, state.statements.add(rows), strict=True):
        for relation, older in _relations(context, row, matches):
            affected |= add_link(context, relation)
            state.extracted.touch(relation.newer)
            if relation.unsure:
                unsure[row.sequence].append(_Unsure(relation, row, older))
    if context.unsure is not None:
        pairs = (_pairs(state, some) for some in unsure.values())
        context.unsure.extend(asked for asked in pairs if asked is not None)
    update_status(context, sorted(affected))


def without_removed(state: ConsolidationState, asked: UnsurePairs) -> UnsurePairs | None:
    """The pairs of which neither side was forgotten or erased since; None where none is left."""
    kept = tuple(p for p in asked.pairs if _is_still(state, p.newer) and _is_still(state, p.older))
    return asked.model_copy(update={"pairs": kept}) if kept else None


def _is_still(state: ConsolidationState, side: PairedText) -> bool:
    """Whether it is the same publication of a memory, and not forgotten."""
    ordinal = state.ledger.find(side.memory_id)
    if ordinal is None or state.ledger.sequences(ordinal)[0] != side.sequence:
        return False
    return not _is_forgotten(state, ordinal)


def _is_forgotten(state: ConsolidationState, ordinal: int) -> bool:
    return state.ledger.status(ordinal).deleted_at != NO_TIME


@dataclass(frozen=True, slots=True)
class _Unsure:
    """A relation that a verdict may move, with both statements."""

    relation: DecidedRelation
    newer: StatementRow
    older: Statement


def _pairs(state: ConsolidationState, unsure: Sequence[_Unsure]) -> UnsurePairs | None:
    """The most probable pairs of one event; of a turn and a statement derived from it one is compared.

    Pairs with a forgotten memory are left out, since a language model reads the texts. None: no pair is left.
    """
    chosen: dict[tuple[int, int], Pair] = {}

    def rank(one: _Unsure) -> tuple[Any, ...]:
        place = (state.ledger.order(ordinal) for ordinal in (one.relation.newer, one.relation.older))
        return -one.relation.probability, *place

    order = sorted(unsure, key=rank)
    for one in order:
        newer, older = one.relation.newer, one.relation.older
        if _is_forgotten(state, newer) or _is_forgotten(state, older):
            continue
        sources = (state.ledger.sources.of(newer), state.ledger.sources.of(older))
        turns = (newer if sources[0] is None else sources[0], older if sources[1] is None else sources[1])
        sides = (_side(state, newer, one.newer.statement), _side(state, older, one.older))
        chosen.setdefault(turns, Pair(newer=sides[0], older=sides[1]))
    if not chosen:
        return None
    first = order[0]
    return UnsurePairs(
        tenant_id=state.ledger.tenant_id(first.relation.newer),
        event_sequence=first.newer.sequence,
        stored_at=int(state.ledger.facts["created_at"][first.relation.newer]),
        group=first.newer.group,
        pairs=tuple(chosen.values())[:MOST_PAIRS],
    )


def _side(state: ConsolidationState, ordinal: int, statement: Statement) -> PairedText:
    return PairedText(
        memory_id=state.ledger.memory_id(ordinal),
        sequence=state.ledger.sequences(ordinal)[0],
        text=statement.text[:TEXT_CHARACTERS],
        speaker=statement.speaker,
        role=statement.role,
        at=statement.occurred_at,
    )


def _relations(
    context: FoldContext, row: StatementRow, matches: list[Match]
) -> Iterator[tuple[DecidedRelation, Statement]]:
    """The relations of a statement, each with the older statement."""
    state = context.state
    if not state.ledger.is_there(row.ordinal):
        return
    _, corrected = state.ledger.corrected_memory_of(row.ordinal)
    own = one_memory(state, row.ordinal) if matches else set[int]()
    matches = [match for match in matches if state.statements.ordinal(match.number) not in own]
    if not matches:
        return
    new = row.statement
    ordinals = [state.statements.ordinal(match.number) for match in matches]
    candidates = candidates_of(state.statements, row, matches)
    decided = context.decide(new, candidates)
    if corrected is not None:
        decided = [
            replace(one, closes=True, unsure=False, closable=False)
            if not one.closes and _stays_closed(state, corrected, ordinals[one.older], one)
            else one
            for one in decided
        ]
    decisions = sorted(decided, key=most_probable_first)
    for decision in decisions[:MOST_RELATIONS]:
        if decision.probability > 0:
            older = ordinals[decision.older]
            relation = relation_of(row.ordinal, older, decision, at=new.occurred_at, closes=decision.closes)
            is_unsure = decision.unsure
            relation = replace(relation, unsure=is_unsure, closable=decision.closable)
            yield without_verdict(relation) if is_unsure else relation, candidates[decision.older].statement


def _stays_closed(state: ConsolidationState, corrected: int, older: int, decision: Decision) -> bool:
    """Whether a correction likely replaces what the memory that it corrects has closed.

    "It is on Thursdays now", which replaced Tuesdays, is corrected to "it is on Fridays": Tuesdays do not
    hold again, though the correction has no word of change.
    """
    if decision.relation != "UPDATES" or decision.probability < MIN_STAYS_CLOSED:
        return False
    relations = state.relations
    return any(relations.records["flags"][row] & CLOSES for row in relations.between(corrected, older))


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
        retracts=decision.retracts,
        evidence={name: float(value) for name, value in decision.evidence.items()},
    )


def most_probable_first(decision: Decision) -> tuple[bool, bool, float, int]:
    """Sort key: what closes or revives, then by probability."""
    return not decision.closes, not decision.revives, -decision.probability, decision.older
