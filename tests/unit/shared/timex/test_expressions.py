"""Expected windows are worked out by hand on the calendar of the reference, Monday 8 May 2023, 13:56 UTC.

     April 2023                May 2023
Mo Tu We Th Fr Sa Su     Mo Tu We Th Fr Sa Su
17 18 19 20 21 22 23      1  2  3  4  5  6  7
24 25 26 27 28 29 30     [8] 9 10 11 12 13 14
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from helix_shared.timex import find_time_expressions, resolve_window

MONDAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
FRIDAY = datetime(2023, 10, 20, 9, 0, tzinfo=UTC)


def utc(moment: str) -> datetime:
    """Read a date or a datetime without a zone as UTC."""
    return datetime.fromisoformat(moment).replace(tzinfo=UTC)


ONE_EXPRESSION = [
    # text, expression, start, end, grain and direction
    ("It broke on 2024-03-15.", "2024-03-15", "2024-03-15", "2024-03-16", "day absolute"),
    ("released 2024/03/15", "2024/03/15", "2024-03-15", "2024-03-16", "day absolute"),
    ("[2024-03-15T10:22:00Z] up", "2024-03-15T10:22:00Z",
     "2024-03-15T10:22:00", "2024-03-15T10:22:01", "second absolute"),
    ("2024-03-15T10:22:00.123+02:00", "2024-03-15T10:22:00.123+02:00",
     "2024-03-15T08:22:00", "2024-03-15T08:22:01", "second absolute"),
    ("at 2024-03-15 10:22:00+02 it", "2024-03-15 10:22:00+02",
     "2024-03-15T08:22:00", "2024-03-15T08:22:01", "second absolute"),
    ("2024-03-15 10:22 PST", "2024-03-15 10:22 PST",
     "2024-03-15T18:22", "2024-03-15T18:23", "minute absolute"),
    ("2024-03-15 10:22 west of here", "2024-03-15 10:22",
     "2024-03-15T10:22", "2024-03-15T10:23", "minute absolute"),
    ("2024-03-15 09:00-17:00", "2024-03-15 09:00-17:00",
     "2024-03-15T09:00", "2024-03-15T17:00", "range absolute"),
    ("2024-03-15T09:00-11:00", "2024-03-15T09:00-11:00",
     "2024-03-15T20:00", "2024-03-15T20:01", "minute absolute"),
    ("2024-03-15 10:22 UTC+2", "2024-03-15 10:22 UTC+2",
     "2024-03-15T08:22", "2024-03-15T08:23", "minute absolute"),
    ("2024-03-15 10:22 GMT-05:30 it", "2024-03-15 10:22 GMT-05:30",
     "2024-03-15T15:52", "2024-03-15T15:53", "minute absolute"),
    ("2024-03-15 08:30 PM", "2024-03-15 08:30 PM",
     "2024-03-15T20:30", "2024-03-15T20:31", "minute absolute"),
    ("2024-03-15 12:05:00 a.m. PST", "2024-03-15 12:05:00 a.m. PST",
     "2024-03-15T08:05", "2024-03-15T08:05:01", "second absolute"),
    ("2024-03-15 09:00 - 10:30", "2024-03-15 09:00 - 10:30",
     "2024-03-15T09:00", "2024-03-15T10:30", "range absolute"),
    ("2024-03-15 22:00 to 02:00 CET", "2024-03-15 22:00 to 02:00 CET",
     "2024-03-15T21:00", "2024-03-16T01:00", "range absolute"),
    ("2024-03-15 20:00-24:00", "2024-03-15 20:00-24:00",
     "2024-03-15T20:00", "2024-03-16", "range absolute"),
    ("2024-03-15 02:00\u201305:00 pm", "2024-03-15 02:00\u201305:00 pm",
     "2024-03-15T14:00", "2024-03-15T17:00", "range absolute"),
    ("2024-03-15 09:00 - 2024-03-16 10:00", "2024-03-15 09:00 - 2024-03-16 10:00",
     "2024-03-15T09:00", "2024-03-16T10:01", "range absolute"),
    ("at 2024-03-15 10:22 it", "2024-03-15 10:22", "2024-03-15T10:22", "2024-03-15T10:23", "minute absolute"),
    ("March 15, 2024", "March 15, 2024", "2024-03-15", "2024-03-16", "day absolute"),
    ("15 March 2024", "15 March 2024", "2024-03-15", "2024-03-16", "day absolute"),
    ("dated 15-Mar-2024", "15-Mar-2024", "2024-03-15", "2024-03-16", "day absolute"),
    ("on the 15th of March", "15th of March", "2023-03-15", "2023-03-16", "day past"),
    ("on March 15 I left", "March 15", "2023-03-15", "2023-03-16", "day past"),
    ("we will leave on March 15", "March 15", "2024-03-15", "2024-03-16", "day future"),
    ("Born Dec. 25, 1999", "Dec. 25, 1999", "1999-12-25", "1999-12-26", "day absolute"),
    ("on 13/04/2024", "13/04/2024", "2024-04-13", "2024-04-14", "day absolute"),
    ("on 04/13/2024", "04/13/2024", "2024-04-13", "2024-04-14", "day absolute"),
    ("on 05/05/2024", "05/05/2024", "2024-05-05", "2024-05-06", "day absolute"),
    ("01/02/2024 to 31/12/2024", "01/02/2024 to 31/12/2024", "2024-02-01", "2025-01-01", "range absolute"),
    ("01/02/2024 - 12/31/2024", "01/02/2024 - 12/31/2024", "2024-01-02", "2025-01-01", "range absolute"),
    ("03/04/2024 (not 13.04.2024)", "13.04.2024", "2024-04-13", "2024-04-14", "day absolute"),
    ("on Feb 29", "Feb 29", "2020-02-29", "2020-03-01", "day past"),
    ("Date:   Wed Nov 20 09:00:00 2019 +0100", "Wed Nov 20 09:00:00 2019",
     "2019-11-20", "2019-11-21", "day absolute"),
    ("Wed Nov 20 09:00:00 CET 2019", "Wed Nov 20 09:00:00 CET 2019",
     "2019-11-20", "2019-11-21", "day absolute"),
    ("Monday, May 8, 2023 was fun", "Monday, May 8, 2023", "2023-05-08", "2023-05-09", "day absolute"),
    ("March 3-5, 2024", "March 3-5, 2024", "2024-03-03", "2024-03-06", "range absolute"),
    ("from 3 to 10 March 2023", "3 to 10 March 2023", "2023-03-03", "2023-03-11", "range absolute"),
    ("March 2024 was wet", "March 2024", "2024-03-01", "2024-04-01", "month absolute"),
    ("released in 2022-12", "2022-12", "2022-12-01", "2023-01-01", "month absolute"),
    ("I moved in March", "March", "2023-03-01", "2023-04-01", "month past"),
    ("I moved in may", "may", "2023-05-01", "2023-06-01", "month present"),
    ("I moved in June", "June", "2022-06-01", "2022-07-01", "month past"),
    ("I will move in June", "June", "2023-06-01", "2023-07-01", "month future"),
    ("last March", "last March", "2023-03-01", "2023-04-01", "month past"),
    ("last May", "last May", "2022-05-01", "2022-06-01", "month past"),
    ("we are going next April", "next April", "2024-04-01", "2024-05-01", "month future"),
    ("this May", "this May", "2023-05-01", "2023-06-01", "month present"),
    ("March last year", "March last year", "2022-03-01", "2022-04-01", "month past"),
    ("what happened in 2022?", "2022", "2022-01-01", "2023-01-01", "year absolute"),
    ("since mid-2022", "2022", "2022-01-01", "2023-01-01", "year absolute"),
    ("in the 1990s", "1990s", "1990-01-01", "2000-01-01", "range absolute"),
    ("revenue of Q3 2023", "Q3 2023", "2023-07-01", "2023-10-01", "quarter absolute"),
    ("the third quarter of 2022", "third quarter of 2022", "2022-07-01", "2022-10-01", "quarter absolute"),
    ("in Q1", "Q1", "2023-01-01", "2023-04-01", "quarter past"),
    ("last quarter", "last quarter", "2023-01-01", "2023-04-01", "quarter past"),
    ("the summer of 2022", "summer of 2022", "2022-06-01", "2022-09-01", "season absolute"),
    ("winter 2022", "winter 2022", "2022-12-01", "2023-03-01", "season absolute"),
    ("last summer", "last summer", "2022-06-01", "2022-09-01", "season past"),
    ("last winter", "last winter", "2022-12-01", "2023-03-01", "season past"),
    ("this spring", "this spring", "2023-03-01", "2023-06-01", "season present"),
    ("today", "today", "2023-05-08", "2023-05-09", "day present"),
    ("I went there yesterday", "yesterday", "2023-05-07", "2023-05-08", "day past"),
    ("Tomorrow we fly", "Tomorrow", "2023-05-09", "2023-05-10", "day future"),
    ("tonight", "tonight", "2023-05-08T18:00", "2023-05-09T06:00", "range future"),
    ("this morning", "this morning", "2023-05-08T05:00", "2023-05-08T12:00", "range past"),
    ("last night", "last night", "2023-05-07T18:00", "2023-05-08T06:00", "range past"),
    ("yesterday evening", "yesterday evening", "2023-05-07T17:00", "2023-05-08", "range past"),
    ("Tuesday night", "Tuesday night", "2023-05-02T18:00", "2023-05-03T06:00", "range past"),
    ("the day before yesterday", "the day before yesterday", "2023-05-06", "2023-05-07", "day past"),
    ("the day after tomorrow", "the day after tomorrow", "2023-05-10", "2023-05-11", "day future"),
    ("last week", "last week", "2023-05-01", "2023-05-08", "week past"),
    ("this week", "this week", "2023-05-08", "2023-05-15", "week present"),
    ("next month", "next month", "2023-06-01", "2023-07-01", "month future"),
    ("last year", "last year", "2022-01-01", "2023-01-01", "year past"),
    ("last weekend", "last weekend", "2023-05-06", "2023-05-08", "range past"),
    ("this weekend", "this weekend", "2023-05-13", "2023-05-15", "range future"),
    ("the week before last", "the week before last", "2023-04-24", "2023-05-01", "week past"),
    ("last Tuesday", "last Tuesday", "2023-05-02", "2023-05-03", "day past"),
    ("last Monday", "last Monday", "2023-05-01", "2023-05-02", "day past"),
    ("we met on Friday", "Friday", "2023-05-05", "2023-05-06", "day past"),
    ("we will meet on Friday", "Friday", "2023-05-12", "2023-05-13", "day future"),
    ("we met on Friday the 13th", "Friday the 13th", "2023-01-13", "2023-01-14", "day past"),
    ("see you on Friday the 13th", "Friday the 13th", "2023-10-13", "2023-10-14", "day future"),
    ("on Tuesday the 13th of next month", "Tuesday the 13th of next month",
     "2023-06-13", "2023-06-14", "day future"),
    ("Please send it by the end of the month", "month", "2023-05-01", "2023-06-01", "month present"),
    ("on 13/04/24", "13/04/24", "2024-04-13", "2024-04-14", "day absolute"),
    ("back in \u201998", "\u201998", "1998-01-01", "1999-01-01", "year absolute"),
    ("the summer of '09", "summer of '09", "2009-06-01", "2009-09-01", "season absolute"),
    ("music of the '60s", "'60s", "1960-01-01", "1970-01-01", "range absolute"),
    ("this coming Friday", "this coming Friday", "2023-05-12", "2023-05-13", "day future"),
    ("next Monday", "next Monday", "2023-05-15", "2023-05-16", "day future"),
    ("Friday of last week", "Friday of last week", "2023-05-05", "2023-05-06", "day past"),
    ("on Tuesday last week", "Tuesday last week", "2023-05-02", "2023-05-03", "day past"),
    ("30 seconds ago", "30 seconds ago", "2023-05-08T13:55:30", "2023-05-08T13:55:31", "second past"),
    ("10 minutes ago", "10 minutes ago", "2023-05-08T13:46", "2023-05-08T13:47", "minute past"),
    ("half an hour ago", "half an hour ago", "2023-05-08T13:26", "2023-05-08T13:27", "minute past"),
    ("an hour ago", "an hour ago", "2023-05-08T12:00", "2023-05-08T13:00", "hour past"),
    ("3 days ago", "3 days ago", "2023-05-05", "2023-05-06", "day past"),
    ("a couple of days ago", "a couple of days ago", "2023-05-06", "2023-05-07", "day past"),
    ("3-4 days ago", "3-4 days ago", "2023-05-04", "2023-05-06", "range past"),
    ("two weeks ago", "two weeks ago", "2023-04-24", "2023-05-01", "week past"),
    ("a few months ago", "a few months ago", "2023-01-01", "2023-04-01", "range past"),
    ("twelve months ago", "twelve months ago", "2022-05-01", "2022-06-01", "month past"),
    ("a year ago", "a year ago", "2022-01-01", "2023-01-01", "year past"),
    ("a year and two months ago", "a year and two months ago", "2022-03-01", "2022-04-01", "month past"),
    ("twenty-one days ago", "twenty-one days ago", "2023-04-17", "2023-04-18", "day past"),
    ("a hundred and twenty days ago", "a hundred and twenty days ago",
     "2023-01-08", "2023-01-09", "day past"),
    ("five-six days ago", "five-six days ago", "2023-05-02", "2023-05-04", "range past"),
    ("a decade ago", "a decade ago", "2013-01-01", "2014-01-01", "year past"),
    ("in 3 days", "in 3 days", "2023-05-11", "2023-05-12", "day future"),
    ("two weeks from now", "two weeks from now", "2023-05-22", "2023-05-29", "week future"),
    ("three days later", "three days later", "2023-05-11", "2023-05-12", "day future"),
    ("earlier this month", "earlier this month", "2023-05-01", "2023-05-08T13:56", "range past"),
    ("earlier today", "earlier today", "2023-05-08", "2023-05-08T13:56", "range past"),
    ("later this week", "later this week", "2023-05-08T13:56", "2023-05-15", "range future"),
    ("in the last two weeks", "last two weeks", "2023-04-24", "2023-05-08T13:56", "range past"),
    ("over the past month", "past month", "2023-04-08", "2023-05-08T13:56", "range past"),
    ("the past 24 hours", "past 24 hours", "2023-05-07T13:56", "2023-05-08T13:56", "range past"),
    ("the next three days", "next three days", "2023-05-08T13:56", "2023-05-12", "range future"),
    ("two weeks before 2023-05-01", "two weeks before 2023-05-01",
     "2023-04-17", "2023-04-24", "week absolute"),
    ("the week before 9 June 2023", "the week before 9 June 2023",
     "2023-06-02", "2023-06-09", "week absolute"),
    ("3 days after May 1", "3 days after May 1", "2023-05-04", "2023-05-05", "day past"),
    ("the Friday before 15 July 2023", "the Friday before 15 July 2023",
     "2023-07-14", "2023-07-15", "day absolute"),
    ("the weekend after 1 May 2023", "the weekend after 1 May 2023",
     "2023-05-06", "2023-05-08", "range absolute"),
    ("the week of 9 June 2023", "the week of 9 June 2023", "2023-06-05", "2023-06-12", "week absolute"),
    ("between March and May 2023", "between March and May 2023",
     "2023-03-01", "2023-06-01", "range absolute"),
    ("from April to June", "from April to June", "2023-04-01", "2023-07-01", "range present"),
    ("from November to February", "from November to February", "2022-11-01", "2023-03-01", "range past"),
    ("from Monday to Friday", "from Monday to Friday", "2023-05-01", "2023-05-06", "range past"),
    ("Oct 2021 to Feb 2022", "Oct 2021 to Feb 2022", "2021-10-01", "2022-03-01", "range absolute"),
    ("from 2019 to 2021", "from 2019 to 2021", "2019-01-01", "2022-01-01", "range absolute"),
    ("from 3 January 2020 to the 20th", "from 3 January 2020 to the 20th",
     "2020-01-03", "2020-01-21", "range past"),
    ("from 31 January 2021 to the 30th", "from 31 January 2021 to the 30th",
     "2021-01-31", "2021-03-01", "range past"),
    ("9990-01-10 to the 3rd", "9990-01-10 to the 3rd", "9990-01-10", "9990-02-04", "range future"),
    ("between last Monday and yesterday", "between last Monday and yesterday",
     "2023-05-01", "2023-05-08", "range past"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expression", "start", "end", "kind"), ONE_EXPRESSION)
def test_an_expression_is_found_and_resolved(
    text: str, expression: str, start: str, end: str, kind: str
) -> None:
    """One expression, its words, its window, its grain and its direction."""
    found = [
        (e.text, e.start, e.end, f"{e.grain} {e.direction}") for e in find_time_expressions(text, MONDAY)
    ]

    assert [(expression, utc(start), utc(end), kind)] == found


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        # Friday 20 October 2023: its week is 16 to 22 October
        ("last Tuesday", "2023-10-17", "2023-10-18"),
        ("last Friday", "2023-10-13", "2023-10-14"),
        ("on Friday", "2023-10-13", "2023-10-14"),
        ("this Friday", "2023-10-20", "2023-10-21"),
        ("next Sunday", "2023-10-22", "2023-10-23"),
        ("last weekend", "2023-10-14", "2023-10-16"),
        ("this summer", "2023-06-01", "2023-09-01"),
        ("next summer", "2024-06-01", "2024-09-01"),
        ("next winter", "2023-12-01", "2024-03-01"),
        ("in winter", "2022-12-01", "2023-03-01"),
        ("next October", "2024-10-01", "2024-11-01"),
        ("in 3 months", "2024-01-01", "2024-02-01"),
        ("8 months ago", "2023-02-01", "2023-03-01"),
    ],
)
def test_the_reference_moves_the_window(text: str, start: str, end: str) -> None:
    """The same words mean other days on a Friday in autumn."""
    (found,) = find_time_expressions(text, FRIDAY)

    assert (utc(start), utc(end)) == (found.start, found.end)


@pytest.mark.parametrize(
    "text",
    [
        "version 1.2024.3 and v2024.1",
        "line 2022 of main.c, port 2022, issue #2022, 2022",
        "HTTP 404 after 23 ms, then 200",
        "in 2000 lines, from 2000 users, by 1950 points, in 2024 ms",
        "page 3 of 2010",
        "latency fell from 1800 to 1650",
        "more than 2000",
        "commit 20240315, id 1684329600, host 10.0.20.15",
        "log-2024-03-15-x, /2024/03/15/, build_2024-03-15",
        "this may take a while",
        "what comes next may surprise you",
        "You may 5 times try, they march 15 miles",
        "We march on; the last march for freedom",
        "June is nice, ask April",
        "03/04/2024 and 06/05/2024",
        "30 February 2024, Feb 30, 2024-02-30, 2023-13-45",
        "0000-01-01, 99999-01-01, March 15, 99999, in 99999, March 0, 2024",
        "2023-05-08T25:00:00Z",
        "a thousand and twenty days ago",
        "1.5 years ago, 1,000 years ago, 0 days ago, 9999 years ago",
        "an hour and a half ago",
        "recently, soon, the other day, these days, back in the day",
        "every Friday, each Monday, on Mondays, Black Friday",
        "he sat in the sun and wed his love, sat on sun loungers",
        "I worked there for 3 years and two days",
        "it finished in 3 seconds, twice in a week",
        "a last minute change, the last two bytes, the next 3 items, last 5 commits",
        "wait a second, the second chance",
        "the next day, the next morning, the last time",
        "I want my two hours back",
        "date.today(), yesterday_total, /today/, today(), @tomorrow",
        "Fall in love; Spring Boot in Spring Framework",
        "9am-5pm, 12:30, ratio 16/9",
        "two hours before the meeting",
        "we watched Friday the 13th, every Friday the 13th",
        "we were tired at the end of the week, at the end of the day",
        "for 12/24/36 months, sizes 16/24/32, 13/04/24, on 3/4/24, on 13-04-24, on 10.15.24.1",
        "5'11, in '98%, print('98'), d['12']['13'], the class of '98, '24 hours, in '24 hours",
        "first Q2 results",
        "",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_time_is_none(text: str) -> None:
    """Versions, counts, verbs, lengths, names, vague words and impossible dates are not expressions."""
    assert find_time_expressions(text, MONDAY) == []
    assert resolve_window(text, MONDAY) is None


def test_expressions_come_in_order_with_their_spans() -> None:
    """Order of appearance; each span cuts its own text out of the turn."""
    text = "Yesterday I saw Anna; two weeks ago she left, and in March 2022 we met on a hill."

    found = find_time_expressions(text, MONDAY)

    assert [e.text for e in found] == ["Yesterday", "two weeks ago", "March 2022"]
    assert [e.text for e in found] == [text[slice(*e.span)] for e in found]


def test_a_list_of_months_or_years_is_read_to_its_end() -> None:
    """After a month or year with a cue, its neighbours on a list need none."""
    found = find_time_expressions("We met in March and April, not in 2020, 2021 or 2022.", MONDAY)

    assert [e.text for e in found] == ["March", "April", "2020", "2021", "2022"]


def test_limit_keeps_the_first_expressions() -> None:
    """Eight by default, none for a limit of zero."""
    text = "yesterday, " * 20

    assert len(find_time_expressions(text, MONDAY)) == 8
    assert [e.span for e in find_time_expressions(text, MONDAY, limit=2)] == [(0, 9), (11, 20)]
    assert find_time_expressions(text, MONDAY, limit=0) == []


def test_days_are_those_of_the_zone_of_the_reference() -> None:
    """At 1:30 UTC it is still the evening before in New York; a day of the clock change has 23 hours."""
    berlin, new_york = ZoneInfo("Europe/Berlin"), timezone(timedelta(hours=-5))
    late = datetime(2023, 5, 8, 1, 30, tzinfo=UTC).astimezone(new_york)
    after_change = datetime(2023, 3, 27, 12, 0, tzinfo=berlin)

    (today,) = find_time_expressions("today", late)
    (short_day,) = find_time_expressions("yesterday", after_change)

    assert (utc("2023-05-07T05:00"), utc("2023-05-08T05:00")) == (today.start, today.end)
    assert (utc("2023-03-25T23:00"), utc("2023-03-26T22:00")) == (short_day.start, short_day.end)


def test_a_reference_without_a_zone_is_utc() -> None:
    """A naive reference gives the same windows as the same moment in UTC."""
    naive = MONDAY.replace(tzinfo=None)

    assert find_time_expressions("2 hours ago", MONDAY) == find_time_expressions("2 hours ago", naive)
