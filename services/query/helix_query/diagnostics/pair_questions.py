"""Questions that two memories answer together, made of a tenant's own memories without a language model.

Two memories that mention the same name are drawn. The question is some words of each; the name is left out,
so what connects them is the name alone. Names are found in the texts, not in the graph that is measured. How
many words of the second memory a question has decides how much is left for the graph to find: hence two
`FORMS` (ops/decisions/0056).
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_shared.artifacts.lexicon.analysis import stems
from helix_shared.naming import find_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

TEXT_CHARACTERS: Final = 2_000
"""Characters of a memory that are read."""
MOST_MENTIONS: Final = 50
"""A name in more of the memories read connects too much to ask for."""
PAIRS_PER_NAME: Final = 3
"""Pairs drawn of one name at most."""
FORMS: Final = {"described": (4, 4), "hinted": (4, 1)}
"""Words of the first and of the second memory in a question, by form."""
SEED: Final = 20_260_101
NAME_KINDS: Final = frozenset({"name", "path", "symbol", "error", "issue"})
"""Dates and versions are left out: they seldom are what two memories are about."""

_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class PairQuestion:
    """A question and the ordinals of the two memories that it is made of."""

    text: str
    memories: tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Source:
    """What is asked of one memory: `words` in the order of the text, none twice."""

    ordinal: int
    event_id: str
    names: frozenset[str]
    words: tuple[str, ...]


def pair_questions(
    lines: Sequence[Mapping[str, Any]], words: tuple[int, int], *, count: int
) -> list[PairQuestion]:
    """Up to `count` questions from the records of some memories; the same lines give the same questions.

    No two memories are asked for twice, and none that has fewer words of its own than `words`.
    """
    drawn = np.random.default_rng(SEED)
    mentions: dict[str, list[_Source]] = {}
    for source in map(_source, lines):
        for name in sorted(source.names):
            mentions.setdefault(name, []).append(source)
    names = [name for name, sources in sorted(mentions.items()) if 2 <= len(sources) <= MOST_MENTIONS]  # noqa: PLR2004
    found: dict[tuple[int, ...], PairQuestion] = {}
    for name in [str(one) for _ in range(PAIRS_PER_NAME) for one in drawn.permutation(names)]:
        if len(found) == count:
            break
        sources = mentions[name]
        pair = [sources[place] for place in drawn.choice(len(sources), 2, replace=False)]
        if question := _question(name, pair, words, drawn):
            found.setdefault(tuple(sorted(question.memories)), question)
    return list(found.values())


def _source(line: Mapping[str, Any]) -> _Source:
    text = line["text"][:TEXT_CHARACTERS]
    names = find_names(f"{line['title']}. {text}" if line["title"] else text)
    return _Source(
        line["ordinal"],
        line["event_id"],
        frozenset(name.name for name in names if name.kind in NAME_KINDS),
        tuple(dict.fromkeys(_content_words(text))),
    )


def _content_words(text: str) -> Iterator[str]:
    """Words that the lexical channel searches for."""
    return (word for word in _WORD.findall(text) if len(word) > 1 and stems(word))


def _question(
    name: str, pair: Sequence[_Source], words: tuple[int, int], drawn: np.random.Generator
) -> PairQuestion | None:
    """None for two pieces of one event, or where a memory has too few words of its own."""
    first, second = pair
    left_out = {*stems(name)} | ({*_stems(first.words)} & {*_stems(second.words)})
    own = [[word for word in one.words if not left_out.intersection(stems(word))] for one in pair]
    if first.event_id == second.event_id or any(map(operator.lt, map(len, own), words)):
        return None
    chosen = [
        [mine[at] for at in sorted(drawn.choice(len(mine), count, replace=False))]
        for mine, count in zip(own, words, strict=True)
    ]
    return PairQuestion(", ".join(map(" ".join, chosen)) + "?", (first.ordinal, second.ordinal))


def _stems(words: Sequence[str]) -> Iterator[str]:
    return (stem for word in words for stem in stems(word))
