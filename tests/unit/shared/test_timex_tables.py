"""Sentences and questions with the time that a careful reader takes them to mean.

`time_sentences.tsv` and `time_questions.tsv` beside this file were written before the rules that read them.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from pathlib import Path

from helix.events import MessageEvent
from helix_ingest.score import event_times
from helix_shared.timex import EARLIEST, LATEST, find_time_expressions, resolve_window

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
    """Tell whether the event time of a sentence is the expected one."""
    reference = _said(said)
    message = MessageEvent(event_id="e", tenant_id="t", session_id="s", role="user", text=sentence)
    found_start, found_end = event_times(message, sentence, reference)[:2]
    if start == "none":
        return find_time_expressions(sentence, reference) == []
    if start == "open":
        return found_start is None
    if found_start is None or found_end is None:
        return False
    return start == found_start.date().isoformat() and end in ("", found_end.date().isoformat())


def _window_holds(asked: str, question: str, start: str, end: str) -> bool:
    """Tell whether the window of a question is the expected one."""
    reference = _said(asked)
    found = resolve_window(question, reference)
    if start == "none" or found is None:
        return start == "none" and found is None
    edges = {"*": (EARLIEST, LATEST), "now": (reference, reference)}
    first = edges[start][0] if start in edges else datetime.fromisoformat(start).replace(tzinfo=UTC)
    last = edges[end][1] if end in edges else datetime.fromisoformat(end).replace(tzinfo=UTC)
    return found == (first, last)


def test_sentences_are_dated_as_a_reader_dates_them() -> None:
    """The time of an event, for sentences of every tense; what a reader cannot tell stays without one."""
    rows = _rows("time_sentences.tsv")
    failed = [row for row in rows if not _holds(*row[:4])]

    assert len(rows) >= 150
    assert len(rows) - len(failed) >= 97, failed


def test_questions_speak_of_the_time_their_tense_tells() -> None:
    """A question in the past tense looks back, one in the present or future tense ahead."""
    rows = _rows("time_questions.tsv")
    failed = [row for row in rows if not _window_holds(*row[:4])]

    assert len(rows) >= 40
    assert len(rows) - len(failed) >= 30, failed
