from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from helix_query.recall.query_words import TEXT_CHARACTERS, QueryWords, words_of_line


def line(ordinal: int, text: str, *, speaker: str = "", title: str = "") -> dict[str, Any]:
    """The stored line of a memory."""
    return {"ordinal": ordinal, "text": text, "speaker": speaker, "title": title}


LINES = (
    line(3, "The boiler was serviced on Monday."),
    line(7, "Nothing to report.", speaker="Bernadette", title="Boiler room"),
)
RARITIES = np.array([1.0, 3.0, 4.0])
"""Of three words; the whole is 8."""


def asked(*lines: dict[str, Any], words: tuple[str, ...] = ("boiler", "servic", "bernadett")) -> QueryWords:
    """Words of a query over stored lines."""
    known = {one["ordinal"]: one for one in lines}
    signals = SimpleNamespace(
        records=lambda ordinals: [known[one] for one in ordinals.tolist() if one in known]
    )
    return QueryWords(words, RARITIES[: len(words)], cast("Any", signals))


def test_a_memory_holds_words_of_its_text_title_and_speaker() -> None:
    """As the lexicon has them in its field `text`: analysed, without endings."""
    found = asked(*LINES).held(np.array([3, 7, 9], np.int64))
    assert found.tolist() == [[True, True, False], [True, False, True], [False, False, False]]


def test_coverage_weighs_words_by_rarity() -> None:
    """(1 + 3) / 8 and (1 + 4) / 8; the rarest word held is 3 of 4, then 4 of 4."""
    words = asked(*LINES)
    found = words.held(np.array([3, 7], np.int64))
    assert words.coverage(found).tolist() == [0.5, 0.625]
    assert words.rarest(found).tolist() == [0.75, 1.0]


def test_a_query_without_words_covers_nothing() -> None:
    """Also where nothing was found."""
    words = asked(*LINES, words=())
    found = words.held(np.array([3], np.int64))
    assert (words.coverage(found).tolist(), words.rarest(found).tolist()) == ([0.0], [0.0])
    none = asked(*LINES)
    assert len(none.coverage(none.held(np.empty(0, np.int64)))) == 0
    assert len(none.rarest(none.held(np.empty(0, np.int64)))) == 0


@pytest.mark.parametrize("text", ["word " * 20_000, "x" * 100_000, "\ud800 \U0001f600 \u4e2d\u6587" * 10_000])
def test_a_long_text_costs_no_more_than_its_first_characters(text: str) -> None:
    """What lies beyond is not read."""
    assert "boiler" not in words_of_line(line(1, text + " boiler"))
    assert len(text) > TEXT_CHARACTERS
