"""Who says the very words: living memories whose text holds the query word for word, in a row.

Who gives a line of a log, a sentence or a piece of code wants the memory it stands in, not the many that are
about the same. The lexicon tells who holds every word, their lines tell the order; stage 6 puts them first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.view import seen_hits
from helix_shared.artifacts.ranking import Hits

if TYPE_CHECKING:
    from helix_query.view import View
    from helix_shared.artifacts.lexicon import LexiconReader, OrdinalSet

LEAST_WORDS: Final = 5
"""Fewer words in a row stand in many texts and are no quotation."""
MOST_CHARACTERS: Final = 2_000
"""Of a query; a longer text is no quotation but a document."""
_WORD: Final = re.compile(r"\w+")


def is_quotation(query: str) -> bool:
    """Whether a query is long enough to be somebody's very words, and not too long."""
    if len(query) > MOST_CHARACTERS:
        return False
    words = _WORD.finditer(query)
    return sum(1 for _, _ in zip(range(LEAST_WORDS), words, strict=False)) == LEAST_WORDS


def quoted(
    query: str, view: View, *, lexicon: LexiconReader, limit: int, known: OrdinalSet | None = None
) -> Hits:
    """Of the `limit` memories that hold all words of `query` best those that hold them in a row.

    Capitals, punctuation and spaces count nothing; the score is that of the words. `known` as in `lexical`.
    """
    hits = seen_hits(
        lambda count: lexicon.holding(query, view.selection, limit=count, within=known),
        view.alive,
        limit=limit,
    )
    sought, lines = _in_a_row(query), view.signals.lines(hits.ordinals)
    saying = [line["ordinal"] for line in lines if sought in _in_a_row(f"{line['title']} {line['text']}")]
    kept = np.isin(hits.ordinals, saying)
    return Hits(hits.ordinals[kept], hits.scores[kept])


def _in_a_row(text: str) -> str:
    """The words of a text, each between two spaces."""
    return f" {' '.join(_WORD.findall(text.lower()))} "
