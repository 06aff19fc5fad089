"""Corrections right after a slip that do not name it: "No wait, it's Wolvenstraat 81", "make that 7:30".

The turn says nothing but a word of correction, words that the older statement has, and a value. Which value
was wrong is sure where the older statement is one of the turns before it (`Statement.context`), its speaker
is the same, it has one value of the kind, and nothing between has another one. What is not sure is no slip.
"""

from __future__ import annotations

import functools
import re
from typing import Final, NamedTuple

from helix_consolidation.relations.statement import Statement
from helix_consolidation.relations.words.quantities import Quantity, is_value_word, placed_quantities
from helix_consolidation.relations.words.reading import content_words, words_of
from helix_shared.naming.persons import PERSON_NOUNS

MOST_CHARACTERS: Final = 120
"""Characters of a turn that only corrects a slip."""
MOST_WORDS: Final = 14
_CACHED: Final = 1_024
_SURE: Final = re.compile(
    r"\b(?:i (?:mean|meant|misspoke|mis(?:typed|read|heard|remembered))|make (?:that|it)|scratch that"
    r"|correction|typo|(?:my )?(?:mistake|bad)|should (?:be|read|say|have (?:been|read|said)))\b|^\W*\*",
    re.IGNORECASE,
)
"""Says that what was said before is wrong."""
_OPENING: Final = re.compile(
    r"\W*(?:(?:ah|oh|argh|ugh)\b\W*)?(?:sorry|oops|wait|hang on|hold on|no+|nope|actually)\b", re.IGNORECASE
)
_DENIAL: Final = re.compile(r"\W*(?:no+|nope|actually)\b(?!\W+(?:wait|sorry|hang on|hold on))", re.IGNORECASE)
"""So begins an answer too: no correction where somebody asked just before."""
_CLOSING: Final = re.compile(r"\b(?:sorry|i mean|my (?:bad|mistake)|correction|typo)\W*$", re.IGNORECASE)
_FREE: Final = frozenset([
    "sorry", "oops", "wait", "hang", "hold", "on", "no", "nope", "actually", "ah", "oh", "argh", "ugh",
    "i", "meant", "mean", "misspoke", "mistyped", "misread", "misheard", "misremembered", "make", "that",
    "it", "scratch", "correction", "typo", "mistake", "bad", "should", "be", "read", "say", "said",
    "have", "been", "it's", "its", "is", "was", "are", "were", "rather", "that's", "the", "a", "an", "at",
    "in", "to", "from", "for", "by", "of", "then", "please", "this", "which",
])  # fmt: skip
"""Words of a correction that say nothing else: every other word is in the older statement."""
_OF_OTHERS: Final = frozenset(["he", "she", "they", "he's", "she's", "they're"])
"""Free as well, where the older statement is not about its speaker."""
_SELF: Final = frozenset(["i", "i'm", "im", "i've", "we", "we're", "me"])
_OWN: Final = frozenset(["my", "our"])
_MY_MISTAKE: Final = re.compile(r"\bmy (?:bad|mistake)\b", re.IGNORECASE)
_TELLING: Final = 2
"""Words that a statement must be about to be named again."""
_HOURS: Final = 24
_BEFORE_AN_HOUR: Final = frozenset(
    ["at", "by", "until", "till", "from", "around", "about", "before", "after"]
)
_READ_CHARACTERS: Final = 1_000
"""Characters of a statement that are read."""
_CONTEXT: Final = 4_000


class PlacedValue(NamedTuple):
    """A value at one place of a text."""

    quantity: Quantity
    in_digits: bool

    def is_like(self, older: PlacedValue) -> bool:
        """Whether it can stand where `older` stands; a bare number can for an hour and with any unit."""
        one, other = self.quantity, older.quantity
        if one.kind == "which" == other.kind:
            return one.value.split()[0] == other.value.split()[0]
        if one.kind != "number":
            return one.kind == other.kind
        if other.kind == "time":
            return not one.unit and self.in_digits
        return other.kind == "number" and one.unit in ("", other.unit) and self.in_digits == older.in_digits


