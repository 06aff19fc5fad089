"""Plans that came to nothing: "I was going to buy the Canon but got the Fuji" says what happened."""

from __future__ import annotations

import re
from typing import Final

_IN: Final = r"(?:[^.!?\n]|[.!?](?=\d))"
"""A character within a sentence, as the point of 2.5 is."""
_SUBJECT: Final = (
    r"(?:(?:i|we|he|she|they|it|you|there|the|my|our|his|her|their|nobody|somebody|everybody)\b|(?-i:[A-Z]))"
)
_TURN: Final = (
    rf"(?:[\s,;](?:but|until|till|however|instead(?! of\b))|[,;] ?(?:so|then)(?! that\b)"
    rf"|\s(?:so|then)(?= {_SUBJECT}))\b"
)
"""What tells that a plan failed; "so" and "then" do so behind a comma or before a subject ("so happy")."""
_REST: Final = rf"{_IN}{{0,160}}?{_TURN}(?={_IN}{{3}})"
_PLANNED: Final = (
    r"\b(?:was|were|wasn['\u2019]?t|weren['\u2019]?t|had been) (?:(?:not|just|all|both|still|originally"
    r"|actually|really) )?(?:going to|gonna|planning (?:to|on)|supposed to|meant to|about to|intending to"
    r"|hoping to|thinking (?:of|about)|considering|scheduled (?:to|for)|set to)\b"
)
_WOULD_HAVE: Final = r"\b(?:would|could|might)(?:['\u2019]ve| have| of) \w"
_FAILED: Final = re.compile(
    rf"{_PLANNED}{_REST}|{_WOULD_HAVE}{_IN}{{0,160}}?[\s,;]but\b(?={_IN}{{3}})", re.IGNORECASE
)
_END: Final = re.compile(r"[.!?](?!\d)|\n")
_IF: Final = re.compile(r"\bif\b", re.IGNORECASE)


def without_failed_plans(text: str) -> str:
    """The text without each plan that "but", "until" or "so" says came to nothing; what follows is kept.

    A condition stays: "I would have gone if you had asked, but nobody did" is no plan.
    """
    if not _FAILED.search(text):
        return text
    parts, start = [], 0
    for end in (*(found.end() for found in _END.finditer(text)), len(text)):
        sentence = text[start:end]
        parts.append(sentence if _IF.search(sentence) else _FAILED.sub(" ", sentence))
        start = end
    return "".join(parts)
