"""The English vocabulary of time: word tables, and pattern fragments for the rules.

All fragments expect text folded by `fold` (same length, ASCII letters in lower case). Every repetition is
bounded, so the package is linear on hostile text.
"""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from datetime import date

Unit = Literal["second", "minute", "hour", "day", "week", "month", "quarter", "year"]

_FOLD = str.maketrans(string.ascii_uppercase + "\u2019", string.ascii_lowercase + "'")
_MONTH_KEYS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAY_KEYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

SEASONS = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}
DAYS = {
    "today": 0, "yesterday": -1, "yday": -1, "tomorrow": 1, "tmrw": 1, "tmr": 1, "tomoz": 1,
    "tomoro": 1, "tommorow": 1, "tomorow": 1, "tommorrow": 1,
}  # fmt: skip
"""Days from today, also as they are typed."""
TONIGHT = "(?:tonight|tonite)"
DAY_PARTS = {"morning": (5, 12), "afternoon": (12, 17), "evening": (17, 24), "night": (18, 30)}
_ONES = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
}  # fmt: skip
_TEENS = {
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19,
}  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90,
}  # fmt: skip
NUMBERS = {"a": 1, "an": 1} | _ONES | _TEENS | _TENS
HUNDREDS = frozenset(["hundred", "thousand", "million"])
"""Words after which a number is only the end of one: "a thousand and twenty"."""
_UNITS: dict[str, tuple[Unit, int]] = {
    "sec": ("second", 1), "second": ("second", 1), "min": ("minute", 1), "minute": ("minute", 1),
    "hr": ("hour", 1), "hour": ("hour", 1), "day": ("day", 1), "week": ("week", 1), "wk": ("week", 1),
    "fortnight": ("week", 2), "month": ("month", 1), "mth": ("month", 1), "quarter": ("quarter", 1),
    "yr": ("year", 1), "year": ("year", 1),
    "decade": ("year", 10),
}  # fmt: skip
_HALVES: dict[str, tuple[Unit, int, int]] = {
    "minute": ("second", 30, 30), "hour": ("minute", 30, 30), "day": ("hour", 12, 12),
    "year": ("month", 6, 6),
}  # fmt: skip

S = r"\s{1,3}"
MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b"
)
WEEKDAY = (
    r"(?:mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:r(?:s(?:day)?)?)?|fri(?:day)?|sat(?:urday)?"
    r"|sun(?:day)?)\b"
)
SEASON = r"(?:spring|summer|fall|autumn|winter)\b"
UNIT = (
    r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|wks?|fortnights?|months?|mths?|quarters?|years?|yrs?"
    r"|decades?)\b"
)
_UP_TO_99 = rf"(?:(?:{'|'.join(_TENS)})(?:[-\s](?:{'|'.join(_ONES)})\b)?|{'|'.join(_TEENS | _ONES)})"
NUMBER = (
    rf"(?:(?:an?|{'|'.join(_ONES)}){S}hundred\b(?:{S}(?:and{S})?{_UP_TO_99}\b)?|{_UP_TO_99}|an?|[0-9]{{1,4}})"
)
COUNT = (
    rf"(?:(?:half{S}|a{S})?(?:couple(?:{S}of)?|few)|several|half{S}an?"
    rf"|{NUMBER}(?:(?:{S}(?:or|to){S}|\s?[-\u2013]\s?){NUMBER})?)\b"
)
# what is counted is not dated: "in 2000 lines", "from 1950 users"
_COUNTED = (
    r"people|users?|lines?|rows?|tokens?|requests?|steps?|points?|items?|times|characters?|chars|words?|bytes?"
    r"|files?|documents?|docs|records?|messages?|events?|memories|calls?|iterations?|epochs?|samples?|tests?"
    r"|dollars?|euros?|pounds?|percent|miles?|meters?|metres?|feet|pixels?|px|ms|kb|mb|gb|kg|km|rpm|watts?"
    r"|seconds?|minutes?|hours?|days?|weeks?|months?|years?|degrees?|calories|nodes?|vectors?|pages?|entries"
)
NOT_COUNTED = rf"(?!\s{{0,3}}(?:%|(?:{_COUNTED})\b))"
NO_NOUN = (
    rf"(?=\s{{0,3}}(?:[.,;:!?)\u2013-]|\Z)|{S}(?:at|in|with|for|to|until|but|because|so|we|i|you|he|she|they|it"
    r"|is|was|will|if|when|as|w|my|our|his|her|their|from|then|the|there|morning|afternoon|evening|night|now"
    r"|instead|between|i'm|i'll|we're|we'll|and\s(?:[a-z]|the)|or\s(?:[a-z]|the))\b)"
)
"""What follows is no noun: "the 14th floor", "the 2nd of them", "the 1st and 2nd row" name no day."""
NOTHING_COUNTED = re.compile(NO_NOUN)
SHORT_YEAR = r"['\u2018][0-9]{2}(?!['0-9])"
""" "'98": an apostrophe, and no quote behind it."""
YEAR_END = rf"(?![\w%]|[.,:/-][0-9]|-|\.[a-z]){NOT_COUNTED}"
IN_YEAR = (
    rf"(?:(?:,?{S}(?:(?:of|in){S})?|-)(?:(?P<year>[0-9]{{4}}|{SHORT_YEAR})(?![\w%]|[.,:/-][0-9]){NOT_COUNTED}"
    rf"|(?P<when>last|this|next){S}year\b))"
)

_YEARS_AHEAD = 10
_ONE_NUMBER = re.compile(rf"\b{NUMBER}\b")
_PARTS = re.compile(r"[-\s]+")


def fold(text: str) -> str:
    """Return the text with ASCII letters lower case and straight apostrophes, character for character."""
    return text.lower() if text.isascii() else text.translate(_FOLD)


def month_number(word: str) -> int:
    """Return 1 to 12 for a month name or its abbreviation."""
    return _MONTH_KEYS.index(word[:3]) + 1


def weekday_number(word: str) -> int:
    """Return 0 (Monday) to 6 for a weekday name or its abbreviation."""
    return _WEEKDAY_KEYS.index(word[:3])


def year_number(written: str, today: date) -> int:
    """Return the year of four digits, or of the last two: the latest one up to ten years ahead."""
    digits = written.strip("'\u2018")
    if len(digits) > 2:  # noqa: PLR2004 a century is left out
        return int(digits)
    latest = today.year + _YEARS_AHEAD
    return latest - (latest - int(digits)) % 100


def measure(count: str, unit: str) -> tuple[Unit, int, int]:
    """Return the calendar unit, and its least and greatest number, of counting words and a unit word.

    Raises:
        ValueError: They count nothing (zero).
        KeyError: They halve a unit that has no smaller whole one (half a week).
    """
    if count.startswith("half"):
        return _HALVES[unit]
    base, multiple = _UNITS[unit.removesuffix("s")]
    low, high = _count(count)
    return base, low * multiple, high * multiple


def _count(words: str) -> tuple[int, int]:
    """Return the least and the greatest number that counting words mean."""
    if "couple" in words:
        return 2, 2
    if "few" in words:
        return 2, 4
    if words == "several":
        return 3, 7
    numbers = sorted(_value(match[0]) for match in _ONE_NUMBER.finditer(words))
    if numbers[0] < 1:
        raise ValueError(words)
    return numbers[0], numbers[-1]


def _value(number: str) -> int:
    """Return the value of a number in words or digits ("a hundred and twenty-one")."""
    value = 0
    for part in _PARTS.split(number):
        if part == "hundred":
            value *= 100
        elif part != "and":
            value += NUMBERS.get(part) or int(part)
    return value
