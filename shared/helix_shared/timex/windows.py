"""Calendar arithmetic: from dates and units of one time zone to UTC windows.

Weeks start on Monday, days are clamped to the end of a month, results are UTC. A date out of the range of
`datetime` raises ValueError or OverflowError; `scan` then ignores the expression.
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING, Literal, TypeVar

from helix_shared.timex.words import Unit, weekday_number

if TYPE_CHECKING:
    from collections.abc import Callable

Which = Literal["last", "this", "next", "past", "future", "near"]
Window = tuple[datetime, datetime]
T = TypeVar("T")

_STEPS: dict[Unit, timedelta] = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
}
_MONTHS_IN: dict[Unit, int] = {"month": 1, "quarter": 3, "year": 12}
_SATURDAY = 5
_MONTHS_WITH_ANY_DAY = 4  # this month, and of the next three at least one has 31 days
_MONTHS_WITH_ANY_WEEKDAY = 48  # the 31st is the rarest: seven months of a year have it
_LEAP_REACH_YEARS = 8  # between two leap days lie at most eight years (1896 and 1904)


@dataclass(frozen=True, slots=True)
class Frame:
    """The reference moment: as UTC, its zone, and its date in that zone."""

    now: datetime
    zone: tzinfo
    today: date


def frame_of(reference: datetime, zone: tzinfo | None = None) -> Frame:
    """Return the frame of a reference, in `zone` or its own; a naive reference is taken as UTC.

    A reference of the first or last day of the calendar that another zone cannot represent is read as UTC.
    """
    aware = reference if reference.tzinfo else reference.replace(tzinfo=UTC)
    try:
        aware = aware.astimezone(zone) if zone is not None else aware
        return Frame(aware.astimezone(UTC), aware.tzinfo or UTC, aware.date())
    except OverflowError:
        return Frame(reference.replace(tzinfo=UTC), UTC, reference.date())


def midnight(frame: Frame, day: date) -> datetime:
    """Return the start of a day of the frame's zone."""
    return datetime.combine(day, time(), frame.zone).astimezone(UTC)


def local_date(frame: Frame, moment: datetime) -> date:
    """Return the date of a moment in the frame's zone."""
    return moment.astimezone(frame.zone).date()


def days(frame: Frame, first: date, after: date) -> Window:
    """Return the window from the start of `first` to the start of `after`."""
    return midnight(frame, first), midnight(frame, after)


def one_day(frame: Frame, day: date) -> Window:
    """Return the window of one day."""
    return days(frame, day, day + timedelta(days=1))


