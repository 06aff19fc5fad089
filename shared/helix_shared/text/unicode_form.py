"""Unicode normalisation in linear time.

`unicodedata.normalize` sorts combining marks by insertion: 100,000 alternating marks take 8 s, with the GIL
held. Here a combining grapheme joiner is inserted after `MARKS_IN_A_ROW` marks, as in the Stream-Safe Text
Format of Unicode (UAX #15, section 13). Text of a real language has no such run and is normalised unchanged.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, Literal

MARKS_IN_A_ROW: Final = 30
SHORT_CHARACTERS: Final = 256
"""Characters; in a text up to this length, marks are sorted in microseconds."""

_VALUES: Final = re.compile("[\xb2\xb3\xb9\xbc-\xbe\u2070\u2074-\u2079\u2080-\u2089\u2150-\u215f\u2189]+")
"""Fractions and raised or lowered digits: NFKC makes "1\xbd" 11/2 and "x\xb2" x2."""
# Latin, Greek and Cyrillic accents only: kana voicing and Indic vowels are marks too, and letters
_ACCENT: Final = re.compile("[\u0300-\u036f]")
_BARE: Final = str.maketrans(
    {
        # letters that Unicode does not decompose, as usually written without their marks
        **dict(zip("\u00f8\u0142\u0111\u00f0\u0131", "olddi", strict=True)),
        **dict(zip("\u00fe\u00e6\u0153", ("th", "ae", "oe"), strict=True)),
    }
)
_JOINER: Final = "\u034f"
_HALF_WIDTH_MARKS: Final = "\uff9e\uff9f"
"""The only letters that become combining marks (NFKC)."""
_PERHAPS_MARKS: Final = re.compile(rf"(?:[^\w\s!-~]|[{_HALF_WIDTH_MARKS}]){{{MARKS_IN_A_ROW + 1},}}")


def normalised(form: Literal["NFKC", "NFKD"], text: str) -> str:
    """`text` in a Unicode normalisation form; a run of too many combining marks is split first."""
    if len(text) > SHORT_CHARACTERS and not text.isascii():
        text = _PERHAPS_MARKS.sub(_broken, text)
    return unicodedata.normalize(form, text)


def one_form(text: str) -> str:
    """`text` in NFKC, without a change of fractions and of raised or lowered digits."""
    if _VALUES.search(text) is None:
        return normalised("NFKC", text)
    between = (normalised("NFKC", part) for part in _VALUES.split(text))
    kept = [*_VALUES.findall(text), ""]
    return "".join(part + value for part, value in zip(between, kept, strict=True))


def storable(text: str) -> str:
    """`text` with `?` for each lone surrogate, which neither UTF-8 nor any store can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def without_accents(text: str) -> str:
    """`text` in lower case without the accents of Latin, Greek and Cyrillic letters (NFKC)."""
    if text.isascii():
        return text.lower()
    bare = _ACCENT.sub("", normalised("NFKD", text)).casefold().translate(_BARE)
    # case folding may produce accents
    return normalised("NFKC", _ACCENT.sub("", normalised("NFKD", bare)).casefold())


def _broken(run: re.Match[str]) -> str:
    parts: list[str] = []
    marks = 0
    for character in run[0]:
        is_mark = unicodedata.combining(character) > 0 or character in _HALF_WIDTH_MARKS
        if is_mark and marks == MARKS_IN_A_ROW:
            parts.append(_JOINER)
            marks = 0
        marks = marks + 1 if is_mark else 0
        parts.append(character)
    return "".join(parts)
