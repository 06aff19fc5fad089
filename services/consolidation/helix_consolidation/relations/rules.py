"""What the model may not decide alone: which statements state nothing, and when closing is certain."""

from __future__ import annotations

import re
from typing import Final

from helix_consolidation.relations.pair import Pair
from helix_consolidation.relations.statement import Candidate, Statement
from helix_consolidation.relations.words.reading import READ_CHARACTERS, Reading, content_words

UNREPLACEABLE_ACTS: Final = frozenset(["question", "acknowledgement", "hypothetical"])
"""Speech acts whose statements cannot be replaced. What somebody is quoted to have said can."""
NON_REPLACING_ACTS: Final = UNREPLACEABLE_ACTS | {"quotation"}
"""Speech acts whose statements replace nothing."""
NON_FACTUAL_ACTS: Final = UNREPLACEABLE_ACTS | {"request"}
"""Speech acts whose statements give no fact: a request may not have been met."""
MIN_CUE_PROBABILITY: Final = 0.6
"""Least probability of a link that the text announces as a return, as undone or as kept: decision 0036."""
_CLOSING_ACTS: Final = frozenset(["statement", "decision", "correction", "plan"])
_SOURCE_RANKS: Final = {"user": 3, "agent": 2, "tool": 1, "document": 1}
"""Rank of each source class: a statement closes nothing of a higher rank."""
_CLOSING_SHARE: Final = 0.3
_CLOSING_WORDS: Final = 2
_CLOSING_LEXICAL: Final = 0.35
"""Least rarity-weighted overlap: words that every statement of a store has are no common subject."""
_MIN_CANDIDATES_FOR_RARITY: Final = 16
"""With fewer candidates the store is so small that no word of it is rare."""
_CLOSING_COSINE: Final = 0.5
_REPEATING_SHARE: Final = 0.6
_CLAUSE_START: Final = re.compile(
    r"[.;!?]\s|\n|,\s(?:and|but|so|while)\b|(?:,|\band\b)\s(?=(?:my|your|his|her|its|our|their|i|you|he|she|it|we|"
    r"they)\b)",
    re.IGNORECASE,
)
"""Separates the clauses of a text that state different things."""


def are_unreplaceable(new: Statement, old: Statement) -> bool:
    """Whether `new` states nothing, or `old` nothing that can be replaced, by their speech acts."""
    return new.speech_act in NON_REPLACING_ACTS or old.speech_act in UNREPLACEABLE_ACTS


def have_equal_values(new_reading: Reading, old_reading: Reading) -> bool:
    """Whether two texts have the same values and the same negation; their other words may differ."""
    return new_reading.quantities == old_reading.quantities and new_reading.negated == old_reading.negated


def may_repeat(new_reading: Reading, old_reading: Reading) -> bool:
    """Whether two texts say the same: equal values, and nearly the same content words."""
    if not have_equal_values(new_reading, old_reading) or new_reading.asks != old_reading.asks:
        return False
    return len(new_reading.words & old_reading.words) >= _REPEATING_SHARE * len(
        new_reading.words | old_reading.words
    )


def may_close(pair: Pair, candidate: Candidate, *, among: int) -> bool:
    """Whether `new` says, beyond doubt, something else about the very thing of the candidate.

    The same speaker (or the user after the assistant) states it as a fact, with a word of change, and both
    share much of what they are about, beyond words that are common in the store; whoever and whatever the
    older one names is named again, as is each thing that it says, and no identifier differs. A ban is
    closed by another ban only. `among`: how many candidates were found.
    """
    new, new_reading, old, old_reading = pair
    if (
        new.speech_act not in _CLOSING_ACTS
        or new_reading.asks
        or new_reading.hypothetical
        or new_reading.reported
        or old_reading.asks
    ):
        return False
    if old_reading.forbids and not new_reading.forbids:
        return False
    if source_rank(new) < source_rank(old) or not may_revise(new, old):
        return False
    if have_different_codes(new_reading, old_reading):
        return False
    if not _names(old) <= _names(new) or not _values(old_reading, "which") <= _values(new_reading, "which"):
        return False
    shared = new_reading.words & old_reading.words
    return (
        new_reading.sure_change
        and not says_more_than(old, new_reading)
        and (among < _MIN_CANDIDATES_FOR_RARITY or candidate.lexical >= _CLOSING_LEXICAL)
        and candidate.cosine >= _CLOSING_COSINE
        and len(shared) >= min(_CLOSING_WORDS, len(old_reading.words))
        and len(shared) >= _CLOSING_SHARE * len(old_reading.words)
    )


def may_revise(new: Statement, old: Statement) -> bool:
    """Whether `new` is of the speaker of `old`, or of the user after the assistant."""
    is_same = (new.role, new.speaker) == (old.role, old.speaker)
    return is_same or (new.role == "user" and old.role == "assistant")


def says_more_than(old: Statement, new_reading: Reading) -> bool:
    """Whether `old` says several things, and one of them shares too few words with the new statement.

    "The cleaner comes on Thursdays, her name is Marisol" is still needed when the day changes.
    """
    parts = [content_words(part) for part in _CLAUSE_START.split(old.text[:READ_CHARACTERS])]
    said = [words for words in parts if words]
    return len(said) > 1 and any(
        len(words & new_reading.words) < _CLOSING_SHARE * len(words) for words in said
    )


def source_rank(statement: Statement) -> int:
    """Rank of the source class of a statement: it closes nothing of a higher rank."""
    return _SOURCE_RANKS.get(statement.source_class, 1)


def have_different_codes(new_reading: Reading, old_reading: Reading) -> bool:
    """Whether both name identifiers, and none in common."""
    return bool(new_reading.codes and old_reading.codes) and new_reading.codes.isdisjoint(old_reading.codes)


def _values(reading: Reading, kind: str) -> set[str]:
    return {quantity.value for quantity in reading.quantities if quantity.kind == kind}


def _names(statement: Statement) -> set[str]:
    return {name for name in statement.entities if not any(map(str.isdigit, name))}
