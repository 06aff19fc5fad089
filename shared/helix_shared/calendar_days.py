"""What the event times of a memory mean, and whether they touch a window of time.

An event span is half-open, [start, end), in instants of UTC; ingest works it out in the zone of the event's
`occurred_at`. Without an end, or with an end at its start, it is the instant of its start.

Whole days ("15 January", "last week", "May") are dates, not instants: they mean the same dates to a caller
in another zone, as the all-day events of iCalendar do (RFC 5545, 3.8.2.4), and summer time does not move
them. Which dates they are follows from the span, so no offset is stored:

* a span is whole days where it is n x 24 hours long and begins at midnight of an offset in use: a whole hour,
  or one of `_BROKEN_OFFSETS`;
* of the two offsets that share their midnights it is the one from -10:00 to +13:45, which leaves out +14:00,
  -11:00 and -12:00 alone; a caller of one of these reads its midnights as its own;
* it touches a window where its dates touch what the clocks of the caller's zone show from the start to the
  end of the window.

All other spans and instants are compared as instants. What follows for callers in another zone:

* "at 3 pm", "this morning" and what happened at a moment lie in the day of the caller's zone that holds them;
* a span given as event_start and event_end over a change of summer time is not n x 24 hours long, so it is
  compared as instants; one that is, and begins at a full hour but no midnight, is read as dates and so moves
  by less than a day;
* filters (event_after, event_before) compare instants in all engines: whole days pass by their first one.

Microseconds since 1970 UTC, as integers or as arrays of them.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Final, TypeVar

from helix_shared.moments import microseconds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Moments = NDArray[np.int64]

_Number = TypeVar("_Number", int, "Moments")

_HOUR: Final = 3_600_000_000
_DAY: Final = 24 * _HOUR
_LEAST_OFFSET: Final = -10 * _HOUR
_BROKEN_OFFSETS: Final = tuple(
    int(hours * _HOUR)
    for hours in (-9.5, -3.5, -2.5, 3.5, 4.5, 5.5, 5.75, 6.5, 8.75, 9.5, 10.5, 12.75, 13.75)
)
"""Those of today's zones, with and without summer time, that are no whole hours (IANA database, 2025)."""


def touching(
    starts: Moments, ends: Moments, window: tuple[datetime, datetime], zone: tzinfo
) -> NDArray[np.bool_]:
    """Which event spans share time with `window`, [start, end), of a caller in `zone`.

    `NO_TIME`, the least integer, among `ends` is no end; who has no start is for the caller to leave out.
    """
    first, after = (microseconds(moment) for moment in window)
    clock_first, clock_after = (microseconds(moment) + _offset(moment, zone) for moment in window)
    # an instant has no end behind the start of the window, a span has
    as_instants = (starts < after) & ((starts >= first) | (ends > first))
    whole = _is_whole_days(starts, ends)
    offsets = _midnight_offset(starts, clock_first - first)
    as_dates = (starts + offsets < clock_after) & (ends + offsets > clock_first)
    touches: NDArray[np.bool_] = (whole & as_dates) | (~whole & as_instants)
    return touches


def dates_of(start: datetime, end: datetime | None, zone: tzinfo) -> tuple[date, date] | None:
    """The dates [first, after) of a span of whole days, for a caller in `zone`; None for every other span."""
    if end is None or not _is_whole_days(begins := microseconds(start), microseconds(end)):
        return None
    offset = timedelta(microseconds=_midnight_offset(begins, _offset(start, zone)))
    return (start.astimezone(UTC) + offset).date(), (end.astimezone(UTC) + offset).date()


def first_date(start: datetime, end: datetime | None, zone: tzinfo) -> date:
    """The date to show for an event span: the first of its dates, else that of its start in `zone`."""
    dates = dates_of(start, end, zone)
    return start.astimezone(zone).date() if dates is None else dates[0]


def midnight(day: date, zone: tzinfo) -> datetime:
    """The start of a date in `zone`, UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)


def _is_whole_days(starts: _Number, ends: _Number) -> Any:
    """Whether spans are n x 24 hours long and begin at a midnight of an offset in use; of arrays by span."""
    at_midnight = starts % _HOUR == 0
    for offset in _BROKEN_OFFSETS:
        at_midnight = at_midnight | ((starts + offset) % _DAY == 0)
    return (ends > starts) & ((ends - starts) % _DAY == 0) & at_midnight


def _midnight_offset(starts: _Number, own: int) -> Any:
    """The offset that makes each start a midnight: the caller's `own` if that does, else one of the range."""
    usual = (-starts - _LEAST_OFFSET) % _DAY + _LEAST_OFFSET
    return usual + ((starts + own) % _DAY == 0) * (own - usual)


def _offset(moment: datetime, zone: tzinfo) -> int:
    """How far the clocks of `zone` are ahead of UTC, in microseconds."""
    try:
        ahead = moment.astimezone(zone).utcoffset()
    except OverflowError:  # an open end of a window is the end of the calendar
        return 0
    return 0 if ahead is None else ahead // timedelta(microseconds=1)
