"""The decision: which earlier statements a new one repeats, replaces, extends or contradicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from helix_consolidation.relations.statement import Candidate, Decision, Statement

SAME_WORDING: Final = 0.9
"""Jaccard similarity from which two texts say the same."""


def decide(new: Statement, candidates: Sequence[Candidate]) -> list[Decision]:
    """How `new` relates to the earlier `candidates`; a statement on its own gives an empty list.

    The order of the result is that of `candidates`.
    """
    decisions = []
    for index, candidate in enumerate(candidates):
        likeness = 1.0 if candidate.exact else candidate.jaccard
        if likeness >= SAME_WORDING and candidate.statement.source_class == new.source_class:
            decisions.append(Decision(index, "DUPLICATE", likeness, evidence={"wording": likeness}))
    return decisions
