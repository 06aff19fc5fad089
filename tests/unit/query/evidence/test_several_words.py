"""A memory states a value in the words of the query only if it holds several of them."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from helix_query.recall.evidence.term_coverage import without_low_coverage
from helix_query.recall.query_words import QueryWords
from helix_shared.artifacts.hits import Hits

TEXTS = (
    "The boiler in the hall stands at sixty degrees",
    "A boiler, and sixty of them",
    "My boiler hums",
    "The hall is cold",
)


def kept(*scores: float, words: tuple[str, ...] = ("boiler", "hall", "sixti", "degre")) -> list[int]:
    """Ordinals that are left of the texts, covered as `scores` say."""
    lines = [{"ordinal": n, "text": text, "speaker": "", "title": ""} for n, text in enumerate(TEXTS)]
    read = SimpleNamespace(records=lambda ordinals: [lines[ordinal] for ordinal in ordinals.tolist()])
    asked = QueryWords(words, np.ones(len(words)), cast("Any", read))
    hits = Hits(np.arange(len(scores)), np.array(scores, np.float32))
    return without_low_coverage(hits, asked, min_coverage=0.5).ordinals.tolist()


def test_one_word_is_too_few_however_rare_it_is() -> None:
    """The third text holds the rarest word, which is .9 of the query."""
    assert kept(0.95, 0.92, 0.9) == [0, 1]


def test_two_words_count_where_they_are_most_of_the_query() -> None:
    """Else three."""
    assert kept(0.9, 0.8) == [0, 1]
    assert kept(0.9, 0.7) == [0]


def test_a_query_of_one_word_is_stated_by_nothing() -> None:
    """Any text may repeat it."""
    assert kept(1.0, 1.0, 1.0, words=("boiler",)) == []


def test_low_coverage_stays_for_the_explanation() -> None:
    """Such a memory states no value."""
    assert kept(0.9, 0.4, 0.4) == [0, 1, 2]


def test_nothing_found_stays_nothing() -> None:
    """No text is read."""
    assert kept() == []
