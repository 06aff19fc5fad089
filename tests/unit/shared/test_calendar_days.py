"""Event spans against windows: touching ends, instants, and whole days of zones east and west."""

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo, available_timezones

import numpy as np
import pytest

from helix_ingest.extraction.score import event_times
from helix_memory.events import MessageEvent
from helix_shared.artifacts.signals.columns import NO_TIME
from helix_shared.calendar_days import dates_of, first_date, midnight, touching
from helix_shared.moments import microseconds
from helix_shared.timex import EARLIEST, LATEST, find_time_expressions, resolve_window

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo", "Asia/Kathmandu", "Pacific/Honolulu",
         "Pacific/Auckland", "Pacific/Chatham", "Australia/Lord_Howe", "Pacific/Niue",
         "Pacific/Kiritimati"]  # fmt: skip


def touches(
    start: datetime,
    end: datetime | None,
    window: tuple[datetime, datetime],
    zone: str = "UTC",
) -> bool:
    """Whether one span touches a window."""
    ends = NO_TIME if end is None else microseconds(end)
    return bool(touching(np.array([microseconds(start)]), np.array([ends]), window, ZoneInfo(zone))[0])


def asked(question: str, zone: str, now: datetime = NOW) -> tuple[datetime, datetime]:
    """The window of a question about a time."""
    window = resolve_window(f"What is on {question}?", now, zone=ZoneInfo(zone))
    assert window is not None
    return window


def test_every_zone_of_today_has_an_offset_that_is_known() -> None:
    """A date stated in any zone of the database, in winter and in summer, is read as that date there."""
    for name in available_timezones() - {"Factory", "localtime"}:
        zone = ZoneInfo(name)
        for day in (date(2027, 1, 15), date(2027, 7, 15)):
            noon = datetime(day.year, day.month, day.day, 12, tzinfo=zone)
            offset = noon.utcoffset()
            assert offset is not None
            start = midnight(day, timezone(offset))
            assert dates_of(start, start + DAY, zone) == (day, day + DAY), name


def told(text: str, said: datetime) -> tuple[datetime, datetime]:
    """The span that ingest gives a text."""
    event = MessageEvent(event_id="e", tenant_id="t", role="user", text=text, occurred_at=said)
    times = event_times(event, text, said)
    assert times.start is not None
    assert times.end is not None
    return times.start, times.end


TEN, NOON = datetime(2026, 11, 20, 10, tzinfo=UTC), datetime(2026, 11, 20, 12, tzinfo=UTC)
WINDOW = (TEN, NOON)
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("start", "end", "inside"),
    [
        (TEN - HOUR, TEN, False),
        (TEN - HOUR, TEN + MINUTE, True),
        (TEN, NOON, True),
        (TEN + MINUTE, NOON - MINUTE, True),
        (TEN - HOUR, NOON + HOUR, True),
        (NOON - MINUTE, NOON + HOUR, True),
        (NOON, NOON + HOUR, False),
        # instants: without an end, or with one at the start
        (TEN, None, True),
        (TEN, TEN, True),
        (TEN - MINUTE, None, False),
        (NOON - MINUTE, NOON - MINUTE, True),
        (NOON, None, False),
        (NOON, NOON, False),
    ],
)
def test_a_span_ends_before_its_end_and_an_instant_lasts(
    start: datetime, end: datetime | None, inside: bool
) -> None:
    """Half-open on both sides, for a window of two hours."""
    assert touches(start, end, WINDOW) is inside
    assert touches(start, end, WINDOW, "Asia/Tokyo") is inside


@pytest.mark.parametrize("asks", ZONES)
def test_a_day_is_the_same_date_in_every_zone(asks: str) -> None:
    """15 January, said anywhere and asked anywhere, is in its own window and in that of no other day.

    Niue and Kiritimati share their midnights with others; who asks from there means their own.
    """
    windows = {day: asked(f"{day} January", asks) for day in (13, 14, 15, 16, 17)}
    for says in sorted({*ZONES[:-2], asks}):
        if {"Niue": "Auckland", "Kiritimati": "Honolulu"}.get(asks[8:]) == says[8:]:
            continue
        span = told("The audit is on 15 January.", NOW.astimezone(ZoneInfo(says)))
        assert [day for day, window in windows.items() if touches(*span, window, asks)] == [15], says
        assert first_date(*span, ZoneInfo(asks)) == date(2027, 1, 15)
        assert touches(*span, asked("in January 2027", asks), asks)
        assert not touches(*span, asked("in February 2027", asks), asks)


