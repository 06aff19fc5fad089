"""Unsure updates, and what the verdict of a language model changes about them.

A verdict multiplies or divides the odds of an update by `ODDS_FACTOR`. It closes the older memory only where
the rules permit it: every condition of `rules.may_close` holds, and only the probability was too low. The
model is never asked about what the rules refuse (two persons, quotations, hypotheticals, sources). So a wrong
verdict changes a probability by a bounded factor, and closes nothing that the rules would not close at a
higher probability.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_consolidation.relations.model import shipped_model
from helix_memory.vocabulary.source_classes import CONVERSATION
from helix_shared.artifacts.relations.records import MOST_EVIDENCE, RelationKind
from helix_shared.pairs.verdicts import NO_VERDICT

if TYPE_CHECKING:
    from helix_consolidation.relations.statement import Statement
    from helix_shared.artifacts.relations.records import DecidedRelation

ODDS_FACTOR: Final = 3.0
"""Factor of the odds: three right verdicts for a wrong one."""
MIN_UNSURE: Final = 1 / (1 + ODDS_FACTOR)
MAX_UNSURE: Final = ODDS_FACTOR / (1 + ODDS_FACTOR)
"""Between these probabilities of an update a verdict can carry it across one half."""
RULES_PROBABILITY: Final = "rules:UPDATES"
"""Evidence: the probability by the rules alone."""
VERDICT_PREFIX: Final = "verdict:"
"""Prefix of the name of the evidence that a verdict is stored as."""
_MOST_RULE_EVIDENCE: Final = MOST_EVIDENCE - 2
"""Evidence of the rules that is kept, beside the verdict and `RULES_PROBABILITY`."""
_RELATION_OF_VERDICT: Final[dict[str, RelationKind]] = {"replaces": "UPDATES", "contradicts": "CONTRADICTS"}
"""Verdicts that raise the odds, and what the relation is called then; every other one lowers them."""


def is_unsure(new: Statement, old: Statement, relation: RelationKind, chance: float) -> bool:
    """Whether a verdict about an update is worth a question; tools and documents are not asked about."""
    is_said = {new.source_class, old.source_class} <= CONVERSATION
    return relation == "UPDATES" and MIN_UNSURE <= chance <= MAX_UNSURE and is_said


def without_verdict(relation: DecidedRelation) -> DecidedRelation:
    """An unsure relation as the rules alone decide it; of a relation with a verdict, the one before it.

    Probability and evidence are kept as evidence is stored, so both ways give the same.
    """
    evidence = {
        name: value for name, value in relation.evidence.items() if not name.startswith(VERDICT_PREFIX)
    }
    chance = evidence.pop(RULES_PROBABILITY, relation.probability)
    strongest = sorted(evidence.items(), key=lambda item: (-abs(item[1]), item[0]))[:_MOST_RULE_EVIDENCE]
    return replace(
        relation,
        kind="UPDATES",
        probability=float(np.float16(chance)),
        closes=False,
        evidence=dict(strongest),
    )


def with_verdict(relation: DecidedRelation, verdict: str) -> DecidedRelation:
    """An unsure relation with a verdict (one of `pairs.verdicts.VERDICTS`, or `NO_VERDICT`)."""
    base = without_verdict(relation)
    if verdict == NO_VERDICT:
        return base
    odds = (
        base.probability
        / (1 - base.probability)
        * (ODDS_FACTOR if verdict in _RELATION_OF_VERDICT else 1 / ODDS_FACTOR)
    )
    chance = odds / (1 + odds)
    kind = _RELATION_OF_VERDICT.get(verdict, "UPDATES")
    return replace(
        base,
        kind=kind,
        probability=float(np.float32(chance)),
        closes=base.closable and kind == "UPDATES" and chance >= shipped_model().close,
        evidence={**base.evidence, RULES_PROBABILITY: base.probability, VERDICT_PREFIX + verdict: 1.0},
    )
