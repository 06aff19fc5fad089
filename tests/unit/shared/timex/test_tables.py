"""Sentences and questions with the time that a careful reader takes them to mean.

`time_sentences.tsv` and `time_questions.tsv` beside this file were written before the rules that read them.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from helix_ingest.extraction.score import event_times
from helix_memory.events import MessageEvent
from helix_shared.timex import EARLIEST, LATEST, find_time_expressions, resolve_window
from tests.unit.linear_time import repeated

_HERE = Path(__file__).parent
_COLUMNS = 5


def _rows(name: str) -> list[list[str]]:
    """Return the rows of a table, each padded to the same number of columns."""
    lines = (_HERE / name).read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.split(" | ")] for line in lines if not line.startswith("#")]
    return [row + [""] * (_COLUMNS - len(row)) for row in cells]


def _said(day: str) -> datetime:
    """Return 15:00 UTC of a day."""
    return datetime.combine(date.fromisoformat(day), time(15), UTC)


def _holds(said: str, sentence: str, start: str, end: str) -> bool:
    """Whether the event time of a sentence is the expected one."""
    reference = _said(said)
    message = MessageEvent(event_id="e", tenant_id="t", session_id="s", role="user", text=sentence)
    found_start, found_end, _ = event_times(message, sentence, reference)
    if start == "none":
        return find_time_expressions(sentence, reference) == []
    if start == "open":
        return found_start is None
    if found_start is None or found_end is None:
        return False
    return start == found_start.date().isoformat() and end in ("", found_end.date().isoformat())


def _label_holds(said: str, sentence: str, label: str) -> bool:
    """Whether the first time of a sentence and its certainty are as expected."""
    found = find_time_expressions(sentence, _said(said))
    return bool(found) and found[0].certainty == label


def _window_holds(asked: str, question: str, start: str, end: str) -> bool:
    """Whether the window of a question is the expected one."""
    reference = _said(asked)
    found = resolve_window(question, reference)
    if start == "none" or found is None:
        return start == "none" and found is None
    edges = {"*": (EARLIEST, LATEST), "now": (reference, reference)}
    first = edges[start][0] if start in edges else datetime.fromisoformat(start).replace(tzinfo=UTC)
    last = edges[end][1] if end in edges else datetime.fromisoformat(end).replace(tzinfo=UTC)
    return found == (first, last)


def test_sentences_are_dated_as_a_reader_dates_them() -> None:
    """The time of an event, for sentences of every tense; ambiguous sentences have none."""
    rows = _rows("time_sentences.tsv")
    failed = [row for row in rows if not _holds(*row[:4])]

    assert len(rows) >= 150
    assert failed == []


def test_questions_refer_to_the_time_of_their_tense() -> None:
    """A question in the past tense looks back, one in the present or future tense ahead."""
    rows = _rows("time_questions.tsv")
    failed = [row for row in rows if not _window_holds(*row[:4])]

    assert len(rows) >= 40
    assert failed == []


def test_a_default_is_labelled_as_a_guess() -> None:
    """A time given by the words or the tense is stated; one suggested by a noun like "dentist" is guessed."""
    rows = [row for row in _rows("time_sentences.tsv") if row[4]]
    failed = [row for row in rows if not _label_holds(row[0], row[1], row[4])]

    assert {"stated", "guessed"} == {row[4] for row in rows}
    assert failed == []


def test_a_question_is_read_in_the_zone_it_names() -> None:
    """At 23:30 UTC it is the next day in Auckland, where each day begins at 11:00 UTC of the day before."""
    asked = datetime(2026, 3, 18, 23, 30, tzinfo=UTC)
    auckland = ZoneInfo("Pacific/Auckland")

    here = resolve_window("What did I do today?", asked)
    there = resolve_window("What did I do today?", asked, zone=auckland)
    friday = resolve_window("What do I have on Friday?", asked, zone=auckland)

    assert here == (datetime(2026, 3, 18, tzinfo=UTC), datetime(2026, 3, 19, tzinfo=UTC))
    assert there == (datetime(2026, 3, 18, 11, tzinfo=UTC), datetime(2026, 3, 19, 11, tzinfo=UTC))
    assert friday == (datetime(2026, 3, 19, 11, tzinfo=UTC), datetime(2026, 3, 20, 11, tzinfo=UTC))


def test_a_day_of_the_zone_has_the_hours_of_its_clock() -> None:
    """Berlin's clock goes back on 25 October 2026: that day, read from UTC, has 25 hours."""
    told = datetime(2026, 10, 22, 9, tzinfo=UTC)

    (sunday,) = find_time_expressions("The race is on Sunday.", told, zone=ZoneInfo("Europe/Berlin"))

    assert (sunday.start, sunday.end) == (
        datetime(2026, 10, 24, 22, tzinfo=UTC),
        datetime(2026, 10, 25, 23, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    "piece",
    [
        "will ", "on Friday ", "we met and ", "is to be ", "had ", "a'b ", "'s ", ", ", "the 14th ",
        "14th of ", "decided to ", "going ", "\u2014", "I ", "first Friday of ", "in 3 days ",
        "dr. ", ".", "Ab Cd ",
    ],
    ids=repr,
)  # fmt: skip
def test_the_tense_of_hostile_text_costs_linear_time(piece: str, linear_patterns: Any) -> None:
    """Though each date looks around itself."""

    def read(text: str) -> None:
        find_time_expressions(f"{text} on Friday", _said("2026-03-18"), limit=len(text))

    assert not linear_patterns.failures(read, texts=repeated(piece), characters=20_000)
