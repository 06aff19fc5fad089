"""What the model may not decide alone: which statements state nothing, and when closing is certain."""

from __future__ import annotations

import re
from typing import Final

from helix_consolidation.relations.statement import Candidate, Statement
from helix_consolidation.relations.words.reading import READ_CHARACTERS, Reading, content_words

HOLDS_NOTHING: Final = frozenset(["question", "acknowledgement", "hypothetical"])
"""Speech acts of what cannot be replaced. What somebody is quoted to have said can."""
STATES_NOTHING: Final = HOLDS_NOTHING | {"quotation"}
"""Speech acts of what replaces nothing."""
NOTHING_SO_YET: Final = HOLDS_NOTHING | {"request"}
"""Speech acts of what tells of nothing that is so: a request may not have been met."""
MIN_WORDED_PROBABILITY: Final = 0.6
"""Least probability of a link that words of a return, of an undoing or of staying demand: decision 0036."""
_CLOSING_ACTS: Final = frozenset(["statement", "decision", "correction", "plan"])
_TRUST: Final = {"user": 3, "agent": 2, "tool": 1, "document": 1}
"""Source classes by what they may change: nothing of a higher class is closed by a lower one."""
_CLOSING_SHARE: Final = 0.3
_CLOSING_WORDS: Final = 2
_CLOSING_LEXICAL: Final = 0.35
"""Least rarity-weighted overlap: words that every statement of a store has are no common subject."""
_TELLING_RARITY: Final = 16
"""With fewer candidates the store is so small that no word of it is rare."""
_CLOSING_COSINE: Final = 0.5
_REPEATING_SHARE: Final = 0.6
_PART: Final = re.compile(
    r"[.;!?]\s|\n|,\s(?:and|but|so|while)\b|(?:,|\band\b)\s(?=(?:my|your|his|her|its|our|their|i|you|he|she|it|we|"
    r"they)\b)",
    re.IGNORECASE,
)
"""Where a text goes on to something else."""


def is_unstated(new: Statement, old: Statement) -> bool:
    """Whether `new` states nothing, or `old` nothing that can be replaced, by their speech acts."""
    return new.speech_act in STATES_NOTHING or old.speech_act in HOLDS_NOTHING


def say_the_same(this: Reading, other: Reading) -> bool:
    """Whether two statements have the same values and the same negation, few words of a long text."""
    return this.quantities == other.quantities and this.negated == other.negated


def may_repeat(this: Reading, other: Reading) -> bool:
    """Whether two statements say the same, with nearly the same content words."""
    if not say_the_same(this, other) or this.asks != other.asks:
        return False
    return len(this.words & other.words) >= _REPEATING_SHARE * len(this.words | other.words)


def may_close(new: Statement, this: Reading, candidate: Candidate, other: Reading, *, among: int) -> bool:
    """Whether `new` says, beyond doubt, something else about the very thing of the candidate.

    The same speaker (or the user after the assistant) states it as a fact, with a word of change, and both
    share much of what they are about, beyond words that are common in the store; whoever and whatever the
    older one names is named again, as is each thing that it says, and no identifier differs. A ban is
    closed by another ban only. `among`: how many candidates were found.
    """
    old = candidate.statement
    if new.speech_act not in _CLOSING_ACTS or this.asks or this.hypothetical or this.reported or other.asks:
        return False
    if other.forbids and not this.forbids:
        return False
    if trust(new) < trust(old) or not is_theirs(new, old):
        return False
    if have_other_codes(this, other):
        return False
    if not _names(old) <= _names(new) or not _values(other, "which") <= _values(this, "which"):
        return False
    shared = this.words & other.words
    return (
        this.sure_change
        and not says_more(old, this)
        and (among < _TELLING_RARITY or candidate.lexical >= _CLOSING_LEXICAL)
        and candidate.cosine >= _CLOSING_COSINE
        and len(shared) >= min(_CLOSING_WORDS, len(other.words))
        and len(shared) >= _CLOSING_SHARE * len(other.words)
    )


def is_theirs(new: Statement, old: Statement) -> bool:
    """Whether the speaker changes what they said themself, or the user what the assistant said."""
    is_same = (new.role, new.speaker) == (old.role, old.speaker)
    return is_same or (new.role == "user" and old.role == "assistant")


def says_more(old: Statement, this: Reading) -> bool:
    """Whether `old` says several things, and one of them shares too few words with the new statement.

    "The cleaner comes on Thursdays, her name is Marisol" is still needed when the day changes.
    """
    parts = [content_words(part) for part in _PART.split(old.text[:READ_CHARACTERS])]
    said = [words for words in parts if words]
    return len(said) > 1 and any(len(words & this.words) < _CLOSING_SHARE * len(words) for words in said)


def trust(statement: Statement) -> int:
    """How much a statement may change, by its source class."""
    return _TRUST.get(statement.source_class, 1)


def have_other_codes(this: Reading, other: Reading) -> bool:
    """Whether both name identifiers, and none in common."""
    return bool(this.codes and other.codes) and this.codes.isdisjoint(other.codes)


def _values(reading: Reading, kind: str) -> set[str]:
    return {quantity.value for quantity in reading.quantities if quantity.kind == kind}


def _names(statement: Statement) -> set[str]:
    return {name for name in statement.entities if not any(map(str.isdigit, name))}
