"""Values in a text that a later statement may replace: numbers, amounts, times, dates, identifiers.

Each value has a kind; two statements about one thing that have different values of one kind compete.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_MONTHS: Final = _words("""
    january february march april may june july august september october november december
""")
_WEEKDAYS: Final = _words("""
    monday tuesday wednesday thursday friday saturday sunday
""")
_MONTH_OF: Final = {form: name for name in _MONTHS for form in (name, name[:3])} | {"sept": "september"}
_WEEKDAY_OF: Final = {form: name for name in _WEEKDAYS for form in (name, name[:3], f"{name}s")} | {
    "tues": "tuesday",
    "thur": "thursday",
    "thurs": "thursday",
}
_VAGUE: Final = frozenset(
    _words("""
    may mar march sun sat wed mon second
""")
)
"""Words that name a date only beside a number."""
_ONES: Final = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
_BEFORE_A_MONTH: Final = frozenset(
    _words("in of by until till since from next last this early late mid to for")
)
_SPELLED: Final = {word: value for value, word in enumerate(_ONES.split(), 2)} | {
    word: 10 * value for value, word in enumerate(_TENS.split(), 2)
}
_UNIT_OF: Final = {
    form: unit
    for unit, forms in {
        "hour": "h hr hrs hour hours",
        "minute": "min mins minute minutes",
        "second": "s sec secs seconds",
        "millisecond": "ms millisecond milliseconds",
        "day": "day days",
        "week": "week weeks",
        "month": "month months",
        "year": "year years yr yrs",
        "mb": "mb mib meg megs megabyte megabytes",
        "gb": "gb gib gig gigs gigabyte gigabytes",
        "eur": "eur euro euros \u20ac",
        "usd": "usd dollar dollars $ bucks",
        "gbp": "gbp pound pounds quid \u00a3",
        "kg": "kg kilo kilos",
        "km": "km kilometre kilometres kilometer kilometers",
        "percent": "% percent",
    }.items()
    for form in forms.split()
}
_CURRENCY: Final = "$\u20ac\u00a3"
_TIME: Final = re.compile(r"(\d{1,2}):(\d{2})([ap]m)?|(\d{1,2})([ap]m)")
_DAY: Final = re.compile(r"(\d{1,2})(?:st|nd|rd|th)")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_NUMBER: Final = re.compile(r"(\d+(?:[.,_]\d+)*)(%|[a-z]{0,5})")
_THOUSANDS: Final = re.compile(r"[,_.](?=\d{3}(?!\d))")
_CODE_DIGITS: Final = 2
_YEARS: Final = range(1_900, 2_100)
_DAYS: Final = 31
_NUMBERED: Final = frozenset(
    _words("""
    order ticket issue pr invoice ref reference case booking refund claim parcel rfc bug job build
""")
)
"""Words after which a number is an identifier."""
_DATE_OR_NUMBER: Final = frozenset([*_MONTH_OF, *_WEEKDAY_OF, *_SPELLED])
_VALUE_WORDS: Final = frozenset([*_MONTH_OF, *_WEEKDAY_OF, *_SPELLED, *_UNIT_OF])
_NUMBERED_THINGS: Final = frozenset(
    _words("""
    room bed floor ward level line unit team group table plot gate platform flat apartment house chapter week
    phase module building block lane pitch box bay seat row shelf class grade track
