"""Terms of texts in any script; `analysis` calls this for texts with letters outside ASCII.

Runs of Han, kana and Hangul, and of scripts of South-East Asia, become pairs of neighbouring characters
(bigrams), so that part of a clause is found without a dictionary. Single Han characters are terms as well,
since many are words. A word with letters outside ASCII has a second term beside the written one: without
accents if it is Latin, so that "cafe" finds "café" and "café" scores higher; otherwise stemmed by the rules
of the language whose alphabet has all its letters (Russian, Greek, Arabic, Tamil).
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Final

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from helix_shared.text.scripts import HAN, HANGUL, UNSPACED
from helix_shared.text.unicode_form import normalised, without_accents

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

MOST_TOKEN_BYTES: Final = 64

_PLAIN: Final = re.compile(
    "[\x00-\x7f\xa0-\xa9\xab\xac\xae-\xb1\xb4\xb6-\xb8\xbb\xbf\u2010-\u205f\u20a0-\u20bf]*"
)
"""ASCII, and punctuation and currency signs of English text."""
_SIMPLE: Final = re.compile(
    "[\x00-\x7f\xa0-\xac\xae-\xbb\xbf-\u024f\u0370-\u03ff\u0400-\u045f\u1e00-\u1eff\u2010-\u205f\u20a0-\u20bf]*"
)
"""European letters, without combining marks, fractions and trade marks."""
_SPECIAL: Final = re.compile(r"([\xbc-\xbe\u2150-\u215f\u2189])|([\u2120\u2122])|[\xad\u200b\u2060\ufeff]")
"""Fractions, which are split from the number before them, trade marks, and invisible characters."""
_UNSPACED: Final = re.compile(f"[{UNSPACED}{HANGUL}]")
_SECTION: Final = re.compile(f"([{UNSPACED}{HANGUL}]+)|[^{UNSPACED}{HANGUL}]+")
_WORD: Final = re.compile(r"[^\W_]+")
_HAN: Final = re.compile(rf"[{HAN}]")
_ALPHABETS: Final = {
    "russian": re.compile("[\u0430-\u044f\u0451]+"),
    "greek": re.compile("[\u0386-\u03ce]+"),
    "arabic": re.compile("[\u0621-\u063a\u0641-\u0652]+"),
    "tamil": re.compile("[\u0b80-\u0bff]+"),
}
ENGLISH: Final = "english"
_LATIN: Final = re.compile("[a-z\xdf-\u024f\u1e00-\u1eff]")


def holds_unspaced(text: str) -> bool:
    """Whether a text has characters of a script that is searched by characters, not by words."""
    return _UNSPACED.search(text) is not None


def is_plain(text: str) -> bool:
    """Whether all letters of a text are ASCII."""
    return text.isascii() or _PLAIN.fullmatch(text) is not None


def terms(text: str, *, english: TextAnalyzer, stop_words: Collection[str]) -> Iterator[str]:
    """Terms of a text in order; second forms follow the words of their section."""
    if _SIMPLE.fullmatch(text):
        yield from _words(unicodedata.normalize("NFKC", text), english, stop_words)
        return
    text = normalised("NFKC", _SPECIAL.sub(_split_special, text))
    if not holds_unspaced(text):
        yield from _words(text, english, stop_words)
        return
    for section in _SECTION.finditer(text):
        if section[1] is not None:
            yield from _characters(section[1])
        elif section[0] > " ":
            yield from _words(section[0], english, stop_words)


def _split_special(special: re.Match[str]) -> str:
    return f" {special[1]} " if special[1] else " " if special[2] else ""


def _characters(run: str) -> list[str]:
    """Bigrams of a run, and its Han characters; a run of one character is one term."""
    if len(run) == 1:
        return [run]
    return [*map("".join, itertools.pairwise(run)), *_HAN.findall(run)]


def _words(text: str, english: TextAnalyzer, stop_words: Collection[str]) -> list[str]:
    """English terms of the words in order, then second forms."""
    words = list(english.analyze(text))
    if text.isascii():
        return words
    second: dict[str, list[str]] = {}
    for piece in text.split():
        if not piece.isascii():
            for word in _WORD.findall(piece):
                if not word.isascii() and len(word) <= MOST_TOKEN_BYTES:
                    _add_second_form(word.lower(), second)
    for language, forms in second.items():
        stems = _stemmer(language).analyze(" ".join(form for form in forms if form not in stop_words))
        words += stems if language == ENGLISH else _without(stems, forms)
    return words


def _add_second_form(word: str, second: dict[str, list[str]]) -> None:
    """Add the second form of a word, if it has one, to the list of the language whose rules apply."""
    if _LATIN.search(word):
        bare = without_accents(word)
        if bare != word:
            second.setdefault(ENGLISH, []).append(bare)
        return
    for language, letters in _ALPHABETS.items():
        if letters.fullmatch(word):
            second.setdefault(language, []).append(word)


def _without(stems: Sequence[str], words: Sequence[str]) -> Iterator[str]:
    """The stems that differ from their word."""
    return (stem for stem, word in zip(stems, words, strict=True) if stem != word)


@cache
def _stemmer(language: str) -> TextAnalyzer:
    return TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.stemmer(language)).build()
