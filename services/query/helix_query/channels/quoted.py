"""Who says the very words: living memories whose text holds the query word for word, in a row.

Who gives a line of a log, a sentence or a piece of code wants the memory it stands in, not the many that are
about the same. The lexicon tells who holds every word, their lines tell the order; stage 6 puts them first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.columns import NONE
from helix_query.view import seen_hits
from helix_shared.artifacts.ranking import Hits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.view import View
    from helix_shared.artifacts.lexicon import LexiconReader, OrdinalSet

LEAST_WORDS: Final = 5
"""Fewer words in a row stand in many texts and are no quotation."""
MOST_CHARACTERS: Final = 2_000
"""Of a query; a longer text is no quotation but a document."""
_WORD: Final = re.compile(r"\w+")
_AUXILIARY = "is|are|am|was|were|do|does|did|can|could|will|would|shall|should|may|might|must|has|have|had"
_ASKED_OF = (
    r"i|you|we|he|she|they|it|the|an?|this|that|these|those|my|our|your|his|her|their|its|there|"
    r"any\w*|some\w*|every\w*|all"
)
_ASKS: Final = re.compile(
    # "why did we", "what is", "how to"; not "when deliveries pile up" or "which creates the next value"
    r"(?:who|whom|whose|what|when|where|why|how|which)"
    rf"(?:'s\b|(?: [\w-]+){{0,3}}? (?:{_AUXILIARY}|to|about)\b)|"
    # "could you", "is the"; not "could not resolve host" or "has been killed"
    rf"(?:{_AUXILIARY}) (?:{_ASKED_OF})\b|"
    # "find the notes", but no command such as "find . -name" and no heading such as "plan: 3"
    r"(?:please )?(?:list|name|show|tell|give|recommend|suggest|summari[sz]e|plan|help|pick|find|count|"
    r"describe|explain|remind|compare|walk) [a-z]",
    re.IGNORECASE,
)
_ENDS_A_QUESTION: Final = re.compile(r"[\w\"'\u2019\u201d]\s*\?+\s*$")


def is_quotation(query: str) -> bool:
    """Whether a query may be somebody's very words: long enough, not too long, and nothing that is asked.

    Who asks again what was asked before wants the answer, not the question.
    """
    if len(query) > MOST_CHARACTERS:
        return False
    words = sum(1 for _ in zip(range(LEAST_WORDS), _WORD.finditer(query), strict=False))
    text = " ".join(query.replace("\u2019", "'").split())
    return words == LEAST_WORDS and not _ENDS_A_QUESTION.search(text) and not _ASKS.match(text)


def quoted(
    query: str,
    view: View,
    *,
    lexicon: LexiconReader,
    limit: int,
    happened_by: int,
    known: OrdinalSet | None = None,
    already: NDArray[np.int64] = NONE,
) -> Hits:
    """Of the `limit` memories that hold all words of `query` best those that hold them in a row.

    Capitals, punctuation and spaces count nothing; the score is that of the words. Of what had happened by
    `happened_by` (microseconds) and the caller does not have already; `known` as in `lexical`.
    """
    hits = seen_hits(
        lambda count: lexicon.holding(query, view.selection, limit=count, within=known),
        lambda ordinals: view.alive(ordinals) & (view.signals.occurred_at[ordinals] <= happened_by),
        limit=limit,
        already=already,
    )
    fresh = ~np.isin(hits.ordinals, already)
    sought, lines = _in_a_row(query), view.signals.lines(hits.ordinals[fresh])
    saying = [line["ordinal"] for line in lines if sought in _in_a_row(f"{line['title']} {line['text']}")]
    kept = np.isin(hits.ordinals, saying)
    return Hits(hits.ordinals[kept], hits.scores[kept])


def _in_a_row(text: str) -> str:
    """The words of a text, each between two spaces."""
    return f" {' '.join(_WORD.findall(text.lower()))} "