def hours(frame: Frame, day: date, first: int, after: int) -> Window:
    """Return hours `first` to `after` of a day; an hour of 24 or more lies in the next day."""
    start, end = (
        datetime.combine(day + timedelta(days=hour // 24), time(hour % 24), frame.zone).astimezone(UTC)
        for hour in (first, after)
    )
    return start, end


def weekend(frame: Frame, day: date) -> Window:
    """Return Saturday and Sunday of the week that holds `day`."""
    monday = begin(day, "week")
    return days(frame, monday + timedelta(days=5), monday + timedelta(days=7))


def season(frame: Frame, first_month: int, year: int) -> Window:
    """Return the three months from `first_month` of `year`."""
    first = date(year, first_month, 1)
    return days(frame, first, move(first, "month", 3))


def begin(day: date, unit: Unit) -> date:
    """Return the first day of the week, month, quarter or year that holds `day`."""
    match unit:
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "year":
            return day.replace(month=1, day=1)
        case _:
            return day


def move(day: date, unit: Unit, count: int) -> date:
    """Return `day` moved by whole units, clamped to the month: 31 March less a month is 28 February."""
    if unit not in _MONTHS_IN:
        return day + timedelta(days=count * (7 if unit == "week" else 1))
    year, month0 = divmod(day.year * 12 + day.month - 1 + count * _MONTHS_IN[unit], 12)
    # checked here because monthrange accepts years that date refuses
    first = date(year, month0 + 1, 1)
    return first.replace(day=min(day.day, monthrange(year, month0 + 1)[1]))


def calendar_unit(frame: Frame, day: date, unit: Unit) -> Window:
    """Return the whole unit that holds `day`."""
    first = begin(day, unit)
    return days(frame, first, move(first, unit, 1))


def away(frame: Frame, moment: datetime, unit: Unit, low: int, high: int) -> Window:
    """Return the calendar units from `low` to `high` (inclusive, signed) steps away from a moment."""
    if unit in _STEPS:
        step = _STEPS[unit]
        first, last = (_truncated(frame, moment + count * step, unit) for count in (low, high))
        return first, last + step
    day = local_date(frame, moment)
    first_day, last_day = (begin(move(day, unit, count), unit) for count in (low, high))
    return days(frame, first_day, move(last_day, unit, 1))


def _truncated(frame: Frame, moment: datetime, unit: Unit) -> datetime:
    """Return the start of the second, minute or hour of the frame's zone that holds `moment`."""
    local = moment.astimezone(frame.zone).replace(microsecond=0)
    if unit != "second":
        local = local.replace(second=0)
    if unit == "hour":
        local = local.replace(minute=0)
    return local.astimezone(UTC)


def slide(frame: Frame, moment: datetime, unit: Unit, count: int) -> datetime:
    """Return a moment moved by whole units, keeping the time of day of the frame's zone."""
    if unit in _STEPS:
        return moment + count * _STEPS[unit]
    local = moment.astimezone(frame.zone)
    return datetime.combine(move(local.date(), unit, count), local.time(), frame.zone).astimezone(UTC)


def rolling(frame: Frame, unit: Unit, count: int) -> Window:
    """Return the last (`count` < 0) or next `count` units up to or from now, widened to whole days."""
    edge = slide(frame, frame.now, unit, count)
    if unit not in _STEPS:
        day = local_date(frame, edge)
        edge = midnight(frame, day if count < 0 else day + timedelta(days=1))
    return (edge, frame.now) if count < 0 else (frame.now, edge)


def weekday(day: date, number: int, which: Which) -> date:
    """Return the date of a weekday (Monday = 0): strictly before `day`, strictly after it, or of its week.

    In the present tense ("near"), the coming one.
    """
    if which == "this":
        return begin(day, "week") + timedelta(days=number)
    if which in ("next", "future", "near"):
        return day + timedelta(days=(number - day.weekday() - 1) % 7 + 1)
    return day - timedelta(days=(day.weekday() - number - 1) % 7 + 1)


def monthly(frame: Frame, day: int, which: Literal["past", "future"]) -> date:
    """Return the date of a day of the month: the latest one up to today, or the first one from today on.

    Months without that day are passed over.

    Raises:
        ValueError: No month has that day.
    """
    step = -1 if which == "past" else 1
    first = begin(frame.today, "month")
    for _ in range(_MONTHS_WITH_ANY_DAY):
        if day <= monthrange(first.year, first.month)[1]:
            found = first.replace(day=day)
            if (found - frame.today).days * step >= 0:
                return found
        first = move(first, "month", step)
    raise ValueError(day)


def weekday_of_month(frame: Frame, number: int, day: int, which: Literal["past", "future", "near"]) -> date:
    """Return the date of a weekday (Monday = 0) that is a day of the month ("Friday the 13th").

    It is the latest one up to today, the first one from today on, or the closer of these two.

    Raises:
        ValueError: There is none within four years.
    """
    if which == "near":
        behind, ahead = _both_sides(lambda side: weekday_of_month(frame, number, day, side))
        return behind if frame.today - behind < ahead - frame.today else ahead
    step = -1 if which == "past" else 1
    first = begin(frame.today, "month")
    for _ in range(_MONTHS_WITH_ANY_WEEKDAY):
        if day <= monthrange(first.year, first.month)[1]:
            found = first.replace(day=day)
            if found.weekday() == number and (found - frame.today).days * step >= 0:
                return found
        first = move(first, "month", step)
    raise ValueError(day)


def part_of_month(frame: Frame, first: date, name: str, number: int) -> Window:
    """Return the n-th weekday, weekend, day or week (of seven days from the 1st) of a month; -1 is the last.

    Raises:
        ValueError: The month has no such part (a fifth Monday).
    """
    after = move(first, "month", 1)
    length = 7 if name == "week" else 1
    if name in ("day", "week"):
        start = (
            after - timedelta(days=length) if number < 0 else first + timedelta(days=length * (number - 1))
        )
    else:
        wanted = _SATURDAY if name == "weekend" else weekday_number(name)
        if number < 0:
            start = after - timedelta(days=(after.weekday() - wanted - 1) % 7 + 1)
        else:
            start = first + timedelta(days=(wanted - first.weekday()) % 7 + 7 * (number - 1))
        length = 2 if name == "weekend" else 1
    if start >= after:
        raise ValueError(name)
    return days(frame, start, start + timedelta(days=length))


def yearly(frame: Frame, make: Callable[[int], Window], which: Which) -> Window:
    """Return one of the windows that recur every year (a month, a day, a season).

    "last" is the latest one that ends before now and "next" the earliest one that starts after it; "past" and
    "future" may also contain now; "near" is the closer of these two; "this" contains now or is in the current
    year.

    Raises:
        ValueError: No such window exists within eight years (30 February).
    """
    year = frame.today.year
    if which == "near":
        behind, ahead = _both_sides(lambda side: yearly(frame, make, side))
        return behind if frame.now - behind[0] < ahead[0] - frame.now else ahead
    if which == "this":
        before = _made(make, year - 1)
        return before if before and _fits(before, frame.now, "future") else make(year)
    backwards = range(year, year - _LEAP_REACH_YEARS - 1, -1)
    onwards = range(year - 1, year + _LEAP_REACH_YEARS + 1)
    for candidate in backwards if which in ("last", "past") else onwards:
        window = _made(make, candidate)
        if window and _fits(window, frame.now, which):
            return window
    raise ValueError(which)


def _both_sides(occurrence: Callable[[Literal["past", "future"]], T]) -> tuple[T, T]:
    """Return the last and the next occurrence, or twice the next one where the calendar has no last."""
    ahead = occurrence("future")
    try:
        return occurrence("past"), ahead
    except ValueError:
        return ahead, ahead


def _made(make: Callable[[int], Window], year: int) -> Window | None:
    """Return the window of a year, or None where that year has none (29 February)."""
    try:
        return make(year)
    except (ValueError, OverflowError):
        return None


def _fits(window: Window, now: datetime, which: Which) -> bool:
    """Tell whether a window lies on the wanted side of now."""
    match which:
        case "last":
            return window[1] <= now
        case "past":
            return window[0] <= now
        case "next":
            return window[0] > now
        case _:
            return window[1] > now
