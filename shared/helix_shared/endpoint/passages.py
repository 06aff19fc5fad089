"""Compares passages of texts: whether a quotation or a name occurs in a turn."""

from __future__ import annotations

import functools
import re
from typing import Final

from helix_shared.text.unicode_form import one_form

CACHED_TEXTS: Final = 64
"""The turns of a window are compared with every item of an answer."""
LEAST_QUOTE: Final = 4
"""Characters of a quote, unless it is the whole text: shorter ones stand in nearly every text."""
_SPACE: Final = re.compile(r"\s+")
_QUOTES: Final = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " "})


def plain(text: str) -> str:
    """One line: composed Unicode, single spaces, plain quotation marks, no invisible characters."""
    composed = one_form(text).translate(_QUOTES)
    visible = "".join(c for c in composed if c.isprintable() or c.isspace())
    return _SPACE.sub(" ", visible).strip()


def quotes(text: str, quote: str) -> bool:
    """Whether `quote` stands in `text`, apart from white space, case and the form of quotation marks."""
    wanted, searched = _folded(quote), _folded(text)
    is_long_enough = len(wanted) >= min(LEAST_QUOTE, len(searched))
    return is_long_enough and any(map(str.isalnum, wanted)) and wanted in searched


def names(text: str, name: str) -> bool:
    """Whether `text` has `name` as whole words, apart from the same: "Ann" is not in "planning".

    Scripts without capitals often write words without spaces: there a name ends anywhere.
    """
    wanted, searched = _folded(name), _folded(text)
    if not any(map(str.isalnum, wanted)):
        return False
    at = searched.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        before, after = searched[max(0, at - 1) : at], searched[end : end + 1]
        if not (_is_one_word(before, wanted[0]) or _is_one_word(wanted[-1], after)):
            return True
        at = searched.find(wanted, at + 1)
    return False


def _is_one_word(left: str, right: str) -> bool:
    return all(char.isdigit() or char.upper() != char for char in (left, right)) if left and right else False


@functools.lru_cache(CACHED_TEXTS)
def _folded(text: str) -> str:
    return plain(text).casefold()
