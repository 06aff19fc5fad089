"""Finding names in a text, and title candidates in a question."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from helix_shared.naming.capitals import Word, find_proper_names
from helix_shared.naming.code import WORD_CHARACTERS, classify, find_phrases
from helix_shared.naming.dates import find_dates
from helix_shared.naming.form import canonical
from helix_shared.naming.persons import find_introduced
from helix_shared.naming.words import FUNCTION_WORDS, TITLES_BEFORE_A_DOT

NAME_CHARACTERS: Final = 120
TITLE_WORDS: Final = 8
QUESTION_WORDS: Final = 96
"""Words of a question that are looked at for titles."""

_WORD = re.compile(r"[^\s\u2013\u2014\u2026]+")
_BEFORE: Final = "([{<\"'`*>\u00ab\u201c\u2018\u201e|"
_AFTER: Final = ")]}>\"'`*,;:!?.\u00bb\u201d\u2019|"
_BULLET = re.compile(r"[-*+>#|\u2022]+|\d{1,3}[.)]")
_ENDS_SENTENCE = frozenset(".!?:")
_OPENING_QUOTES = frozenset("\"'\u201c\u2018\u00ab\u201e*")
_QUOTED_TITLE = re.compile(r"[\"\u201c\u00ab]([^\"\u201c\u201d\u00ab\u00bb\n]{2,80})[\"\u201d\u00bb]")


@dataclass(frozen=True, slots=True)
class Name:
    """One name at one place; `text[span[0]:span[1]]` is `surface`, `name` its canonical form."""

    kind: str
    """name, path, symbol, version, error, date or issue."""
    name: str
    surface: str
    span: tuple[int, int]


def find_names(text: str) -> list[Name]:
    """Every name in `text`, ordered by position; names may overlap ("Schindler" in "Schindler's List")."""
    found = [Name("date", iso, text[start:end], (start, end)) for start, end, iso in find_dates(text)]
    found += [Name(kind, name, text[a:b], (a, b)) for a, b, kind, name in find_phrases(text)]
    words: list[Word] = []
    for word, name in _read_words(text, sorted(name.span for name in found)):
        words.append(word)
        if name is not None:
            found.append(name)
    spans = [*find_proper_names(text, words), *_quoted_titles(text), *find_introduced(text)]
    for start, end in spans:
        surface = text[start:end]
        if end - start <= NAME_CHARACTERS and (name_ := canonical(surface)):
            found.append(Name("name", name_, surface, (start, end)))
    unique = {(name.span, name.name): name for name in reversed(found)}
    return sorted(unique.values(), key=lambda name: (name.span[0], -name.span[1], name.kind))


def title_candidates(text: str) -> list[str]:
    """Canonical forms of all sequences of 1 to 8 words that could be a title, longest first.

    Sequences of function words only are excluded, unless the question has no other words.
    """
    words = [match.span() for match in _WORD.finditer(text)][:QUESTION_WORDS]
    loose = [canonical(text[start:end]) in FUNCTION_WORDS for start, end in words]
    candidates: dict[str, None] = {}
    for length in range(min(TITLE_WORDS, len(words)), 0, -1):
        for first in range(len(words) - length + 1):
            if length < len(words) and all(loose[first : first + length]):
                continue
            start, end = words[first][0], words[first + length - 1][1]
            if end - start <= NAME_CHARACTERS and (name := canonical(text[start:end])):
                candidates[name] = None
    return list(candidates)


def _read_words(text: str, taken: list[tuple[int, int]]) -> Iterator[tuple[Word, Name | None]]:
    """Every word, with its software name if it is one; words inside `taken` spans belong to other names."""
    opens, last_end, cursor = True, 0, 0
    for match in _WORD.finditer(text):
        start, end = match.span()
        raw = match[0]
        while cursor < len(taken) and taken[cursor][1] <= start:
            cursor += 1
        spoken_for = cursor < len(taken) and taken[cursor][0] < end
        if len(raw) > WORD_CHARACTERS:
            opens, last_end = True, end
            yield Word(start, end, "", raw[0], raw[-1], opens=True, taken=True), None
            continue
        before, core, after = _peeled(raw)
        opens = opens or "\n" in text[last_end:start] or (before[:1] in _OPENING_QUOTES and bool(before))
        start += len(before)
        found = None if spoken_for else classify(core, quoted="`" in before and "`" in after)
        name = None if found is None else Name(*found, core, (start, start + len(core)))
        yield Word(start, start + len(core), core, before, after, opens, spoken_for or name is not None), name
        opens = _ends_sentence(core, after) or (opens and _BULLET.fullmatch(raw) is not None)
        last_end = end


def _peeled(raw: str) -> tuple[str, str, str]:
    """Punctuation before the word, the word, punctuation after it."""
    if raw.isalnum():
        return "", raw, ""
    rest = raw.lstrip(_BEFORE)
    core = rest.rstrip(_AFTER)
    before, after = raw[: len(raw) - len(rest)], rest[len(core) :]
    if after.startswith(")") and core.endswith("("):
        return before, core + ")", after[1:]
    return before, core, after


def _ends_sentence(core: str, after: str) -> bool:
    if not _ENDS_SENTENCE.intersection(after):
        return False
    return after != "." or not ((len(core) == 1 and core.isupper()) or core.lower() in TITLES_BEFORE_A_DOT)


def _quoted_titles(text: str) -> Iterator[tuple[int, int]]:
    """Spans inside quotation marks that look like a title: short, and starting with a capital."""
    for match in _QUOTED_TITLE.finditer(text):
        words = match[1].split()
        capitals = sum(word[0].isupper() for word in words)
        if words and len(words) <= TITLE_WORDS and words[0][0].isupper() and 2 * capitals >= len(words):
            yield match.span(1)
