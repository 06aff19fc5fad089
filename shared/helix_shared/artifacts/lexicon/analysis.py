"""The analyser of the lexicon, for documents and queries alike.

Tokens of letters and digits, in lower case, without English function words, stemmed (Snowball English).
`languages` has the rules for other scripts and for accents, `exact_tokens` finds what must not be stemmed.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Final

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from helix_shared.artifacts.lexicon.languages import MOST_TOKEN_BYTES, is_plain, terms
from helix_shared.text.unicode_form import storable

ANALYSER: Final = "helix_scoped_words"
"""Name of the analyser in the index; a change of the rules needs a new name."""

# function words, and the parts into which the tokenizer splits contractions
_FUNCTION_WORDS: Final = """
a about after again all also am an and any are aren as at be because been before being between
both but by can couldn could d did didn do does doesn doing don down during each few for from
further had hadn has hasn have haven having he her here hers herself him himself his how i if in
into is isn it its itself just ll m me might mightn more most must mustn my myself needn no nor
not of off on once only or other our ours ourselves out over own re s same shan she should
shouldn so some such t than that the their theirs them themselves then there these they this
those through to too under until up us ve very was wasn we were weren what when where which
while who whom whose why will with won would wouldn you your yours yourself yourselves
"""
STOP_WORDS: Final = frozenset(_FUNCTION_WORDS.split())


def english() -> TextAnalyzer:
    """Build the analyser."""
    builder = TextAnalyzerBuilder(Tokenizer.simple())
    for step in (
        Filter.remove_long(MOST_TOKEN_BYTES),
        Filter.lowercase(),
        Filter.custom_stopword(sorted(STOP_WORDS)),
        Filter.stemmer("english"),
    ):
        builder = builder.filter(step)
    return builder.build()


def spaced() -> TextAnalyzer:
    """Build the analyser of the index itself, which splits analysed words at spaces."""
    return TextAnalyzerBuilder(Tokenizer.whitespace()).build()


def stems(text: str) -> list[str]:
    """The analysed words of a text, in order."""
    text = storable(text)
    if is_plain(text):
        return list(_shared().analyze(text))
    return list(terms(text, english=_shared(), stop_words=STOP_WORDS))


@cache
def _shared() -> TextAnalyzer:
    return english()


def idf(found: int, count: int) -> float:
    """Inverse document frequency in BM25 (Robertson, Zaragoza 2009) of a word in `found` of `count` texts."""
    return math.log1p((count - found + 0.5) / (found + 0.5))
