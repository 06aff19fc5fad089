"""Which entities the first evidence points to, as the question asks: the second hop, by rules.

"Who is the mother of the director of X": the text on X says "directed by Y", so Y is where to look
next, and not the actors X names as well. A name counts by how near it stands to a word the question
uses, or to one of the same relation ("director", "directed"). `expand` walks on from there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import Final

from helix_shared.naming import canonical, find_names

Stems = Callable[[str], Sequence[str]]

REACH_CHARACTERS: Final = 60
"""A name further from every asked word is not what the question means."""
HALF_CHARACTERS: Final = 10.0
"""At this distance a name counts half."""
BEHIND: Final = 2
"""A name in front of its relation ("Y directed it") counts as if it were so much further away."""
RANK_STEP: Final = 0.2
TEXT_CHARACTERS: Final = 4_000

RELATIONS: Final = (
    "director directed direct",
    "author writer written wrote writes novel book",
    "composer composed music compose",
    "performer singer artist song recorded sung performed band",
    "producer produced",
    "father mother parent son daughter born child",
    "child son daughter father mother",
    "grandfather grandmother son daughter grandson",
    "stepmother stepfather father married",
    "brother sister sibling",
    "husband wife spouse married consort queen widow",
    "founder founded established",
    "star starring starred actor actress cast",
    "creator created",
    "publisher published",
    "owner owned",
    "capital city located",
    "club team played",
    "manager manages managed reports lead leads",
    "maintainer maintains maintained owner owns",
    "employer company works worked joined",
)
"""Words that tell the same relation from its two ends; the first three of a line are what is asked for."""
ASKED_FOR: Final = 3

_WORD: Final = re.compile(r"[\w']+")


def bridges(
    query: str, known: Collection[str], evidence: Iterable[tuple[str, str]], *, stems: Stems
) -> dict[str, float]:
    """Canonical names to look at next, above 0 to 1 each; `evidence` are (title, text), best first.

    `known` are canonical names the question names already; their words ask for nothing. `stems` is the
    lexicon's analyser.
    """
    asked = _asked(query, known, stems)
    found: dict[str, float] = {}
    for rank, (title, text) in enumerate(evidence):
        passed_over = {*known, canonical(title)}
        for name, distance in _near(text[:TEXT_CHARACTERS], asked, stems).items():
            if name not in passed_over:
                worth = 1.0 / (1.0 + distance / HALF_CHARACTERS) / (1.0 + RANK_STEP * rank)
                found[name] = max(found.get(name, 0.0), worth)
    return found


def _asked(query: str, known: Collection[str], stems: Stems) -> frozenset[str]:
    named = {word for name in known for word in _WORD.findall(name)}
    words = [word for word in _WORD.findall(query) if word.lower() not in named]
    asked = {stem for word in words for stem in stems(word)}
    related = [line for line in _relations(stems) if asked & line[0]]
    return frozenset(asked.union(*(line[1] for line in related)))


def _near(text: str, asked: frozenset[str], stems: Stems) -> dict[str, float]:
    """Distance in characters of each name to the nearest asked word, of those within reach."""
    spans = [match.span() for match in _WORD.finditer(text) if asked.intersection(stems(match[0]))]
    near: dict[str, float] = {}
    for name in find_names(text) if spans else ():
        start, end = name.span
        distances = [_distance(start, end, span) for span in spans]
        nearest = min(distances)
        if nearest < REACH_CHARACTERS:
            near[name.name] = min(near.get(name.name, nearest), nearest)
    return near


def _distance(start: int, end: int, word: tuple[int, int]) -> float:
    if start >= word[1]:
        return start - word[1]
    if word[0] >= end:
        return BEHIND * (word[0] - end)
    return 0.0


@cache
def _relations(stems: Stems) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Stems that ask for a relation, and all that tell it."""

    def of(words: Sequence[str]) -> frozenset[str]:
        return frozenset(stem for word in words for stem in stems(word))

    lines = [line.split() for line in RELATIONS]
    return tuple((of(line[:ASKED_FOR]), of(line)) for line in lines)
