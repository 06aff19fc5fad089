"""Who says the very words: living memories whose text holds the query word for word, in a row.

Who gives a line of a log, a sentence or a piece of code wants the memory it stands in, not the many that are
about the same. The lexicon tells who holds every word, their lines tell the order; stage 6 puts them first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from helix_query.recall.columns import NONE
from helix_query.recall.visibility import seen_hits
from helix_shared.artifacts.hits import Hits
from helix_shared.scripts import WORD
from helix_shared.unicode_form import normalised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.visibility import Visibility
    from helix_shared.artifacts.lexicon.query import OrdinalSet
    from helix_shared.artifacts.lexicon.reader import LexiconReader


def quoted(
    query: str,
    view: Visibility,
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
        lambda count: lexicon.search_all_words(query, view.selection, limit=count, within=known),
        lambda ordinals: view.alive(ordinals) & (view.signals.occurred_at[ordinals] <= happened_by),
        limit=limit,
        already=already,
    )
    fresh = ~np.isin(hits.ordinals, already)
    sought, lines = _in_a_row(query), view.signals.records(hits.ordinals[fresh])
    saying = [line["ordinal"] for line in lines if sought in _in_a_row(f"{line['title']} {line['text']}")]
    kept = np.isin(hits.ordinals, saying)
    return Hits(hits.ordinals[kept], hits.scores[kept])


def _in_a_row(text: str) -> str:
    """The words of a text, each between two spaces; so is each letter of a script without spaces."""
    return f" {' '.join(WORD.findall(normalised('NFKC', text).lower()))} "
