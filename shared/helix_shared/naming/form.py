"""The canonical form of a name, by which the graph identifies an entity.

It ignores compatibility forms, case, diacritics, typographic quotes and dashes, white space, surrounding
punctuation, leading articles and a final possessive, and nothing else. It is idempotent and linear in the
length of the text.
"""

from __future__ import annotations

import re
from typing import Final

from helix_shared.text.unicode_form import without_accents

_SPACE = re.compile(r"\s+")
_ARTICLE = re.compile(r"(?:the|an?) (?=.)")
_MARKS: Final = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201b\u02bc", "'"),
        **dict.fromkeys("\u201c\u201d\u201e", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
    }
)
_EDGE: Final = frozenset(" \"'`*\u00ab\u00bb\u2039\u203a\u00bf\u00a1,;:!?\u2026")
_BRACKETS: Final = {"(": ")", "[": "]", "{": "}", "<": ">"}
_CLOSING: Final = {closing: opening for opening, closing in _BRACKETS.items()}


def folded(text: str) -> str:
    """A text without what names ignore within them: case, diacritics, forms of quotes and dashes."""
    return without_accents(text).translate(_MARKS)


def canonical(surface: str) -> str:
    """The canonical form of a name as written; may be empty."""
    text = _SPACE.sub(" ", folded(surface))
    end = _end_of_name(text)
    return text[_start_of_name(text, end) : end]


def without_disambiguation(surface: str) -> str:
    """A title without its closing parenthesis: "Theodred II (Bishop of Elmham)" gives "Theodred II"."""
    stripped = surface.strip()
    opening = stripped.rfind(" (")
    return stripped[:opening].rstrip() if opening > 0 and stripped.endswith(")") else stripped


def _end_of_name(text: str) -> int:
    """Where the name ends: before punctuation, an unmatched bracket, a possessive."""
    unmatched = {closing for closing, opening in _CLOSING.items() if opening not in text}
    end = len(text)
    while end:
        if text[end - 1] in _EDGE or text[end - 1] == "." or text[end - 1] in unmatched:
            end -= 1
        elif text.endswith("'s", 0, end) and end > len("'s"):
            end -= len("'s")
        else:
            break
    return end


def _start_of_name(text: str, end: int) -> int:
    """Where the name starts: after punctuation, an unmatched bracket, an article."""
    unmatched = {opening for opening, closing in _BRACKETS.items() if closing not in text}
    start = 0
    while start < end:
        if text[start] in _EDGE or text[start] in unmatched:
            start += 1
        elif (article := _ARTICLE.match(text, start, end)) is not None:
            start = article.end()
        else:
            break
    return start