class Slip(NamedTuple):
    """What a turn corrects in the statement before it."""

    wrong: frozenset[Quantity]
    """Values of the older statement that do not hold."""
    named_again: float
    """How much of what the older statement is about the correction names again, 0 to 1."""


def slip_of(new: Statement, old: Statement) -> Slip | None:
    """What `new` surely corrects in `old`, which its speaker said just before; None for most pairs."""
    if new.is_derived or (new.role, new.speaker) != (old.role, old.speaker) or "?" in old.text[-2:]:
        return None
    since = _turns_between(new, old)
    if since is None or not _corrects(new.text, is_asked=since.rstrip(" )\"'*").endswith("?")):
        return None
    words = words_of(_MY_MISTAKE.sub("", new.text))
    of_old = words_of(old.text[:_READ_CHARACTERS])
    values = placed_quantities(words)
    said = {words[at] for at, _ in values} | set(of_old)
    said |= _FREE | (_OF_OTHERS if _is_of_another(said) else frozenset())
    if any(word not in said and not is_value_word(word) for word in words):
        return None
    wrong = _wrong(_values(words), _values(of_old))
    between = _values(words_of(since))
    if not wrong or any(
        one.is_like(bad) and one.quantity != bad.quantity for one in between for bad in wrong
    ):
        return None
    about = content_words(old.text)
    again = about & content_words(new.text)
    named = len(again) / len(about) if len(about) >= _TELLING else 0.0
    return Slip(frozenset(one.quantity for one in wrong), named)


@functools.lru_cache(_CACHED)
def _corrects(text: str, *, is_asked: bool) -> bool:
    """Whether a turn says that the speaker was wrong, and little else."""
    said = text.replace("\u2019", "'")
    if len(said) > MOST_CHARACTERS or said.rstrip().endswith("?") or len(said.split()) > MOST_WORDS:
        return False
    if _SURE.search(said) or _CLOSING.search(said):
        return True
    return _OPENING.match(said) is not None and not (is_asked and _DENIAL.match(said))


def _turns_between(new: Statement, old: Statement) -> str | None:
    """The turns between `old` and `new`; None where `old` is not among the turns before `new`."""
    if not new.session or new.session != old.session or old.occurred_at > new.occurred_at:
        return None
    context, spoken = f"\n{new.context[:_CONTEXT]}\n", f"\n{new.speaker or new.role}: "
    if not old.is_derived:
        _, found, since = context.rpartition(f"{spoken}{old.text[:_READ_CHARACTERS]}")
        return since if found and (since.startswith("\n") or not since) else None
    # "question answer": the last line of the speaker is the answer
    _, found, since = context.rpartition(spoken)
    line, _, rest = since.partition("\n")
    return rest if found and len(line) > 1 and old.text.endswith(line) else None


def _is_of_another(words: set[str]) -> bool:
    """Whether a statement may be about somebody else than its speaker: "My brother is 42"."""
    return words.isdisjoint(_SELF) and (words.isdisjoint(_OWN) or not words.isdisjoint(PERSON_NOUNS))


def _wrong(values: list[PlacedValue], of_old: list[PlacedValue]) -> list[PlacedValue]:
    """The values of the older statement that others replace; empty where one of these replaces none."""
    wrong: list[PlacedValue] = []
    for value in values:
        if any(value.quantity == one.quantity for one in of_old):
            continue
        rivals = {one.quantity: one for one in of_old if value.is_like(one)}
        if len(rivals) != 1:
            return []
        wrong += rivals.values()
    return wrong


def _values(words: list[str]) -> list[PlacedValue]:
    return [
        PlacedValue(_hour(one) if words[at - 1] in _BEFORE_AN_HOUR and at else one, words[at][:1].isdigit())
        for at, one in placed_quantities(words)
    ]


def _hour(one: Quantity) -> Quantity:
    is_hour = one.kind == "number" and not one.unit and one.value.isdigit() and int(one.value[:9]) <= _HOURS
    return Quantity("time", f"{one.value}:00") if is_hour else one
