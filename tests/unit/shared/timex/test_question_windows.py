"""The window of a question, asked on Monday 8 May 2023, 13:56 UTC."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from helix_shared.timex import EARLIEST, LATEST, resolve_window

MONDAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def utc(moment: str) -> datetime:
    """A date or time without a zone, read as UTC."""
    return datetime.fromisoformat(moment).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What did we decide two weeks ago?", "2023-04-24", "2023-05-01"),
        ("What did Caroline do last March?", "2023-03-01", "2023-04-01"),
        ("Which trips did we make in 2022?", "2022-01-01", "2023-01-01"),
        ("What happened between March and May 2023?", "2023-03-01", "2023-06-01"),
        ("What happened from 2023-01-01 to 2023-02-01?", "2023-01-01", "2023-02-02"),
        ("What has changed since Monday?", "2023-05-01", "2023-05-08T13:56"),
        ("What has changed since the beginning of 2022?", "2022-01-01", "2023-05-08T13:56"),
        ("What was open before 2021-05-01?", EARLIEST, "2021-05-01"),
        ("What was open prior to 2021?", EARLIEST, "2021-01-01"),
        ("What was done before the end of March 2022?", EARLIEST, "2022-04-01"),
        ("What had we finished by last Friday?", EARLIEST, "2023-05-06"),
        ("What broke after 15 March 2022?", "2022-03-16", LATEST),
        ("What broke later than March 2022?", "2022-04-01", LATEST),
        ("What broke from March 2022 on?", "2022-03-01", LATEST),
        ("What broke after March and before June 2024?", "2023-04-01", "2024-06-01"),
        ("Compare 3 January 2022 with 5 March 2022", "2022-01-03", "2022-03-06"),
        ("What did we do on Friday last week?", "2023-05-05", "2023-05-06"),
        ("What are we doing on Friday?", "2023-05-12", "2023-05-13"),
        ("What did I say in the past week?", "2023-05-01", "2023-05-08T13:56"),
        ("since tomorrow", "2023-05-09", "2023-05-10"),
    ],
)
def test_a_question_has_one_window(question: str, start: str | datetime, end: str | datetime) -> None:
    """Opening words open a side; several windows are intersected, or spanned when apart."""
    expected = tuple(utc(edge) if isinstance(edge, str) else edge for edge in (start, end))

    assert expected == resolve_window(question, MONDAY)


WINTER = datetime(2023, 12, 18, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        # three days ahead of the reference, and 362 days behind it
        ("The office is closed from 21 December to 3 January", "2023-12-21", "2024-01-04"),
        ("I'm off from 21 December until 3 January", "2023-12-21", "2024-01-04"),
        ("It runs from 21 December to 2 January", "2023-12-21", "2024-01-03"),
        ("The office is closed from 21 December", "2023-12-21", LATEST),
        ("are we free from 21 December", "2023-12-21", LATEST),
        ("what is planned from 21 December?", "2023-12-21", LATEST),
        ("we will be away from 21 December", "2023-12-21", LATEST),
        # the past tense looks back, and a source is a day
        ("we were away from 21 December to 3 January", "2022-12-21", "2023-01-04"),
        ("prices went up from 21 December", "2022-12-21", "2022-12-22"),
        ("show the photos I have from 21 December", "2022-12-21", "2022-12-22"),
        ("what changed, starting from 21 December?", "2022-12-21", LATEST),
        # a month ago is nearer than eleven months ahead
        ("we were closed from 10 November to 15 November", "2023-11-10", "2023-11-16"),
        ("the shop is closed from 10 November to 15 November", "2023-11-10", "2023-11-16"),
    ],
)
def test_a_stretch_in_the_present_tense_is_the_near_one(
    question: str, start: str, end: str | datetime
) -> None:
    """A date without a year is in the past, but "is closed from" may also refer to the future."""
    expected = (utc(start), utc(end) if isinstance(end, str) else end)

    assert expected == resolve_window(question, WINTER)


@pytest.mark.parametrize(
    "question", ["When did Mel adopt the dog?", "How long ago was that?", "who may enter?"]
)
def test_a_question_without_a_time_has_no_window(question: str) -> None:
    """Asking for a time names none."""
    assert resolve_window(question, MONDAY) is None
