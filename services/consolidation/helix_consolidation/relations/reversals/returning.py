"""What a statement of a return brings back, and what it replaces: "back to Redis", "on Fridays again"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from helix_consolidation.relations import rules
from helix_consolidation.relations.abandoned_values import abandoned_values
from helix_consolidation.relations.pair import Pair
from helix_consolidation.relations.statement import REVIVES, Candidate, Decision, Statement
from helix_consolidation.relations.vetoes import veto
from helix_consolidation.relations.words.opposites import is_direct, is_opposite
from helix_consolidation.relations.words.reading import Reading, holds_value, is_same_stem, read, words_of
from helix_shared.artifacts.relations.records import RelationKind

RETURNS: Final = "returns"
"""Evidence: the older value holds again; the new statement says so, but does not name the value."""
SAYS_OPPOSITE: Final = "opposite"
"""Evidence: the older statement says the opposite of what holds again."""
_HE_OR_SHE: Final = frozenset(["he", "she"])
_PLANS: Final = frozenset(["plan", "request"])
_SHARE_OF_BEST: Final = 0.5
"""Share of the best probability from which another update may be the one between."""


def with_return(
    new: Statement, new_reading: Reading, candidates: Sequence[Candidate], found: list[Decision]
) -> list[Decision]:
    """Tell which earlier value holds again, and which one, said since, is replaced by the return.

    The latest of the likely replaced statements is the one between. Nothing else is closed: an older one may
    have the value that holds again. One with another identifier does not hold again ("the ferry again,
    reference ZR2-9073"), nor does one that says that the value was left ("Zustand instead of Redux") or says
    the opposite ("I stopped running" before "I'm running again"), which stays replaced.
    """
    texts = [candidate.statement.text for candidate in candidates]
    opposite = [is_opposite(new.text, text) for text in texts]
    found = _with_opposites(new, new_reading, candidates, found, opposite)
    replaced = _likely_replaced(found)
    if not replaced:
        return [_reviving(new_reading, candidates, decision) for decision in found]
    between = max(
        replaced,
        key=lambda decision: (candidates[decision.older].statement.occurred_at, decision.older),
    )
    returned = new_reading.returned - abandoned_values(new.text)
    counts = [
        0 if denied else _returned_values(new_reading, text, returned)
        for text, denied in zip(texts, opposite, strict=True)
    ]
    revived = _revived(
        candidates, counts, between.older, alone=sum(not opposite[one.older] for one in replaced) == 1
    )
    is_sure = revived is not None and counts[between.older] < counts[revived]
    marked: list[Decision] = []
    for decision in found:
        if decision.older == revived:
            continue
        is_replaced = decision is between and (is_sure or opposite[between.older] or decision.retracts)
        kept = decision if is_replaced else replace(decision, closes=False)
        is_unnamed = decision is between and revived is None and not is_replaced
        marked.append(_marked(kept, "UPDATES", RETURNS) if is_unnamed else kept)
    if revived is not None:
        own = next((decision for decision in found if decision.older == revived), None)
        again = own or Decision(revived, "RELATES", between.probability)
        marked.append(_marked(again, "DUPLICATE" if again.relation == "DUPLICATE" else "RELATES", REVIVES))
    return sorted(marked, key=lambda decision: decision.older)


def _with_opposites(
    new: Statement,
    new_reading: Reading,
    candidates: Sequence[Candidate],
    found: Sequence[Decision],
    opposite: Sequence[bool],
) -> list[Decision]:
    """The decisions, where the opposite about the same thing is likely replaced."""
    by_older = {decision.older: decision for decision in found}
    for at, candidate in enumerate(candidates):
        old = candidate.statement
        own = by_older.get(at) or Decision(at, "UPDATES", rules.MIN_CUE_PROBABILITY)
        if not opposite[at] or not (is_direct(new.text, old.text) or own.relation == "DUPLICATE"):
            continue
        if not _may_replace(new, new_reading, old):
            continue
        chance = max(rules.MIN_CUE_PROBABILITY, own.probability if own.relation == "UPDATES" else 0.0)
        evidence = {**own.evidence, SAYS_OPPOSITE: 1.0}
        by_older[at] = replace(own, relation="UPDATES", probability=chance, evidence=evidence)
    return [by_older[at] for at in sorted(by_older)]


def _may_replace(new: Statement, new_reading: Reading, old: Statement) -> bool:
    """Whether `new` may replace `old` as its opposite: of one speaker, without a veto, all is named again."""
    if (
        new.speech_act in _PLANS
        or not rules.may_revise(new, old)
        or veto(Pair(new, new_reading, old, read(old.text))) is not None
    ):
        return False
    these, others = (set(words_of(one.text)) for one in (new, old))
    who, other_who = ({word.removesuffix("'s") for word in some} & _HE_OR_SHE for some in (these, others))
    if who and other_who and who.isdisjoint(other_who):
        return False
    named = {word for name in old.entities for word in words_of(name)}
    return named <= these


def _likely_replaced(found: Sequence[Decision]) -> list[Decision]:
    """The updates with at least half the probability of the most probable one."""
    replaced = [decision for decision in found if decision.relation == "UPDATES"]
    least = _SHARE_OF_BEST * max((decision.probability for decision in replaced), default=0.0)
    return [decision for decision in replaced if decision.probability >= least]


def _returned_values(new_reading: Reading, text: str, returned: frozenset[str]) -> int:
    """How many of the values that return an earlier text holds."""
    old_reading = read(text)
    if rules.have_different_codes(new_reading, old_reading):
        return 0
    return sum(
        holds_value(old_reading, value) or any(is_same_stem(value, word) for word in old_reading.words)
        for value in returned - abandoned_values(text)
    )


def _reviving(new_reading: Reading, candidates: Sequence[Candidate], decision: Decision) -> Decision:
    """A restatement with a word of return revives what it restates."""
    text = candidates[decision.older].statement.text
    if decision.relation == "DUPLICATE" and any(
        holds_value(read(text), value) for value in new_reading.returned
    ):
        return _marked(decision, "DUPLICATE", REVIVES)
    return decision


def _revived(
    candidates: Sequence[Candidate], counts: Sequence[int], between: int, *, alone: bool
) -> int | None:
    """The candidate before the one `between` that has most of the values that return, the later of equals.

    If nothing else is replaced, the one `between` may itself be it: what came after it was not found.
    """
    until = candidates[between].statement.occurred_at
    earlier = [
        (counts[index], candidate.statement.occurred_at, index)
        for index, candidate in enumerate(candidates)
        if counts[index] and index != between and candidate.statement.occurred_at <= until
    ]
    if earlier:
        return max(earlier)[2]
    return between if alone and counts[between] else None


def _marked(decision: Decision, relation: RelationKind, evidence: str) -> Decision:
    closes = decision.closes and relation == "UPDATES"
    return replace(decision, relation=relation, closes=closes, evidence={**decision.evidence, evidence: 1.0})
