"""Bridge entities: the names in the first evidence that lead to the second hop of a question, by rules.

For "who is the mother of the director of X" the text about X says "directed by Y". Y is the bridge, the
actors named in the same text are not. A name counts by its distance to a word of the question, or to a
word of the same relation ("director", "directed"). `expand` continues the walk from these entities.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import Final

from helix_shared.naming import canonical, find_names

Stems = Callable[[str], Sequence[str]]

MAX_DISTANCE: Final = 60
"""Characters from a word of the question; a name farther away from all of them does not count."""
HALF_DISTANCE: Final = 10.0
"""Characters at which a name counts half."""
BEFORE_FACTOR: Final = 2
"""Factor on the distance of a name in front of the word ("Y directed it")."""
RANK_STEP: Final = 0.2
"""A name in the evidence of rank r counts 1 / (1 + this x r), r from 0."""
TEXT_CHARACTERS: Final = 4_000
"""Characters of each text that are read."""

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
"""Words for the two ends of a relation, a relation a line; the question uses one of the first three."""
QUESTION_WORDS: Final = 3

_WORD: Final = re.compile(r"[\w']+")


def bridges(
    query: str, named: Collection[str], evidence: Iterable[tuple[str, str]], *, stems: Stems
) -> dict[str, float]:
    """Canonical names of bridge entities with their weights, above 0 up to 1.

    `named` are the canonical names in the query; their words are not matched. `evidence` are (title, text)
    pairs, best first. `stems` is the lexicon's analyser.
    """
    asked = _question_stems(query, named, stems)
    found: dict[str, float] = {}
    for rank, (title, text) in enumerate(evidence):
        excluded = {*named, canonical(title)}
        for name, distance in _near(text[:TEXT_CHARACTERS], asked, stems).items():
            if name not in excluded:
                weight = 1.0 / (1.0 + distance / HALF_DISTANCE) / (1.0 + RANK_STEP * rank)
                found[name] = max(found.get(name, 0.0), weight)
    return found


def _question_stems(query: str, named: Collection[str], stems: Stems) -> frozenset[str]:
    """Stems of the words of the query without names, and of the relations that they ask for."""
    in_names = {word for name in named for word in _WORD.findall(name)}
    words = [word for word in _WORD.findall(query) if word.lower() not in in_names]
    asked = {stem for word in words for stem in stems(word)}
    related = [line for line in _relations(stems) if asked & line[0]]
    return frozenset(asked.union(*(line[1] for line in related)))


def _near(text: str, asked: frozenset[str], stems: Stems) -> dict[str, float]:
    """Distance in characters of each name to the nearest asked word, below `MAX_DISTANCE`."""
    spans = [match.span() for match in _WORD.finditer(text) if asked.intersection(stems(match[0]))]
    near: dict[str, float] = {}
    for name in find_names(text) if spans else ():
        start, end = name.span
        distances = [_distance(start, end, span) for span in spans]
        nearest = min(distances)
        if nearest < MAX_DISTANCE:
            near[name.name] = min(near.get(name.name, nearest), nearest)
    return near


def _distance(start: int, end: int, word: tuple[int, int]) -> float:
    if start >= word[1]:
        return start - word[1]
    if word[0] >= end:
        return BEFORE_FACTOR * (word[0] - end)
    return 0.0


@cache
def _relations(stems: Stems) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """For each relation the stems that a question uses, and all of its stems."""

    def of(words: Sequence[str]) -> frozenset[str]:
        return frozenset(stem for word in words for stem in stems(word))

    lines = [line.split() for line in RELATIONS]
    return tuple((of(line[:QUESTION_WORDS]), of(line)) for line in lines)
