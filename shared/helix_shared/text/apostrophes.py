"""Short forms of verbs typed without their apostrophe ("whats", "im", "didnt")."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_SPELT: Final = (
    "i'm i've he's she's that's what's there's who's where's when's how's you're they're you've we've they've"
    " it'll you'll they'll that'll he'd they'd you'd it'd that'd who'd would've could've should've don't"
    " doesn't didn't isn't aren't wasn't weren't haven't hasn't hadn't won't can't couldn't shouldn't"
    " wouldn't mustn't"
)
"""Forms that are no word without it, as "well", "were", "id", "ill" and "lets" are."""
SHORT_FORMS: Final = {form.replace("'", ""): form for form in _SPELT.split()}
"""Typed form in lower case -> the same with its apostrophe."""
_BEHIND_IT_IS: Final = frozenset([
    "the", "a", "an", "my", "our", "your", "his", "her", "their", "on", "in", "at", "for", "from", "by",
    "about", "not", "now", "still", "no",
])  # fmt: skip
"""A possessive stands before neither an article nor a preposition: "its on the door"."""
_WORDS: Final = re.compile(r"(?<!\w)[a-z]+(?:['\u2019][a-z]+)?(?!\w)", re.IGNORECASE)


def with_apostrophes(text: str) -> str:
    """Return the text with the apostrophes of its short forms; linear in its length."""
    found = list(_WORDS.finditer(text))
    words = [match[0].lower() for match in found]
    pieces, end = [], 0
    for match, word, spelt in zip(found, words, spelt_words(words), strict=True):
        if spelt != word:
            at = match.start() + spelt.index("'")
            pieces += [text[end:at], "'"]
            end = at
    return "".join([*pieces, text[end:]])


def spelt_words(words: Sequence[str]) -> list[str]:
    """Return lower-case words with the apostrophes of their short forms."""
    spelt = [SHORT_FORMS.get(word, word) for word in words]
    for at, (word, behind) in enumerate(pairwise(words)):
        if word == "its" and behind in _BEHIND_IT_IS:
            spelt[at] = "it's"
    return spelt
