"""Statements that something stays as it is: "the deadline for Atlas stays", "scrap that, we keep Mondays".

What they confirm is not replaced by them, as they say no other value. Where a value is named, and something
said since has another one of its kind, that one is replaced and the confirmed one holds again.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from helix_consolidation.relations import rules
from helix_consolidation.relations.statement import REVIVES, Candidate, Decision, Statement
from helix_consolidation.relations.words.clauses import clauses
from helix_consolidation.relations.words.opposites import ends
from helix_consolidation.relations.words.quantities import Quantity, find_quantities
from helix_consolidation.relations.words.reading import (
    Reading,
    content_words,
    read,
    words_of,
)

CONFIRMS: Final = "confirms"
"""Evidence: the new statement says that the older one still holds."""
_CACHED: Final = 1_024
_MOST_CHARACTERS: Final = 160
"""Characters of a statement that is read so; a long one says more."""
_HOURS: Final = 24
_THINGS: Final = r"(?<!\bi )(?<!\bwe )(?<!\bhe )(?<!\bshe )(?<!\bthey )(?<!\byou )(?<!\bwho )"
_KEEPS: Final = re.compile(
    rf"{_THINGS}\b(?:stays?|staying|remains?|stands)\b(?! (?:up|out|for|overnight|over|home|there)\b)"
    r"|\b(?:keep|keeps|keeping|kept)\b(?! \w+ing\b)(?! (?:me|us|you|him|her|them|it|an?|your|up|calm|track"
    r"|in|out|away|off|quiet|to|on|an eye|forgetting|every\w*)\b)"
    r"|\b(?:stick|sticks|sticking|stuck) (?:with|to)\b|\bunchanged\b|\bas (?:planned|agreed)\b|\bno change\b"
    r"|\bstill\b"
)
_DENIED: Final = re.compile(r"\b(?:not|never|no longer|cannot|cant|dont|doesnt|wont|isnt)\b|n't\b")
_CUES: Final = content_words(
    "stay stays staying remain remains stand stands keep keeps keeping kept stick sticks sticking stuck "
    "still unchanged planned plan agreed change changed same scrap that"
)


class _Kept(NamedTuple):
    """Content words and values of the clause that says what stays."""

    words: frozenset[str]
    values: frozenset[Quantity]


def with_confirmed(
    new: Statement, new_reading: Reading, candidates: Sequence[Candidate], found: list[Decision]
) -> list[Decision]:
    """The decisions, where what `new` confirms is not replaced by it, but what was said since then.

    A value alone ("we stick to 5") confirms only what has been changed since. What another speaker said is
    not replaced either, but only what `new` may change holds again.
    """
    kept = _kept_by(new, new_reading)
    confirmed = [at for at, one in enumerate(candidates) if kept and _confirms(kept, one.statement)]
    if kept is None or not confirmed:
        return found
    theirs = [at for at in confirmed if rules.may_revise(new, candidates[at].statement)]
    pair = _said_since(new, kept, candidates, theirs)
    staying = set(confirmed if kept.words else pair[1:] if pair else ())
    changed = [_confirming(decision) if decision.older in staying else decision for decision in found]
    if pair is None:
        latest = max(theirs, key=lambda at: (candidates[at].statement.occurred_at, at), default=None)
        return [_holding(one) if one.older == latest and kept.words else one for one in changed]
    since, again = pair
    by_older = {decision.older: decision for decision in changed}
    least = rules.MIN_CUE_PROBABILITY
    holding = by_older.get(again) or Decision(again, "EXTENDS", least, evidence={CONFIRMS: 1.0})
    by_older[again] = _holding(holding)
    own = by_older.get(since) or Decision(since, "UPDATES", least)
    chance = max(least, own.probability if own.relation == "UPDATES" else 0.0)
    by_older[since] = replace(own, relation="UPDATES", probability=chance)
    return [by_older[at] for at in sorted(by_older)]


def _holding(decision: Decision) -> Decision:
    """What was said to replace it before does not count any more."""
    return replace(decision, evidence={**decision.evidence, REVIVES: 1.0})


def _kept_by(new: Statement, new_reading: Reading) -> _Kept | None:
    """What `new` says stays; None: it says no such thing, or says much else."""
    if (
        new.speech_act in rules.NON_REPLACING_ACTS
        or new_reading.asks
        or new_reading.hypothetical
        or new_reading.tentative
        or new_reading.back
    ):
        return None
    kept = _kept_in(new.text) if len(new.text) <= _MOST_CHARACTERS and "?" not in new.text else None
    return kept if kept and new_reading.quantities == kept.values else None


@functools.lru_cache(_CACHED)
def _kept_in(text: str) -> _Kept | None:
    for clause in clauses(text.replace("\u2019", "'").lower()):
        if _KEEPS.search(clause) and not _DENIED.search(clause):
            return _Kept(content_words(clause) - _CUES, frozenset(find_quantities(words_of(clause))))
    return None


def _confirms(kept: _Kept, old: Statement) -> bool:
    """Whether `old` says what is kept: the same words and values, and not that it ended or changes."""
    old_reading = read(old.text)
    if (
        not (kept.words or kept.values)
        or old.speech_act in rules.NON_FACTUAL_ACTS
        or old_reading.asks
        or old_reading.negated
    ):
        return False
    if not kept.words <= old_reading.words or not kept.values <= old_reading.quantities or ends(old.text):
        return False
    return not old_reading.change or bool(old_reading.quantities)


def _confirming(decision: Decision) -> Decision:
    """What is confirmed is neither replaced nor contradicted: such a decision only adds to it."""
    if decision.relation not in ("UPDATES", "CONTRADICTS"):
        return decision
    evidence = {**decision.evidence, CONFIRMS: 1.0}
    return replace(
        decision, relation="EXTENDS", closes=False, unsure=False, closable=False, evidence=evidence
    )


def _said_since(
    new: Statement, kept: _Kept, candidates: Sequence[Candidate], confirmed: Sequence[int]
) -> tuple[int, int] | None:
    """The latest statement with another value of the same kind, and the confirmed one that it is about."""
    found = [
        (candidate.statement.occurred_at, candidates[again].statement.occurred_at, since, again)
        for since, candidate in enumerate(candidates)
        if _has_another_value(kept, candidate.statement) and rules.may_revise(new, candidate.statement)
        for again in confirmed
        if _is_about(candidates[since].statement, candidates[again].statement, kept)
    ]
    return max(found)[2:] if found else None


def _has_another_value(kept: _Kept, old: Statement) -> bool:
    old_reading = read(old.text)
    if old.speech_act in rules.NON_FACTUAL_ACTS or old_reading.asks or old_reading.quantities & kept.values:
        return False
    kinds = set(map(_kind, kept.values))
    return any(_kind(one) in kinds for one in old_reading.quantities)


def _kind(one: Quantity) -> str:
    """The kind of a value; a bare number up to 24 may be an hour."""
    is_hour = one.kind == "number" and not one.unit and one.value.isdigit() and int(one.value[:9]) <= _HOURS
    return "time" if is_hour else one.kind


def _is_about(since: Statement, again: Statement, kept: _Kept) -> bool:
    """Whether `since` came after `again`, and names what is kept or nothing else than `again` does."""
    words = read(since.text).words - _CUES
    is_all = words <= read(again.text).words | kept.words
    return since.occurred_at > again.occurred_at and (is_all or (bool(kept.words) and kept.words <= words))