@pytest.mark.parametrize(
    ("zone", "said", "text", "before", "asked_for", "after"),
    [
        # said in winter of a day in summer, and vice versa
        ("Europe/Berlin", "2027-01-10", "on 15 July 2027", "14 July 2027", "15 July 2027", "16 July 2027"),
        ("America/New_York", "2026-07-10", "on 15 December 2026", "14 December 2026", "15 December 2026",
         "16 December 2026"),
        # the days on which clocks are changed: 28 March and 31 October 2027, 14 March in New York
        ("Europe/Berlin", "2027-03-01", "on 28 March 2027", "27 March 2027", "28 March 2027",
         "29 March 2027"),
        ("Europe/Berlin", "2027-10-01", "on 31 October 2027", "30 October 2027", "31 October 2027",
         "1 November 2027"),
        ("Europe/Berlin", "2027-10-01", "on 1 November 2027", "31 October 2027", "1 November 2027",
         "2 November 2027"),
        ("America/New_York", "2027-03-20", "on 14 March 2027", "13 March 2027", "14 March 2027",
         "15 March 2027"),
        ("Europe/Berlin", "2027-02-01", "in March 2027", "February 2027", "March 2027", "April 2027"),
        ("Europe/Berlin", "2027-02-01", "in 2028", "in 2027", "in 2028", "in 2029"),
    ],
)  # fmt: skip
def test_summer_time_moves_no_day(
    zone: str, said: str, text: str, before: str, asked_for: str, after: str
) -> None:
    """An event carries the offset of its own moment, which is not that of the days it mentions."""
    there = datetime.fromisoformat(f"{said}T12:00").replace(tzinfo=ZoneInfo(zone))
    offset = there.utcoffset()
    assert offset is not None
    span = told(f"It was {text}.", there.astimezone(timezone(offset)))
    windows = (asked(question, zone) for question in (before, asked_for, after))
    assert [touches(*span, window, zone) for window in windows] == [False, True, False]


def test_what_is_no_whole_day_is_compared_as_instants() -> None:
    """Nine in the evening of the 14th in New York is the 15th in Berlin; so is the evening, in part."""
    new_york, berlin = "America/New_York", "Europe/Berlin"
    evening = datetime(2027, 1, 14, 21, tzinfo=ZoneInfo(new_york))
    for end in (None, evening + HOUR):
        assert touches(evening, end, asked("14 January", new_york), new_york)
        assert not touches(evening, end, asked("15 January", new_york), new_york)
        assert touches(evening, end, asked("15 January", berlin), berlin)
        assert not touches(evening, end, asked("14 January", berlin), berlin)
        assert dates_of(evening, end, UTC) is None
    assert first_date(evening, None, ZoneInfo(new_york)) == date(2027, 1, 14)
    assert first_date(evening, None, ZoneInfo(berlin)) == date(2027, 1, 15)
    # two days of 24 hours, but from no midnight of any zone
    assert dates_of(evening + MINUTE, evening + MINUTE + 2 * DAY, UTC) is None
    assert dates_of(TEN + 5.5 * HOUR, TEN + 5.5 * HOUR + 2 * DAY, UTC) is None


def test_windows_with_open_ends_reach_to_them() -> None:
    """Before and after the 15th, in zones on both sides, where the calendar's ends have no local time."""
    span = told("The audit is on 15 January.", NOW.astimezone(ZoneInfo("Europe/Berlin")))
    for zone in ZONES:
        day = midnight(date(2027, 1, 15), ZoneInfo(zone))
        after = midnight(date(2027, 1, 16), ZoneInfo(zone))
        found = [
            touches(*span, window, zone)
            for window in ((EARLIEST, day), (EARLIEST, after), (day, LATEST), (after, LATEST))
        ]
        assert found == [False, True, True, False], zone


@pytest.mark.parametrize("hours", [-5, 0, 1, 5.5, 9])
def test_ingest_makes_whole_days_that_are_read_as_their_dates(hours: float) -> None:
    """Days, weeks, months and ranges of them; hours are none."""
    offset = timezone(timedelta(hours=hours))
    said = datetime(2026, 11, 21, 20, 17, tzinfo=offset)
    for text, first, after in (
        ("yesterday", date(2026, 11, 20), date(2026, 11, 21)),
        ("last week", date(2026, 11, 9), date(2026, 11, 16)),
        ("in March 2027", date(2027, 3, 1), date(2027, 4, 1)),
        ("from 10 to 12 January 2027", date(2027, 1, 10), date(2027, 1, 13)),
        ("in 2024", date(2024, 1, 1), date(2025, 1, 1)),
    ):
        (found,) = find_time_expressions(text, said)
        assert dates_of(found.start, found.end, UTC) == (first, after), text
    for text in ("this morning", "an hour ago", "in the last 24 hours", "in the past three days"):
        (found,) = find_time_expressions(text, said)
        assert dates_of(found.start, found.end, UTC) is None, text
