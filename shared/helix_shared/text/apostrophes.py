"""Short forms of verbs typed without their apostrophe ("whats", "im", "didnt")."""

from __future__ import annotations

import re
from typing import Final

_SPELT: Final = (
    "i'm i've he's she's that's what's there's who's where's when's how's you're they're you've we've they've"
    " it'll you'll they'll don't doesn't didn't isn't aren't wasn't weren't haven't hasn't hadn't won't can't"
    " couldn't shouldn't wouldn't mustn't"
)
"""Forms that are no word without it, as "well", "were", "id", "ill" and "lets" are."""
_PLACES: Final = {form.replace("'", ""): form.index("'") for form in _SPELT.split()}
_SHORT: Final = re.compile(
    # a possessive stands before neither an article nor a preposition
    rf"\b(?:{'|'.join(_PLACES)}|its(?=\s+(?:the|an?|my|our|your|his|her|their|on|in|at|for|from|by|about"
    r"|not|now|still|no)\b))\b(?!['\u2019])",
    re.IGNORECASE,
)
_ITS: Final = len("it")


def with_apostrophes(text: str) -> str:
    """Return the text with the apostrophes of its short forms; linear in its length."""
    return _SHORT.sub(_spell, text)


def _spell(match: re.Match[str]) -> str:
    word = match[0]
    at = _PLACES.get(word.lower(), _ITS)
    return f"{word[:at]}'{word[at:]}"
