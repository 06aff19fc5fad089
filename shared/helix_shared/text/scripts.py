"""Writing systems: letters of scripts without spaces, word counts, sentence ends.

The ranges follow the Unicode blocks and are used inside a character class of a regular expression.
"""

from __future__ import annotations

import re
from typing import Final

HAN: Final = (
    r"\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
KANA: Final = r"\u3041-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
BOPOMOFO: Final = r"\u3105-\u312f\u31a0-\u31bf"
HANGUL: Final = r"\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"
SOUTH_EAST_ASIAN: Final = (
    r"\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf"  # Thai, Lao
    r"\u1000-\u103f\u104e-\u108f\u1780-\u17d3\u17d7\u17dc\u17dd"  # Burmese, Khmer
)
UNSPACED: Final = HAN + KANA + BOPOMOFO + SOUTH_EAST_ASIAN
"""Letters of scripts without spaces between words."""

QUESTION_MARKS: Final = "?\uff1f\u061f"
"""ASCII, full width, Arabic."""
FULL_STOPS: Final = "\u3002\uff01\uff1f\uff61"
"""End of a Chinese or Japanese sentence; no space follows. The last one is half width."""

_CLOSING_CHARACTERS: Final = 20
"""Marks behind a question mark that are passed over, at most."""
_QUESTION_END: Final = re.compile(rf"[\s!.\"')\]}}*_\u201d\u2019\U0001f300-\U0001faff]*+[{QUESTION_MARKS}]")
"""A question mark and what may stand behind it (quotes, brackets, emphasis, emoji), read backwards."""

LETTERS_OF_A_WORD: Final = 2
"""Estimate for scripts without spaces; words of Chinese, Japanese and Thai have 1.5 to 4 letters."""

WORD: Final = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")
"""A word, or one letter of a script without spaces."""
_LETTER: Final = re.compile(rf"[{UNSPACED}]")
_SPACED: Final = re.compile(rf"[^\W{UNSPACED}]+")


def is_of_word(character: str) -> bool:
    """Whether a character is a letter, a digit or `_`: what a regular expression calls a word character."""
    return character.isalnum() or character == "_"


def ends_with_question_mark(sentence: str) -> bool:
    """Whether a sentence ends with a question mark; white space, quotes and other marks may follow it."""
    return _QUESTION_END.match(sentence.rstrip()[: -_CLOSING_CHARACTERS - 1 : -1]) is not None


def word_count(text: str) -> int:
    """Approximate number of words: runs of letters and digits, plus `unspaced_words`."""
    return len(_SPACED.findall(text)) + unspaced_words(text)


def unspaced_words(text: str) -> int:
    """Approximate number of words in scripts without spaces: half the number of letters, rounded up."""
    return 0 if text.isascii() else -(-len(_LETTER.findall(text)) // LETTERS_OF_A_WORD)
