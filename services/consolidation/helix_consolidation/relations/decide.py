"""The decision: which earlier statements a new one repeats, replaces, extends or contradicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_consolidation.relations import corrections, rules, unsure
from helix_consolidation.relations.features import NAMES, features
from helix_consolidation.relations.in_session import is_as_apart
from helix_consolidation.relations.left_values import LEAVES
from helix_consolidation.relations.model import RelationModel, column, shipped_model
from helix_consolidation.relations.reversals.confirmed import with_confirmed
from helix_consolidation.relations.reversals.returning import with_return
from helix_consolidation.relations.reversals.undone import with_undone
from helix_consolidation.relations.slips import slip_of
from helix_consolidation.relations.slots import RENUMBERS
from helix_consolidation.relations.statement import Candidate, Decision, Statement
from helix_consolidation.relations.successors import SUCCEEDS
from helix_consolidation.relations.taken_back import taken_back, takes_back
from helix_consolidation.relations.vetoes import ALL_RELATIONS, OTHER_IDENTIFIERS, Pair, veto
from helix_consolidation.relations.words.reading import Reading, read
from helix_shared.artifacts.relations.records import RELATION_KINDS, RelationKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAME_WORDING: Final = 0.9
"""Jaccard similarity from which two texts with the same values say the same."""
_SHOWN: Final = (
    "cosine", "lexical", "new_sure_change", "new_change", "other_value", "equal_values", "old_value_named",
    "negation_differs", "share_of_old", "same_speaker", "gap",
)  # fmt: skip
"""Features that are kept as evidence, where they are not 0."""
_LINKED_ONLY: Final = (corrections.ANNOUNCES, LEAVES, SUCCEEDS, RENUMBERS)
"""Evidence that closes nothing, unless the model is sure without it."""
_UPDATES: Final = column("UPDATES")
_SAME_SESSION: Final = NAMES.index("same_session")
_SHOWN_AT: Final = tuple((name, NAMES.index(name)) for name in _SHOWN)


def decide(
    new: Statement, candidates: Sequence[Candidate], model: RelationModel | None = None
) -> list[Decision]:
    """How `new` relates to the earlier `candidates`; a statement on its own gives an empty list.

    At most one decision a candidate, in the order of `candidates`. Depends on the arguments only.
    """
    if not candidates:
        return []
    if takes_back(new):
        return taken_back(new, candidates)
    model = model or shipped_model()
    rows = features(new, candidates)
    this = read(new.text)
    chances = _chances(new, this, candidates, rows, model)
    found: list[Decision] = []
    for index, (candidate, row, chance_of) in enumerate(zip(candidates, rows.tolist(), chances, strict=True)):
        other = read(candidate.statement.text)
        rule, relation, chance = _relation(new, this, candidate, other, chance_of, model)
        if chance >= (model.relate if relation == "RELATES" else model.link):
            is_sure = relation == "UPDATES" and chance >= model.close
            is_linked_only = chance_of[_UPDATES] < model.close and not rule.keys().isdisjoint(_LINKED_ONLY)
            is_unsure = not this.back and unsure.is_unsure(new, candidate.statement, relation, chance)
            may_close = (
                (is_sure or is_unsure)
                and not is_linked_only
                and (
                    rules.may_close(new, this, candidate, other, among=len(candidates))
                    or corrections.closes(new, this, candidate.statement, other)
                )
            )
            closes = is_sure and may_close
            evidence = {name: round(row[at], 3) for name, at in _SHOWN_AT if row[at]}
            found.append(
                Decision(
                    index,
                    relation,
                    round(chance, 4),
                    closes,
                    evidence | rule,
                    unsure=is_unsure and not closes,
                    closable=is_unsure and may_close and not closes,
                )
            )
    if this.back:
        return with_return(new, this, candidates, with_undone(new, this, candidates, found))
    return with_confirmed(new, this, candidates, found)


def _chances(
    new: Statement,
    this: Reading,
    candidates: Sequence[Candidate],
    rows: NDArray[np.float64],
    model: RelationModel,
) -> list[list[float]]:
    """Probabilities by candidate and relation; of an update as in another session, see `in_session`."""
    chances: list[list[float]] = model.probabilities(rows).tolist()
    if not (this.sure_change or this.back):
        return chances
    chosen = [
        at
        for at in np.flatnonzero(rows[:, _SAME_SESSION]).tolist()
        if is_as_apart(new, this, candidates[at], read(candidates[at].statement.text), among=len(candidates))
    ]
    if chosen:
        apart = rows[chosen]
        apart[:, _SAME_SESSION] = 0.0
        for at, update in zip(chosen, model.probabilities(apart)[:, _UPDATES].tolist(), strict=True):
            chances[at][_UPDATES] = update
    return chances


def _relation(
    new: Statement,
    this: Reading,
    candidate: Candidate,
    other: Reading,
    chances: Sequence[float],
    model: RelationModel,
) -> tuple[dict[str, float], RelationKind, float]:
    """Which rule decided the relation to one candidate, if any did; the relation, and its probability."""
    old = candidate.statement
    likeness = 1.0 if candidate.exact else candidate.jaccard
    is_same = candidate.exact or (likeness >= SAME_WORDING and rules.say_the_same(this, other))
    if is_same and new.source_class == old.source_class:
        return {"wording": round(likeness, 3)}, "DUPLICATE", likeness
    vetoed = veto(Pair(new, this, old, other))
    if vetoed is OTHER_IDENTIFIERS and slip_of(new, old) is not None:
        vetoed = None
    by_name = dict(zip(RELATION_KINDS, chances, strict=True))
    if vetoed is None:
        named, least = corrections.least_probability(new, this, old, other)
        if named:
            return {named: 1.0}, "UPDATES", max(least, by_name["UPDATES"])
    repeats = by_name["DUPLICATE"] >= model.repeat and rules.may_repeat(this, other)
    allowed = vetoed.allowed if vetoed else ALL_RELATIONS
    relation, chance = _best(by_name, allowed if repeats else allowed - {"DUPLICATE"}, model.link)
    return {f"not:{vetoed.name}": 1.0} if vetoed else {}, relation, chance


def _best(
    chances: dict[RelationKind, float], allowed: frozenset[RelationKind], link: float
) -> tuple[RelationKind, float]:
    """The most probable of the allowed relations that reaches `link`, else `RELATES`; and its probability."""
    best = max(
        (kind for kind in RELATION_KINDS if kind != "RELATES" and kind in allowed),
        key=lambda kind: chances[kind],
        default=None,
    )
    if best is not None and chances[best] >= link:
        return best, chances[best]
    return "RELATES", chances["RELATES"] if "RELATES" in allowed else 0.0
