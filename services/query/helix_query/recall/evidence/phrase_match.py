"""Phrase match: visible memories whose text holds the query word for word, in a row.

A pasted log line, sentence or piece of code should find the memory that contains it verbatim. The lexicon
finds the memories with all of its words, their texts show the order; stage 6 puts them first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from helix_query.recall.visibility import NO_ORDINALS, visible_hits
from helix_shared.artifacts.hits import Hits
from helix_shared.text.scripts import WORD
from helix_shared.text.unicode_form import normalised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.visibility import Visibility
    from helix_shared.artifacts.lexicon.query import OrdinalSet
    from helix_shared.artifacts.lexicon.reader import LexiconReader


def phrase_match(
    text: str,
    visibility: Visibility,
    *,
    lexicon: LexiconReader,
    limit: int,
    occurred_until: int,
    within: OrdinalSet | None = None,
    already_served: NDArray[np.int64] = NO_ORDINALS,
) -> Hits:
    """The memories that hold the words of `text` in a row, among the `limit` best with all of its words.

    Case, punctuation and white space do not count; the score is the lexicon's. Only memories that had
    happened by `occurred_until` (microseconds) and are not `already_served`; `within` as in `LexiconReader`.
    """
    hits = visible_hits(
        lambda count: lexicon.search_all_words(text, visibility.selection, limit=count, within=within),
        lambda ordinals: visibility.is_valid_and_occurred(ordinals, occurred_until),
        limit=limit,
        already_served=already_served,
    )
    fresh = ~np.isin(hits.ordinals, already_served)
    sought, lines = _in_a_row(text), visibility.signals.records(hits.ordinals[fresh])
    holding = [line["ordinal"] for line in lines if sought in _in_a_row(f"{line['title']} {line['text']}")]
    kept = np.isin(hits.ordinals, holding)
    return Hits(hits.ordinals[kept], hits.scores[kept])


def _in_a_row(text: str) -> str:
    """The words of a text, each between two spaces; so is each letter of a script without spaces."""
    return f" {' '.join(WORD.findall(normalised('NFKC', text).lower()))} "
