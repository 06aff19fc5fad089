"""Where the rules are unsure, and what a verdict of a language model changes.

A verdict multiplies or divides the odds of an update by `LIFT`, and closes the older memory only where the
rules permit it: every condition of `rules.may_close` holds, and the probability alone did not reach. What the
rules refuse (two persons, quotations, hypotheticals, sources) is never asked about. So a model that lies
moves a probability by a bounded factor, and closes nothing that the rules would not close at a higher one.
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

LIFT: Final = 3.0
"""Factor of the odds: three right verdicts for a wrong one."""
LEAST: Final = 1 / (1 + LIFT)
MOST: Final = LIFT / (1 + LIFT)
"""Between these probabilities of an update a verdict can carry it across one half."""
RULED: Final = "rules:UPDATES"
"""Evidence: the probability by the rules alone."""
SAID: Final = "verdict:"
"""Begins the name of the evidence that a verdict is."""
_ROOM: Final = MOST_EVIDENCE - 2
"""Evidence of the rules that is kept, beside the verdict and `RULED`."""
_KINDS: Final[dict[str, RelationKind]] = {"replaces": "UPDATES", "contradicts": "CONTRADICTS"}
"""Verdicts that raise the odds, and what the relation is called then; every other one lowers them."""


def is_unsure(new: Statement, old: Statement, relation: RelationKind, chance: float) -> bool:
    """Whether a verdict about an update is worth a question; tools and documents are not asked about."""
    is_said = {new.source_class, old.source_class} <= CONVERSATION
    return relation == "UPDATES" and LEAST <= chance <= MOST and is_said


def ruled(relation: DecidedRelation) -> DecidedRelation:
    """An unsure relation as the rules alone decide it; of a relation with a verdict, the one before it.

    Probability and evidence are kept as evidence is stored, so both ways give the same.
    """
    evidence = {name: value for name, value in relation.evidence.items() if not name.startswith(SAID)}
    chance = evidence.pop(RULED, relation.probability)
    strongest = sorted(evidence.items(), key=lambda item: (-abs(item[1]), item[0]))[:_ROOM]
    return replace(
        relation,
        kind="UPDATES",
        probability=float(np.float16(chance)),
        closes=False,
        evidence=dict(strongest),
    )


def judged(relation: DecidedRelation, verdict: str) -> DecidedRelation:
    """An unsure relation with a verdict (one of `pairs.verdicts.VERDICTS`, or `NO_VERDICT`)."""
    base = ruled(relation)
    if verdict == NO_VERDICT:
        return base
    odds = base.probability / (1 - base.probability) * (LIFT if verdict in _KINDS else 1 / LIFT)
    chance = odds / (1 + odds)
    kind = _KINDS.get(verdict, "UPDATES")
    return replace(
        base,
        kind=kind,
        probability=float(np.float32(chance)),
        closes=base.closable and kind == "UPDATES" and chance >= shipped_model().close,
        evidence={**base.evidence, RULED: base.probability, SAID + verdict: 1.0},
    )