""")
)
"""Things of which there are several: a number after one tells which, or where."""


class Quantity(NamedTuple):
    """One value: `kind` is time, date, day, month, weekday, year, number, which ("room 4") or code."""

    kind: str
    value: str
    unit: str = ""
    """Unit of a number; empty if it has none."""


def find_quantities(words: Sequence[str]) -> list[Quantity]:
    """The values among the words of a text (lower-case, punctuation stripped), in their order."""
    return [found for _, found in placed_quantities(words)]


def placed_quantities(words: Sequence[str]) -> list[tuple[int, Quantity]]:
    """The same, each with the place of its word."""
    return [(at, found) for at, word in enumerate(words) if (found := _read(words, at, word)) is not None]


def _read(words: Sequence[str], at: int, word: str) -> Quantity | None:
    if word.isalpha() or not any(map(str.isdigit, word)):
        return _named(words, at, word) if word.partition("-")[0] in _DATE_OR_NUMBER else None
    if match := _TIME.fullmatch(word):
        return Quantity("time", _clock(match))
    if match := _DAY.fullmatch(word):
        return Quantity("day", match[1].lstrip("0"))
    if _DATE.fullmatch(word):
        return Quantity("date", word)
    if match := _NUMBER.fullmatch(word.strip(_CURRENCY)):
        return _numbered(words, at, match, currency=next((c for c in _CURRENCY if c in word), ""))
    digits = sum(map(str.isdigit, word))
    return Quantity("code", word) if digits >= _CODE_DIGITS and "/" not in word and "." not in word else None


def _named(words: Sequence[str], at: int, word: str) -> Quantity | None:
    if word in _VAGUE and not (_is_beside(words, at - 1) or _is_beside(words, at + 1)):
        before = words[at - 1] if at else ""
        return Quantity("month", _MONTH_OF[word]) if word in _MONTH_OF and before in _BEFORE_A_MONTH else None
    if word in _MONTH_OF:
        return Quantity("month", _MONTH_OF[word])
    if word in _WEEKDAY_OF:
        return Quantity("weekday", _WEEKDAY_OF[word])
    tens, _, ones = word.partition("-")
    if word in _SPELLED:
        return Quantity("number", str(_SPELLED[word]), _unit(words, at))
    if tens in _SPELLED and (ones == "one" or ones in _SPELLED):
        return Quantity("number", str(_SPELLED[tens] + _SPELLED.get(ones, 1)), _unit(words, at))
    return None


def _numbered(words: Sequence[str], at: int, match: re.Match[str], *, currency: str) -> Quantity | None:
    digits, ending = _THOUSANDS.sub("", match[1]), match[2]
    if ending == "k":
        digits, ending = digits + "000", ""
    elif ending and ending not in _UNIT_OF:
        return Quantity("code", match[0]) if len(digits) >= _CODE_DIGITS else None
    unit = _UNIT_OF.get(currency or ending, "") or _unit(words, at)
    if not currency and not ending and digits.isdigit():
        before = words[at - 1] if at else ""
        beside = {before, words[at + 1] if at + 1 < len(words) else ""}
        if before in _NUMBERED:
            return Quantity("code", digits)
        if before in _NUMBERED_THINGS:
            return Quantity("which", f"{before} {digits}")
        if int(digits[:9]) <= _DAYS and not beside.isdisjoint(_MONTH_OF):
            return Quantity("day", digits.lstrip("0") or "0")
        if int(digits[:9]) in _YEARS and not unit:
            return Quantity("year", digits)
    return Quantity("number", digits.removesuffix(".0"), unit)


def _clock(match: re.Match[str]) -> str:
    hour, minute = int(match[1] or match[4]), match[2] or "00"
    ending = match[3] or match[5] or ""
    if ending:
        hour = hour % 12 + (12 if ending == "pm" else 0)
    return f"{hour}:{minute}"


def _unit(words: Sequence[str], at: int) -> str:
    following = words[at + 1] if at + 1 < len(words) else ""
    return _UNIT_OF.get(following, "")


def _is_beside(words: Sequence[str], at: int) -> bool:
    """Whether the word there is a number or names a day of the week as well."""
    return 0 <= at < len(words) and (words[at][:1].isdigit() or words[at] in _WEEKDAY_OF)


def is_value_word(word: str) -> bool:
    """Whether a word is a value or a unit, and so says nothing about what has the value."""
    return not word[0].isalpha() or word in _VALUE_WORDS or word.partition("-")[0] in _SPELLED
