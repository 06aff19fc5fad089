"""Compares passages of texts: whether a quotation or a name occurs in a turn."""

from __future__ import annotations

import functools
import re
from typing import Final

from helix_shared.text.unicode_form import normalised

CACHED_TEXTS: Final = 64
"""The turns of a window are compared with every item of an answer."""
_SPACE: Final = re.compile(r"\s+")
_QUOTES: Final = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " "})


def plain(text: str) -> str:
    """One line: composed Unicode, single spaces, plain quotation marks, no invisible characters."""
    composed = normalised("NFKC", text).translate(_QUOTES)
    visible = "".join(c for c in composed if c.isprintable() or c.isspace())
    return _SPACE.sub(" ", visible).strip()


def holds(text: str, passage: str) -> bool:
    """Whether `passage` occurs in `text`, apart from white space, case and the form of quotation marks."""
    wanted = _folded(passage)
    return any(map(str.isalnum, wanted)) and wanted in _folded(text)


@functools.lru_cache(CACHED_TEXTS)
def _folded(text: str) -> str:
    return plain(text).casefold()
