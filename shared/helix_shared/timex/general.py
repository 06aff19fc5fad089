"""Whether a clause states a rule for everybody: "people should drink more in summer" is nobody's plan."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from helix_shared.timex import verbs
from helix_shared.timex.words import MONTH, SEASONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix_shared.timex.reading import Passage

_OBLIGED = frozenset(["should", "shouldn't", "ought", "must", "mustn't"])
_ADVERBS = verbs.ADVERBS | {"really", "probably", "generally", "definitely", "perhaps", "maybe"}
_ANYBODY = frozenset(["people", "folks", "humans", "nobody"])
"""No certain people, unless a word like "our" or "two" stands before them."""
_ONE: Final = "one"
_NO_ONE: Final = ["no", _ONE]
_EACH = frozenset(["everyone", "everybody"])
"""Often everybody of a team or a family: a month may be a date for them."""
_HEARER: Final = "you"
_AMOUNTS = frozenset(["more", "less", "fewer", "enough", "plenty", "lots", "extra", "every"])
"""With these what "you" should do is a habit, and no errand."""
_BEFORE_SUBJECTS = frozenset([
    "think", "believe", "say", "says", "said", "feel", "guess", "reckon", "know", "agree", "most", "all",
    "many", "more", "older", "old", "younger", "young", "healthy",
])  # fmt: skip
_SEASON = re.compile("|".join(SEASONS))
_MONTH = re.compile(MONTH)


def states_rule(clause: Sequence[str], passage: Passage, span: tuple[int, int]) -> bool:
    """Tell it from the tokens of the clause of a time, without the time; a question states none.

    Only a season or a month comes back in a rule; a weekday or a date is one of everybody it names.
    """
    at = next((at for at, word in enumerate(clause) if word in _OBLIGED), 0)
    if passage.asks or at == 0 or clause[at + 1 : at + 2] == ["have"]:
        return False
    subject = at - 1
    while subject > 0 and clause[subject] in _ADVERBS:
        subject -= 1
    time = passage.folded[slice(*span)]
    if _SEASON.fullmatch(time):
        return (
            _is_anybody(clause, subject)
            or clause[subject] in _EACH
            or (clause[subject] == _HEARER and not _AMOUNTS.isdisjoint(clause[at:]))
        )
    return bool(_MONTH.fullmatch(time)) and _is_anybody(clause, subject)


def _is_anybody(clause: Sequence[str], subject: int) -> bool:
    """Tell whether the subject is nobody in particular."""
    before = clause[subject - 1] if subject else ""
    if clause[subject] == _ONE:
        # not "the new one" or "this one"
        return not before or clause[subject - 1 : subject + 1] == _NO_ONE
    return clause[subject] in _ANYBODY and (not before or before in _BEFORE_SUBJECTS)
