"""What a statement says was undone: "rolled back the Buildkite migration", "returned the MacBook".

The earlier statement that introduced it is replaced, and what that one had replaced holds again
(`RETRACTS`). A statement that says more than that is linked and not closed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from helix_consolidation.relations import rules
from helix_consolidation.relations.abandoned_values import abandoned_values
from helix_consolidation.relations.statement import RETRACTS, Candidate, Decision, Statement
from helix_consolidation.relations.words.opposites import denies
from helix_consolidation.relations.words.reading import Reading, holds_value, read
from helix_shared.naming.frequency import is_common

UNDOES: Final = "undoes"
"""Evidence: the new statement says that what the older one introduced was undone."""
MIN_NAMED_PROBABILITY: Final = 0.9
"""Least probability of the link where the value is named by a name, a number or two words: decision 0036.

Otherwise it is `rules.MIN_CUE_PROBABILITY`.
"""
_MOST_CHARACTERS: Final = 240
"""Characters of either text; a long one says more."""
_SHORT_CHARACTERS: Final = 120
"""Characters of a text that says little besides what was undone."""
_ACQUIRES: Final = re.compile(
    r"\b(?:adopt|order|rent|borrow|instal|purchas|leas|lend|arriv|deliver)(?:e|es|ed|s|ing|led|ling)?\b"
    r"|\b(?:bought|buy|buying|got|get|lent|chose|picked|gave me|gave us|now|new)\b"
)
"""Words with which somebody came to have a thing."""
_INTRODUCES: Final = re.compile(
    r"\b(?:mov|switch|migrat|chang|replac|swapp|upgrad|updat|renam|bump|rais|lower|increas|reduc|convert|port"
    r"|add|introduc|enabl|merg|deploy|releas|roll|adopt|creat|start)(?:e|es|ed|d|s|ing|ling|ped|ping)?\b"
    r"|\b(?:went (?:up|down|with|for|to)|goes (?:up|down)|rolled out|took over|chose|picked|now|new|instead"
    r"|from now on|is up|put)\b"
)
"""Words with which something is begun or changed."""


def with_undone(
    new: Statement, new_reading: Reading, candidates: Sequence[Candidate], found: list[Decision]
) -> list[Decision]:
    """Mark the latest statement that introduced what `new` says was undone.

    Where `new` says little else, no statement without that value is replaced.
    """
    if not _undone_by(new_reading) or not _asserts(new, new_reading):
        return found
    chosen = [at for at, one in enumerate(candidates) if _introduced(new, new_reading, one.statement)]
    latest = max(chosen, key=lambda at: (candidates[at].statement.occurred_at, at), default=None)
    is_all = not new_reading.returned and len(new.text) <= _SHORT_CHARACTERS
    kept = [
        decision
        for decision in found
        if decision.older != latest
        and not (
            is_all
            and decision.relation == "UPDATES"
            and _is_unaffected(new_reading, candidates, decision, latest)
        )
    ]
    if latest is None:
        return kept
    own = next((decision for decision in found if decision.older == latest), None)
    is_named = _is_named(_undone_by(new_reading))
    demanded = MIN_NAMED_PROBABILITY if is_named else rules.MIN_CUE_PROBABILITY
    chance = max(demanded, own.probability if own and own.relation == "UPDATES" else 0.0)
    old = candidates[latest].statement
    marked = replace(
        own or Decision(latest, "UPDATES", chance),
        relation="UPDATES",
        probability=chance,
        closes=is_named
        and not rules.says_more_than(old, new_reading)
        and rules.source_rank(new) >= rules.source_rank(old),
        evidence={**(own.evidence if own else {}), UNDOES: 1.0, RETRACTS: 1.0},
        unsure=False,
        closable=False,
    )
    return sorted([*kept, marked], key=lambda decision: decision.older)


def _undone_by(new_reading: Reading) -> frozenset[str]:
    """Words for what a text says was undone; if there are none, for what was given up."""
    return new_reading.undone or new_reading.given_up


def _asserts(new: Statement, new_reading: Reading) -> bool:
    """Whether `new` asserts that something was undone; it does not ask, propose or imagine it."""
    if (
        new.speech_act in rules.NON_REPLACING_ACTS
        or new.speech_act == "request"
        or len(new.text) > _MOST_CHARACTERS
    ):
        return False
    return not (
        new_reading.asks
        or new_reading.hypothetical
        or new_reading.tentative
        or new_reading.unreal
        or new_reading.reported
        or new_reading.negated
    )


def _introduced(new: Statement, new_reading: Reading, old: Statement) -> bool:
    """Whether `old` says that its speaker began, changed or came to have all that `new` says was undone."""
    old_reading = read(old.text)
    if old.speech_act in rules.NON_FACTUAL_ACTS or old_reading.asks or len(old.text) > _MOST_CHARACTERS:
        return False
    undone = _undone_by(new_reading)
    if not rules.may_revise(new, old) or not all(holds_value(old_reading, value) for value in undone):
        return False
    if undone & (_undone_by(old_reading) | abandoned_values(old.text)) or denies(old.text, undone):
        return False
    return (_INTRODUCES if new_reading.undone else _ACQUIRES).search(old.text.lower()) is not None


def _is_unaffected(
    new_reading: Reading, candidates: Sequence[Candidate], decision: Decision, introduced: int | None
) -> bool:
    """Whether an older statement still holds: it came before what was undone, or names nothing of it."""
    old = candidates[decision.older].statement
    if introduced is not None and old.occurred_at < candidates[introduced].statement.occurred_at:
        return True
    return not any(holds_value(read(old.text), value) for value in _undone_by(new_reading))


def _is_named(undone: frozenset[str]) -> bool:
    """Whether the words tell what is meant: one is a number or no everyday word, or there are two."""
    return len(undone) > 1 or any(not one.isalpha() or not is_common(one) for one in undone)
