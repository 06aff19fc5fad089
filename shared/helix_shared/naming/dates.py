"""Dates as names: a day, a month or a year written out, in ISO form (2024-03-12, 2024-03, 2024).

Relative dates ("next April") are event times and not names; numeric day-month-year is ambiguous. Neither is
found.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator

_MONTH = (
    r"(?P<month>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|"
    r"Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[12]\d{3})"
_END = r"(?![\w-])"
_BEFORE_A_YEAR = "in|since|until|till|by|during|around|circa|before|after|from|of|born"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<![\w.-]){_YEAR}([-/])(?P<month>[01]\d)\2(?P<day>[0-3]\d)(?=$|[^\w/-]|T\d\d:)",
        rf"\b{_DAY} (?:of )?{_MONTH},? {_YEAR}{_END}",
        rf"\b{_MONTH} {_DAY},? {_YEAR}{_END}",
        rf"\b{_MONTH},? {_YEAR}{_END}",
        rf"\b(?:{_BEFORE_A_YEAR}) {_YEAR}(?=$|[^\w.%-]|\.(?!\d))",
        rf"\({_YEAR}(?=[)\u2013-])",
    )
)
_DIGIT = re.compile(r"[12]\d{3}")
_MONTHS = {"janfebmaraprmayjunjulaugsepoctnovdec"[3 * n : 3 * n + 3]: n + 1 for n in range(12)}


def find_dates(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and ISO form of every date, longest form first, without overlaps."""
    if _DIGIT.search(text) is None:
        return
    taken: list[tuple[int, int]] = []
    for pattern in _PATTERNS:
        found = []
        for match in pattern.finditer(text):
            parts = match.groupdict()
            iso = _iso(parts["year"], parts.get("month"), parts.get("day"))
            start = match.start("year") if parts.get("month") is None else match.start()
            if iso and not _overlaps(taken, start, match.end()):
                found.append((start, match.end()))
                yield start, match.end(), iso
        taken = sorted(taken + found)


def _iso(year: str, month: str | None, day: str | None) -> str:
    if month is None:
        return year
    number = int(month) if month.isdecimal() else _MONTHS[month[:3].lower()]
    try:
        date = dt.date(int(year), number, int(day or 1))
    except ValueError:
        return ""
    return date.isoformat() if day else f"{date.year:04}-{date.month:02}"


def _overlaps(taken: list[tuple[int, int]], start: int, end: int) -> bool:
    """Whether a span of the sorted, disjoint `taken` touches [start, end)."""
    low, high = 0, len(taken)
    while low < high:
        middle = (low + high) // 2
        if taken[middle][1] <= start:
            low = middle + 1
        else:
            high = middle
    return low < len(taken) and taken[low][0] < end
