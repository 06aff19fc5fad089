"""What a search for residue looks for: words, vectors and token codes of memories, kept in memory alone."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_cli.residue.patterns import Patterns
from helix_consolidation.statements.quantised import quantised
from helix_shared.artifacts.lexicon.analysis import stems

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

SEPARATOR: Final = b"\x00"
"""Between texts that are searched together."""
VECTOR_BYTES: Final = 64
"""Bytes of a vector that are searched for; no two vectors share so many by chance."""
_SPELLED: Final = {
    1: re.compile(rb"\\(?:u[0-9A-Fa-f]{4}|/)(?:\\(?:u[0-9A-Fa-f]{4}|/))*"),
    2: re.compile(rb"\\\\(?:u[0-9A-Fa-f]{4}|/)(?:\\\\(?:u[0-9A-Fa-f]{4}|/))*"),
}
"""Characters that JSON, or JSON in JSON, need not spell so. Each begins with what a search finds quickly."""
_MOST_SPELLED: Final = 7
"""Bytes that a character has at most in JSON in JSON."""


@dataclass(frozen=True, slots=True)
class Canaries:
    """Texts and byte sequences; `stems` are the words of the texts that no other text may have."""

    texts: tuple[str, ...] = ()
    sequences: tuple[bytes, ...] = ()
    stems: frozenset[str] = frozenset()
    _content: Patterns = field(init=False, repr=False)
    _terms: Patterns = field(init=False, repr=False)

    def __post_init__(self) -> None:
        forms = chain.from_iterable(_forms(text) for text in self.texts if text)
        object.__setattr__(self, "_content", Patterns(chain(forms, self.sequences)))
        object.__setattr__(self, "_terms", Patterns(map(str.encode, self.stems)))

    @classmethod
    def of_words(cls, words: Iterable[str], rows: Iterable[Mapping[str, Any]] = ()) -> Canaries:
        """Unique words, which occur nowhere but in what is erased, and the stored rows of it."""
        unique = tuple(words)
        return cls(unique, tuple(_sequences(rows)), frozenset(stem for w in unique for stem in stems(w)))

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, Any]]) -> Canaries:
        """Whole texts, vectors and token codes of rows with `text`, `vector` and `token_codes`."""
        stored = list(rows)
        return cls(tuple(row["text"] for row in stored), tuple(_sequences(stored)))

    def count(self, content: bytes) -> int:
        """Occurrences in some bytes, in whatever JSON a publisher has written them."""
        return self.count_in([content])

    def count_in(self, parts: Iterable[bytes]) -> int:
        """As `count`, in what several parts are together, of which one at a time is in memory.

        What is found in the JSON of another publisher near the end of a part may be counted twice.
        """
        found, before = 0, b""
        for part in parts:
            content = before + part
            found += self._count(content, known=len(before))
            before = content[-_MOST_SPELLED * self._content.longest :] if self._content.longest else b""
        return found

    def _count(self, content: bytes, *, known: int) -> int:
        if found := self._content.count(content, known=known):
            return found
        return sum(
            self._content.count(_spelled_alike(part, depth))
            for depth in _SPELLED
            for part in _spelled_otherwise(content, depth, reach=self._content.longest, known=known)
        )

    def count_terms(self, terms: Iterable[str]) -> int:
        """Occurrences of the stems in the terms of an index."""
        return self._terms.count(SEPARATOR.join(map(str.encode, terms)))


def _forms(text: str) -> set[bytes]:
    """A text as it may stand in a file: as it is, lower case, in both forms of JSON, and in JSON in JSON.

    An export has the JSON of an event in a line of JSON.
    """
    quoted = _quoted(text)
    forms = {text, text.lower(), *quoted, *(form for one in quoted for form in _quoted(one))}
    return {form.encode("utf-8", "surrogatepass") for form in forms}


def _quoted(text: str) -> set[str]:
    return {json.dumps(text, ensure_ascii=one)[1:-1] for one in (True, False)}


def _spelled_otherwise(content: bytes, depth: int, *, reach: int, known: int) -> Iterator[bytes]:
    """The parts of `content` around such characters, with `reach` bytes before and behind them.

    Those within the first `known` bytes, which were looked through before, are left out.
    """
    begin = end = 0
    for found in _SPELLED[depth].finditer(content):
        if found.start() - reach > end:
            if end > known:
                yield content[begin:end]
            begin = found.start() - reach
        end = found.end() + reach
    if end > known:
        yield content[begin:end]


def _spelled_alike(content: bytes, depth: int) -> bytes:
    """`content` with the characters that JSON may spell in several ways as `_quoted` spells them.

    Publishers differ: Go writes `<` as a number, .NET also `+` and letters with accents, with capital digits,
    and PHP a slash with a backslash before it. `depth` is 2 for JSON in JSON.
    """

    def alike(found: re.Match[bytes]) -> bytes:
        text = json.loads(b'"%b"' % found[0].replace(b"\\" * depth, b"\\"))
        for _ in range(depth):
            text = json.dumps(text, ensure_ascii=False)[1:-1]
        return str(text).encode("utf-8", "surrogatepass")

    return _SPELLED[depth].sub(alike, content)


def _sequences(rows: Iterable[Mapping[str, Any]]) -> Iterable[bytes]:
    for row in rows:
        vector = np.asarray(row["vector"], np.float32)
        if not vector.any():
            continue
        yield vector.astype("<f4").tobytes()[:VECTOR_BYTES]
        yield vector.astype("<f2").tobytes()[:VECTOR_BYTES]
        yield quantised(vector).tobytes()[:VECTOR_BYTES]
        if codes := row.get("token_codes"):
            yield bytes(codes)
