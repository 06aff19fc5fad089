"""Whether the event times of a memory overlap a window of time.

An event span is half-open, [start, end), in instants of UTC; ingest computes it in the zone of the event's
`occurred_at`. Without an end, or with its end at its start, it is an instant.

Whole days ("15 January", "last week", "May") are dates, not instants. They are the same dates for a caller in
another zone, like all-day events of iCalendar (RFC 5545, 3.8.2.4), and daylight saving time does not move
them. The dates follow from the span, so no offset is stored:

* a span is whole days if it is n x 24 hours long and begins at midnight of an offset in use: a whole hour, or
  one of `_BROKEN_OFFSETS`;
* two offsets can have the same midnights; the one from -10:00 to +13:45 is taken, which excludes only +14:00,
  -11:00 and -12:00; for a caller in one of these, midnights of that offset count as the caller's own;
* it overlaps a window if its dates overlap the local times of the caller's zone from the start to the end of
  the window.

All other spans and instants are compared as instants. For callers in another zone this means:

* "at 3 pm", "this morning" and a single moment belong to the day of the caller's zone that contains them; * a
span of event_start and event_end across a change to or from daylight saving time is not n x 24 hours long,
  so it is compared as instants; a span of n x 24 hours that begins at a full hour other than midnight is read
  as dates, and so moves by less than a day;
* filters (event_after, event_before) compare instants in all engines: whole days count by their first
instant.

All times are microseconds since 1970 UTC, as integers or arrays.
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
"""Offsets of today's zones that are not whole hours, daylight saving time included (IANA database, 2025)."""


def touching(
    starts: Moments, ends: Moments, window: tuple[datetime, datetime], zone: tzinfo
) -> NDArray[np.bool_]:
    """Which event spans overlap `window`, [start, end), of a caller in `zone`.

    `NO_TIME`, the smallest integer, in `ends` means no end. Callers must exclude spans without a start.
    """
    first, after = (microseconds(moment) for moment in window)
    clock_first, clock_after = (microseconds(moment) + _offset(moment, zone) for moment in window)
    # an instant must start in the window; a span must only end after the window starts
    as_instants = (starts < after) & ((starts >= first) | (ends > first))
    whole = _is_whole_days(starts, ends)
    offsets = _midnight_offset(starts, clock_first - first)
    as_dates = (starts + offsets < clock_after) & (ends + offsets > clock_first)
    touches: NDArray[np.bool_] = (whole & as_dates) | (~whole & as_instants)
    return touches


def dates_of(start: datetime, end: datetime | None, zone: tzinfo) -> tuple[date, date] | None:
    """The dates [first, after) of a span of whole days for a caller in `zone`; None for any other span."""
    if end is None or not _is_whole_days(begins := microseconds(start), microseconds(end)):
        return None
    offset = timedelta(microseconds=_midnight_offset(begins, _offset(start, zone)))
    return (start.astimezone(UTC) + offset).date(), (end.astimezone(UTC) + offset).date()


def first_date(start: datetime, end: datetime | None, zone: tzinfo) -> date:
    """The date to show for an event span: its first date, else the date of its start in `zone`."""
    dates = dates_of(start, end, zone)
    return start.astimezone(zone).date() if dates is None else dates[0]


def midnight(day: date, zone: tzinfo) -> datetime:
    """The start of a date in `zone`, UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)


def _is_whole_days(starts: _Number, ends: _Number) -> Any:
    """Whether spans are n x 24 hours long and begin at midnight of an offset in use; also of arrays."""
    at_midnight = starts % _HOUR == 0
    for offset in _BROKEN_OFFSETS:
        at_midnight = at_midnight | ((starts + offset) % _DAY == 0)
    return (ends > starts) & ((ends - starts) % _DAY == 0) & at_midnight


def _midnight_offset(starts: _Number, own: int) -> Any:
    """The offset for which each start is midnight: the caller's `own` if possible, else one of the range."""
    usual = (-starts - _LEAST_OFFSET) % _DAY + _LEAST_OFFSET
    return usual + ((starts + own) % _DAY == 0) * (own - usual)


def _offset(moment: datetime, zone: tzinfo) -> int:
    """Offset of `zone` from UTC at a moment, in microseconds."""
    try:
        ahead = moment.astimezone(zone).utcoffset()
    except OverflowError:  # the open end of a window is the last representable time
        return 0
    return 0 if ahead is None else ahead // timedelta(microseconds=1)
