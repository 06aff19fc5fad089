"""What a search for residue looks for: words, vectors and token codes of memories, kept in memory alone."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_consolidation.statements.quantised import quantised
from helix_shared.artifacts.lexicon.analysis import stems

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

VECTOR_BYTES: Final = 64
"""Bytes of a vector that are searched for; no two vectors share so many by chance."""


@dataclass(frozen=True, slots=True)
class Canaries:
    """Texts and byte sequences; `stems` are the words of the texts that no other text may have."""

    texts: tuple[str, ...] = ()
    sequences: tuple[bytes, ...] = ()
    stems: frozenset[str] = frozenset()
    pattern: re.Pattern[bytes] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        forms = {form for text in self.texts if text for form in _forms(text)} | set(self.sequences)
        parts = sorted(map(re.escape, forms), key=len, reverse=True)
        object.__setattr__(self, "pattern", re.compile(b"|".join(parts) or b"(?!)"))

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
        """Occurrences in some bytes."""
        return sum(1 for _ in self.pattern.finditer(content))

    def found(self, content: bytes) -> Counter[bytes]:
        """Occurrences by what was found."""
        return Counter(match.group() for match in self.pattern.finditer(content))


def _forms(text: str) -> set[bytes]:
    """A text as it may stand in a file: as it is, lower case, in both forms of JSON, and in JSON in JSON.

    An export has the JSON of an event in a line of JSON.
    """
    quoted = _quoted(text)
    forms = {text, text.lower(), *quoted, *(form for one in quoted for form in _quoted(one))}
    return {form.encode("utf-8", "surrogatepass") for form in forms}


def _quoted(text: str) -> set[str]:
    return {json.dumps(text, ensure_ascii=one)[1:-1] for one in (True, False)}


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
