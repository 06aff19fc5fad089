"""Selects the predicted questions that contain words which the text does not.

BM25 finds the words of the text in the text; a question of only these words would just lengthen the
expansions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

QUESTIONS: Final = 8
QUESTION_CHARACTERS: Final = 160
NEAR_EQUAL: Final = 0.8
"""Jaccard similarity of two questions' words from which they are the same question."""

_WORD = re.compile(r"\w+")
_SUFFIX = re.compile(r"(?:ations?|ings?|ions?|ers?|ed|es|s|ly|e)$")
_SHORTEST_STEM: Final = 3
# fmt: off
_ASKING: Final = frozenset({
    "a", "about", "an", "and", "are", "as", "at", "be", "by", "did", "do", "does", "for", "from", "had",
    "has", "have", "how", "in", "is", "it", "its", "made", "of", "on", "or", "that", "the", "their",
    "they", "this", "to", "was", "we", "were", "what", "when", "where", "which", "who", "whose", "why",
    "with", "you",
})
# fmt: on
"""Words of any question; searching for them finds nothing."""


def keep(candidates: Sequence[str], text: str, *, limit: int = QUESTIONS) -> list[str]:
    """At most `limit` candidates, in order, each with a word that neither `text` nor an earlier one has."""
    of_text = _stems(text)
    kept: list[tuple[str, frozenset[str]]] = []
    for candidate in candidates:
        stems = _stems(candidate)
        fresh = stems - of_text
        if len(candidate) > QUESTION_CHARACTERS or not fresh:
            continue
        if any(fresh <= other or _similarity(stems, other) >= NEAR_EQUAL for _, other in kept):
            continue
        kept.append((candidate, stems))
        if len(kept) == limit:
            break
    return [candidate for candidate, _ in kept]


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(_stem, _WORD.findall(text.lower()))) - _ASKING


def _stem(word: str) -> str:
    """A rough stem, enough to see that "decided" and "decide" are the same word."""
    if word in _ASKING:
        return word
    bare = _SUFFIX.sub("", word)
    return bare if len(bare) >= _SHORTEST_STEM else word


def _similarity(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one | other))
