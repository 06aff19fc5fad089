"""Relations of extracted statements (`extracted_statements`).

A statement says what its turn says, so it is compared with the memories that its turn is related to, and with
the statements extracted from these. A later memory that is related to the turn is compared with the statement
as well. `relate` decides about turns in the order of the log, but a statement may arrive at any time after
its turn. So the decisions of this module depend only on which memories exist: they are made again when a
statement or a memory near them is added or removed. A statement closes an earlier memory only if its turn
replaces that memory too. A statement repeats no memory: its turn counts as the repetition.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_consolidation.folding.relate import MOST_RELATIONS, most_probable_first, relation_of
from helix_consolidation.folding.status.links import add_link, drop_links
from helix_consolidation.folding.status.version_family import update_status
from helix_consolidation.ledger.minhash_bands import NO_WORDS, estimated_jaccard, signatures_of
from helix_consolidation.relations.statement import Candidate
from helix_consolidation.statements.quantised import dot_products, length_of
from helix_shared.artifacts.relations.records import RELATION_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from helix_consolidation.folding.context import FoldContext
    from helix_consolidation.ledger.consolidation_state import ConsolidationState
    from helix_consolidation.statements.statement_row import StatementRow
    from helix_shared.artifacts.relations.records import DecidedRelation

_UPDATES: Final = RELATION_KINDS.index("UPDATES")


def relate_extracted(context: FoldContext) -> None:
    """Decide again about the statements around the memories that this batch touched."""
    state = context.state
    touched, state.extracted.touched = state.extracted.touched, set()
    touched = {ordinal for ordinal in touched if state.ledger.is_there(ordinal)}
    if not touched:
        return
    table, extracted = state.relations, state.extracted
    touched = _turns(state, touched)
    turns = {member for turn in touched for member in (turn, *state.ledger.sources.same_turn(turn))}
    newer = {int(table.records["newer"][row]) for row in table.to(turns)}
    around = {ordinal for ordinal in turns | newer if extracted.source_of(ordinal) is None}
    around |= extracted.of_sources(_turns(state, around))
    affected = set[int]()
    for ordinal in sorted(around, key=state.ledger.order):
        affected |= _decide(context, ordinal)
    update_status(context, sorted(affected))


def _decide(context: FoldContext, ordinal: int) -> set[int]:
    """Decide about one memory and what it is compared with here; returns whose status may change."""
    state, table = context.state, context.state.relations
    extracted = state.extracted
    pool, replaced = _pool(state, ordinal)
    decided = {relation.older: relation for relation in _relations(context, ordinal, pool, replaced)}
    is_statement = extracted.source_of(ordinal) is not None
    dropped = []
    for row in table.from_([ordinal]):
        older = int(table.records["older"][row])
        if not is_statement and extracted.source_of(older) is None:
            continue  # `relate` decided it
        if older in decided and table.equals(row, decided[older]):
            del decided[older]
        else:
            dropped.append(row)
    affected = drop_links(context, dropped)
    for older in sorted(decided, key=state.ledger.order):
        affected |= add_link(context, decided[older])
    return affected


def _pool(state: ConsolidationState, ordinal: int) -> tuple[list[int], set[int]]:
    """The memories to compare with, in the order of the log, and those among them that the turn replaces."""
    table, extracted = state.relations, state.extracted
    source = extracted.source_of(ordinal)
    own = [ordinal] if source is None else [source, *state.ledger.sources.same_turn(source)]
    found, replaced = set[int](), set[int]()
    for row in table.from_(own):
        older = int(table.records["older"][row])
        if extracted.source_of(older) is not None:
            continue
        statements = extracted.of_sources(_turns(state, [older]))
        compared = statements if source is None else statements | {older}
        found |= compared
        replaced |= compared if table.records["kind"][row] == _UPDATES else set()
    return sorted(found, key=state.ledger.order), replaced


def _turns(state: ConsolidationState, ordinals: Iterable[int]) -> set[int]:
    """The verbatim memories among these memories and their sources."""
    found = set[int]()
    for ordinal in ordinals:
        source = state.extracted.source_of(ordinal)
        turn = ordinal if source is None else source
        derived_from = state.ledger.sources.of(turn)
        found.add(turn if derived_from is None else derived_from)
    return found


def _relations(
    context: FoldContext, ordinal: int, pool: Sequence[int], replaced: set[int]
) -> list[DecidedRelation]:
    rows = context.state.statements.rows_of([ordinal, *pool]) if pool else {}
    own = rows.pop(ordinal, None)
    others = [(older, rows[older]) for older in pool if older in rows and own and rows[older].of(own)]
    if own is None or not others:
        return []
    new = own.statement
    candidates = _candidates(own, [row for _, row in others])
    decisions = sorted(context.decide(new, candidates), key=most_probable_first)[:MOST_RELATIONS]
    if context.state.extracted.source_of(ordinal) is not None:
        decisions = [
            replace(decision, relation="RELATES") if decision.relation == "DUPLICATE" else decision
            for decision in decisions
        ]
    return [
        relation_of(
            ordinal,
            older := others[decision.older][0],
            decision,
            at=new.occurred_at,
            closes=decision.closes and older in replaced,
        )
        for decision in decisions
        if decision.probability > 0
    ]


def _candidates(own: StatementRow, rows: Sequence[StatementRow]) -> list[Candidate]:
    vectors = np.stack([row.vector for row in rows])
    lengths = length_of(own.vector[None, :]) * length_of(vectors)
    cosines = dot_products(own.vector[None, :], vectors)[0] / np.maximum(lengths, 1.0)
    signature = signatures_of([own.minhash])[0]
    shares = estimated_jaccard(signature, signatures_of([row.minhash for row in rows]))
    shares = shares * (signature != NO_WORDS).any()
    return [
        Candidate(
            row.statement,
            exact=row.content == own.content,
            jaccard=float(share),
            lexical=len(np.intersect1d(own.words, row.words)) / max(len(own.words), 1),
            cosine=float(cosine),
        )
        for row, share, cosine in zip(rows, shares, cosines, strict=True)
    ]
