"""Whether the dot behind a word belongs to an abbreviation and ends no sentence: "Dr. Oduya", "e.g."."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from helix_shared.naming.words import FUNCTION_WORDS, TITLES_BEFORE_A_DOT

READ_CHARACTERS: Final = 16
"""Characters before and behind the dot that are read."""

_INSIDE: Final = frozenset(["e.g", "i.e", "eg", "ie", "cf", "vs"])
"""Never at the end of a sentence."""
_NUMBERED: Final = frozenset(["no", "nr", "fig", "approx", "ca"])
"""Abbreviations only before a number: "no." alone is an answer."""
_BEFORE_LOWER_CASE: Final = frozenset(["jr", "sr", "etc", "a.m", "p.m", "inc", "ltd", "dept", "ave", "rd"])
"""Before a capital letter, their dot also ends the sentence."""
_BEFORE_A_NAME: Final = TITLES_BEFORE_A_DOT - _NUMBERED - _BEFORE_LOWER_CASE - _INSIDE
_SUBJECTS: Final = frozenset(
    ["i", "im", "we", "my", "our", "he", "she", "they", "it", "you", "his", "her", "their", "this", "there"]
)
"""Open a sentence in any case."""
_ALSO_NAMES: Final = frozenset(["will", "may"])
_LAST: Final = re.compile(r"(?<![\w.])[^\W\d_]+(?:\.[^\W\d_])*$")
_NEXT: Final = re.compile(r"[ \t]+[\"'(\u2018\u201c]?([^\W_]+)")


def sentence_ends(found: Iterable[re.Match[str]]) -> Iterator[re.Match[str]]:
    """Those of `found`, matches that begin at a mark or just behind it, at which a sentence ends."""
    for match in found:
        text, start = match.string, match.start()
        dot = start if text.startswith(".", start) else start - 1
        if dot < 0 or text[dot] != "." or not is_abbreviation(text, dot):
            yield match


def is_abbreviation(text: str, dot: int) -> bool:
    """Whether `text[dot]` belongs to the word before it and the sentence goes on behind it.

    A title ends its sentence where the next word cannot be a name: "I saw the Dr. She was kind". A single
    capital letter is an initial before a capitalised word.
    """
    last = _LAST.search(text[max(dot - READ_CHARACTERS, 0) : dot])
    following = _NEXT.match(text[dot + 1 : dot + 1 + READ_CHARACTERS])
    if last is None or following is None:
        return False
    word, after = last[0].lower(), following[1]
    if word in _NUMBERED:
        return after[0].isdigit()
    if word in _INSIDE or word in _BEFORE_LOWER_CASE:
        return word in _INSIDE or (after[0].islower() and after not in _SUBJECTS)
    is_title, is_initial = word in _BEFORE_A_NAME, len(word) == 1 and word != "i" and last[0].isupper()
    folded = after.lower()
    if after[0].isupper():
        return (is_title or is_initial) and (folded not in FUNCTION_WORDS or folded in _ALSO_NAMES)
    return is_title and folded not in _SUBJECTS
