"""The rule for ISO dates and timestamps: "2024-03-15", "2024-03-15 10:22:00 CET", "2024-03-15 09:00-17:00".

An offset is "+02", "+0200", "+02:00", "UTC+2" or the abbreviation of a zone in capitals. Behind a time
without seconds and without a "T", "-17:00" is the end of a stretch if it is later on the clock; " - 17:00"
and "to 17:00" always are, on the next day if it is not. "PM" makes 08:30 the evening's.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import Final

from helix_shared.timex.reading import Passage, Reading, Rule
from helix_shared.timex.windows import one_day

_ZONES: Final = {
    "z": 0, "utc": 0, "gmt": 0, "wet": 0, "west": 1, "bst": 1, "cet": 1, "cest": 2, "eet": 2, "eest": 3,
    "msk": 3, "sast": 2, "jst": 9, "kst": 9, "aest": 10, "aedt": 11, "nzst": 12, "nzdt": 13, "est": -5,
    "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7, "akst": -9, "akdt": -8,
    "hst": -10,
}  # fmt: skip
"""Hours ahead of UTC. Those of North America as RFC 5322 (4.3) has them; "IST" is three zones, so none."""
_WORDS_TOO: Final = frozenset(_ZONES) - {"z", "utc", "gmt"}
"""Abbreviations that count in capitals only: "west", "wet" and "est" are words."""
_ZONE: Final = (
    rf"(?:utc|gmt)\s?[+-][0-9]{{1,2}}(?::?[0-9]{{2}})?"
    rf"|{'|'.join(sorted(_ZONES, key=len, reverse=True))}|[+-][0-9]{{2}}(?::?[0-9]{{2}})?"
)
_OFFSET: Final = re.compile(r"(?P<sign>[+-])(?P<hours>[0-9]{1,2}):?(?P<minutes>[0-9]{2})?\Z")
_OFFSETS: Final = range(-12, 15)
_HALF_DAY: Final = 12
_HALF: Final = r"\s?(?P<{}>[ap])(?:m|\.m\.?)(?!\w)"
_DAY_ENDS: Final = "24:00"


def _read_iso(passage: Passage, match: re.Match[str]) -> Reading:
    day = date(*map(int, match.group("year", "month", "day")))
    if match["hour"] is None:
        return Reading(one_day(passage.frame, day), match.span(), "day", fixed=True)
    clock = time(_hour(int(match["hour"]), match["half"]), int(match["minute"]), int(match["second"] or 0))
    stretch = _stretch(match, datetime.combine(day, clock))
    zone, end_of_zone = _zone(passage, match, is_offset=match["until"] is not None and stretch is None)
    zone, span = zone or passage.frame.zone, (match.start(), end_of_zone)
    if stretch is not None:
        start, end = (one.replace(tzinfo=zone).astimezone(UTC) for one in stretch)
        return Reading((start, end), span, "range", fixed=True)
    start = datetime.combine(day, clock, zone).astimezone(UTC)
    if match["second"]:
        return Reading((start, start + timedelta(seconds=1)), span, "second", fixed=True)
    return Reading((start, start + timedelta(minutes=1)), span, "minute", fixed=True)


def _hour(hour: int, half: str | None) -> int:
    """Return the hour of "08 pm" and "12 am"; that of "20 pm" as it is."""
    if half is None or not 1 <= hour <= _HALF_DAY:
        return hour
    return hour % _HALF_DAY + (_HALF_DAY if half == "p" else 0)


def _stretch(match: re.Match[str], start: datetime) -> tuple[datetime, datetime] | None:
    """Return the ends of "09:00-17:00" and "02:00 to 05:00 pm"; None for an offset, and without an end."""
    if match["until"] is None:
        return None
    is_bare = match["dash"] == "-" and match["end_half"] is None
    if is_bare and (match["second"] or match["t"] == "t"):
        return None
    end = _on_day_of(start, match["until"], match["end_half"])
    later = start + timedelta(hours=_HALF_DAY)
    if match["end_half"] == "p" and match["half"] is None and start.hour < _HALF_DAY and later < end:
        start = later
    if end <= start and is_bare:
        return None
    return start, end if end > start else end + timedelta(days=1)


def _on_day_of(start: datetime, clock: str, half: str | None) -> datetime:
    """Return the time of day on the day of `start`."""
    midnight = datetime.combine(start.date(), time())
    if clock == _DAY_ENDS:
        return midnight + timedelta(days=1)
    return datetime.combine(start.date(), time(_hour(int(clock[:2]), half), int(clock[3:])))


def _zone(passage: Passage, match: re.Match[str], *, is_offset: bool) -> tuple[tzinfo | None, int]:
    """Return the zone written behind a time of day, None for none, and where the reading ends.

    `is_offset`: what could be the end of a stretch is an offset.
    """
    written = match["dash"] + match["until"] if is_offset else match["zone"]
    if not written:
        return None, match.end()
    end = match.end("until") if is_offset else match.end("zone")
    if (offset := _OFFSET.search(written)) is None:
        if written in _WORDS_TOO and not passage.text[slice(*match.span("zone"))].isupper():
            return None, match.end("end_clock") if match["until"] else match.end("clock")
        return timezone(timedelta(hours=_ZONES[written])), end
    hours, minutes = int(offset["hours"]), int(offset["minutes"] or 0)
    sign = -1 if offset["sign"] == "-" else 1
    if sign * hours not in _OFFSETS:
        raise ValueError(written)
    return timezone(sign * timedelta(hours=hours, minutes=minutes)), end


ISO = Rule(
    re.compile(
        r"(?P<year>[0-9]{4})(?P<sep>[-/])(?P<month>[0-9]{1,2})(?P=sep)(?P<day>[0-9]{1,2})"
        r"(?:(?P<t>[t\s])(?P<clock>(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})"
        rf"(?::(?P<second>[0-9]{{2}})(?:[.,][0-9]{{1,9}})?)?(?:{_HALF.format('half')})?)"
        r"(?:(?P<dash>-|\s?\u2013\s?|\s-\s|\s(?:to|until|till)\s)"
        rf"(?P<end_clock>(?P<until>[0-9]{{2}}:[0-9]{{2}})(?![:.]?[0-9])(?:{_HALF.format('end_half')})?))?"
        rf"(?:\s?(?P<zone>{_ZONE}))?)?"
        r"(?![\w/-]|[.:][0-9])"
    ),
    _read_iso,
)
