"""Any text gives valid expressions in linear time."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helix_shared.timex import find_time_expressions, resolve_window
from tests.examples import examples
from tests.unit.linear_time import repeated

MONDAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)

WORDS = [
    "in", "on", "since", "from", "to", "between", "and", "before", "after", "the", "of", "last", "this",
    "next", "past", "a", "an", "half", "few", "couple", "two", "12", "31", "9999", "0", "2023", "1999",
    "weeks", "week", "day", "years", "hours", "decade", "ago", "later", "from now", "March", "may", "May",
    "Feb", "29", "30th", "Friday", "sat", "weekend", "winter", "Q4", "yesterday", "tomorrow", "night",
    "morning", "today", "earlier", "will", "year", "2024-02-30", "9999-12-31", "0001-01-01", "1/31/2020",
    "2023-05-08T10:00:00+23:59", "-", "\u2013", ",", ".", "(", "\n", "1990s",
    "'98", "Friday the 13th", "the end of the month", "1/31/98", "twenty-one", "2024-03-04 10:00+02 PST",
]  # fmt: skip
TEXTS = st.one_of(
    st.text(),
    st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join),
    st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=3)), max_size=14).map("".join),
)
ZONES = [UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-12)), ZoneInfo("America/St_Johns")]
REFERENCES = st.datetimes(
    min_value=datetime.min,  # noqa: DTZ901 the zone is drawn beside it
    max_value=datetime.max,  # noqa: DTZ901 the zone is drawn beside it
    timezones=st.sampled_from(ZONES),
)


@settings(max_examples=examples(1500), deadline=None)
@given(text=TEXTS, reference=REFERENCES)
@example(text="yesterday", reference=datetime.min.replace(tzinfo=ZONES[1]))
@example(text="tomorrow", reference=datetime.max.replace(tzinfo=ZONES[2]))
def test_any_text_gives_sound_expressions_and_never_an_error(text: str, reference: datetime) -> None:
    """Start before end, UTC, spans that cut the text, in order, apart."""
    found = find_time_expressions(text, reference)
    window = resolve_window(text, reference)

    assert all(e.start < e.end for e in found)
    assert all(e.start.tzinfo is UTC and e.end.tzinfo is UTC for e in found)
    assert all(e.text == text[slice(*e.span)] and e.text for e in found)
    assert all(one.span[1] <= two.span[0] for one, two in pairwise(found))
    assert (window is None) == (not found)
    assert window is None or window[0] < window[1]


@pytest.mark.parametrize(
    "piece",
    [
        "1", "1 ", "12-", "2022-", "2022-01-", "([{", " ", "in ", "in" + " " * 9_000, "a ", "last ",
        "the week before ", "two weeks before ", "2 or ", "from march to ", "march ", "May, ", "friday, ",
        "2024-02-30 ", "\u0130a", "'98 ", "friday the 13th ", "by the end of the month ", "twenty-one ",
    ],
    ids=lambda piece: repr(piece[:20]),
)  # fmt: skip
def test_hostile_text_costs_linear_time(piece: str, linear_patterns: Any) -> None:
    """Texts that are read to their end, whatever they hold."""

    def read(text: str) -> None:
        find_time_expressions(text, MONDAY, limit=len(text))

    assert not linear_patterns.failures(read, texts=repeated(piece), characters=10_000)


def test_an_ordinary_turn_costs_microseconds() -> None:
    """Bars of 50 and 300 microseconds, widened fivefold for a busy machine."""
    plain = "We talked about the new recipe and how much water it needs, because the dough was a bit too dry."
    turn = "Yesterday I went to the group. Two weeks ago we signed up, and next month we will go camping."

    def mean_us(text: str) -> float:
        begin = time.thread_time()
        for _ in range(200):
            find_time_expressions(text, MONDAY)
        return (time.thread_time() - begin) / 200 * 1e6

    assert min(mean_us(plain) for _ in range(5)) < 250
    assert min(mean_us(turn) for _ in range(5)) < 1500
