"""The rule for ISO dates and timestamps: "2024-03-15", "2024-03-15 10:22:00 CET", "2024-03-15 09:00-17:00".

An offset is "+02", "+0200", "+02:00" or the abbreviation of a zone in capitals. Behind a time without seconds
and without a "T", "-17:00" is the end of a stretch if it is later on the clock.
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
_ZONE: Final = rf"{'|'.join(sorted(_ZONES, key=len, reverse=True))}|[+-][0-9]{{2}}(?::?[0-9]{{2}})?"
_OFFSETS: Final = range(-12, 15)


def _read_iso(passage: Passage, match: re.Match[str]) -> Reading:
    day = date(*map(int, match.group("year", "month", "day")))
    if match["hour"] is None:
        return Reading(one_day(passage.frame, day), match.span(), "day", fixed=True)
    clock = time(int(match["hour"]), int(match["minute"]), int(match["second"] or 0))
    until = _until(match, clock)
    if until is not None:
        start, end = (datetime.combine(day, at, passage.frame.zone).astimezone(UTC) for at in (clock, until))
        return Reading((start, end), match.span(), "range", fixed=True)
    zone, end_of_zone = _zone(passage, match)
    start = datetime.combine(day, clock, zone or passage.frame.zone).astimezone(UTC)
    span = match.start(), end_of_zone
    if match["second"]:
        return Reading((start, start + timedelta(seconds=1)), span, "second", fixed=True)
    return Reading((start, start + timedelta(minutes=1)), span, "minute", fixed=True)


def _until(match: re.Match[str], start: time) -> time | None:
    """Return the end of "09:00-17:00"; None for an offset."""
    zone = match["zone"] or ""
    if match["second"] or match["t"] == "t" or not zone.startswith("-") or ":" not in zone:
        return None
    end = time(int(zone[1:3]), int(zone[-2:]))
    return end if end > start else None


def _zone(passage: Passage, match: re.Match[str]) -> tuple[tzinfo | None, int]:
    """Return the zone written behind a time of day, None for none, and where the reading ends."""
    written = match["zone"]
    if not written:
        return None, match.end()
    if written[0] not in "+-":
        if written in _WORDS_TOO and not passage.text[slice(*match.span("zone"))].isupper():
            return None, match.end("clock")
        return timezone(timedelta(hours=_ZONES[written])), match.end()
    hours, minutes = int(written[1:3]), int(written[3:].removeprefix(":") or 0)
    sign = -1 if written[0] == "-" else 1
    if sign * hours not in _OFFSETS:
        raise ValueError(written)
    return timezone(sign * timedelta(hours=hours, minutes=minutes)), match.end()


ISO = Rule(
    re.compile(
        r"(?P<year>[0-9]{4})(?P<sep>[-/])(?P<month>[0-9]{1,2})(?P=sep)(?P<day>[0-9]{1,2})"
        r"(?:(?P<t>[t\s])(?P<clock>(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})"
        r"(?::(?P<second>[0-9]{2})(?:[.,][0-9]{1,9})?)?)"
        rf"(?:\s?(?P<zone>{_ZONE}))?)?"
        r"(?![\w/-]|[.:][0-9])"
    ),
    _read_iso,
)
