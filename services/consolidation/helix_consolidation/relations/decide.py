"""The decision: which earlier statements a new one repeats, replaces, extends or contradicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from helix_consolidation.relations import corrections, rules, unsure
from helix_consolidation.relations.abandoned_values import ABANDONS
from helix_consolidation.relations.features import NAMES, features
from helix_consolidation.relations.in_session import is_likely_in_session
from helix_consolidation.relations.model import RelationModel, column, shipped_model
from helix_consolidation.relations.pair import Pair
from helix_consolidation.relations.retraction import is_retraction, retraction_decisions
from helix_consolidation.relations.reversals.confirmed import with_confirmed
from helix_consolidation.relations.reversals.returning import with_return
from helix_consolidation.relations.reversals.undone import with_undone
from helix_consolidation.relations.slips import slip_of
from helix_consolidation.relations.slots import CHANGES_NUMBER
from helix_consolidation.relations.statement import Candidate, Decision, Statement
from helix_consolidation.relations.successors import NAMES_SUCCESSOR
from helix_consolidation.relations.vetoes import ALL_RELATIONS, OTHER_IDENTIFIERS, veto
from helix_consolidation.relations.words.reading import read
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
_LINKED_ONLY: Final = (corrections.ANNOUNCES, ABANDONS, NAMES_SUCCESSOR, CHANGES_NUMBER)
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
    if is_retraction(new):
        return retraction_decisions(new, candidates)
    model = model or shipped_model()
    rows = features(new, candidates)
    new_reading = read(new.text)
    pairs = [Pair(new, new_reading, one.statement, read(one.statement.text)) for one in candidates]
    chances = _chances(pairs, candidates, rows, model)
    found: list[Decision] = []
    for index, row in enumerate(rows.tolist()):
        evidence = {name: round(row[at], 3) for name, at in _SHOWN_AT if row[at]}
        ruling = _ruling(pairs[index], candidates[index], chances[index], model)
        if ruling.probability >= (model.relate if ruling.relation == "RELATES" else model.link):
            is_linked_only = chances[index][_UPDATES] < model.close and not ruling.evidence.keys().isdisjoint(
                _LINKED_ONLY
            )
            may_close = (
                ruling.relation == "UPDATES"
                and not is_linked_only
                and (
                    rules.may_close(pairs[index], candidates[index], among=len(candidates))
                    or corrections.closes(pairs[index])
                )
            )
            found.append(_decision(index, pairs[index], ruling, evidence, model, may_close=may_close))
    if new_reading.back:
        return with_return(new, new_reading, candidates, with_undone(new, new_reading, candidates, found))
    return with_confirmed(new, new_reading, candidates, found)


def _chances(
    pairs: Sequence[Pair],
    candidates: Sequence[Candidate],
    rows: NDArray[np.float64],
    model: RelationModel,
) -> list[list[float]]:
    """Probabilities by candidate and relation; of an update as in another session, see `in_session`."""
    chances: list[list[float]] = model.probabilities(rows).tolist()
    new_reading = pairs[0].new_reading
    if not (new_reading.sure_change or new_reading.back):
        return chances
    chosen = [
        at
        for at in np.flatnonzero(rows[:, _SAME_SESSION]).tolist()
        if is_likely_in_session(pairs[at], candidates[at], among=len(candidates))
    ]
    if chosen:
        apart = rows[chosen]
        apart[:, _SAME_SESSION] = 0.0
        for at, update in zip(chosen, model.probabilities(apart)[:, _UPDATES].tolist(), strict=True):
            chances[at][_UPDATES] = update
    return chances


class _Ruling(NamedTuple):
    """The relation of a pair with its probability, and the rule that decided it, as evidence."""

    relation: RelationKind
    probability: float
    evidence: dict[str, float]


def _ruling(pair: Pair, candidate: Candidate, chances: Sequence[float], model: RelationModel) -> _Ruling:
    new, new_reading, old, old_reading = pair
    likeness = 1.0 if candidate.exact else candidate.jaccard
    is_same = candidate.exact or (
        likeness >= SAME_WORDING and rules.have_equal_values(new_reading, old_reading)
    )
    if is_same and new.source_class == old.source_class:
        return _Ruling("DUPLICATE", likeness, {"wording": round(likeness, 3)})
    vetoed = veto(pair)
    if vetoed is OTHER_IDENTIFIERS and slip_of(new, old) is not None:
        vetoed = None
    by_name = dict(zip(RELATION_KINDS, chances, strict=True))
    if vetoed is None:
        named, least = corrections.least_probability(pair)
        if named:
            return _Ruling("UPDATES", max(least, by_name["UPDATES"]), {named: 1.0})
    repeats = by_name["DUPLICATE"] >= model.repeat and rules.may_repeat(new_reading, old_reading)
    allowed = vetoed.allowed if vetoed else ALL_RELATIONS
    relation, chance = _best(by_name, allowed if repeats else allowed - {"DUPLICATE"}, model.link)
    return _Ruling(relation, chance, {f"not:{vetoed.name}": 1.0} if vetoed else {})


def _decision(
    index: int,
    pair: Pair,
    ruling: _Ruling,
    evidence: dict[str, float],
    model: RelationModel,
    *,
    may_close: bool,
) -> Decision:
    """The decision about candidate `index`; `may_close`: the rules let this pair close the older one."""
    relation, chance, rule = ruling
    closes = may_close and relation == "UPDATES" and chance >= model.close
    is_unsure = not pair.new_reading.back and unsure.is_unsure(pair.new, pair.old, relation, chance)
    return Decision(
        index,
        relation,
        round(chance, 4),
        closes,
        evidence | rule,
        unsure=is_unsure and not closes,
        closable=is_unsure and may_close and not closes,
    )


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
