"""Rules for days with a name that have the same date every year: "till Christmas", "Halloween 2019"."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from helix_shared.timex.reading import Passage, Reading, Rule, is_title_case, word_before
from helix_shared.timex.rules.recurring import in_year
from helix_shared.timex.windows import Which, Window, one_day, yearly
from helix_shared.timex.words import IN_YEAR, NO_NOUN, S

_CHRISTMAS: Final = {"eve": (12, 24), "day": (12, 25), None: (12, 25)}
_NEW_YEAR: Final = {"eve": (12, 31), "day": (1, 1)}
_OTHERS: Final = {"halloween": (10, 31), "boxing": (12, 26), "valentine": (2, 14), "nye": (12, 31)}
"""Month and day; of the others by the first letters of the name."""
_CUES: Final = frozenset([
    "at", "by", "before", "after", "until", "till", "til", "over", "on", "since", "around",
])  # fmt: skip
"""Without one of these a name may be about the custom ("I love Christmas", "socks for Christmas")."""
_WHICH: Final[dict[str, Which]] = {"last": "last", "this": "this", "next": "next"}


def _read_holiday(passage: Passage, match: re.Match[str]) -> Reading | None:
    if match["other"] == "nye" and is_title_case(passage, match.span("other")):
        return None
    month, day = _month_and_day(match)

    def make(year: int) -> Window:
        return one_day(passage.frame, date(year, month, day))

    if match["pointer"]:
        return Reading(yearly(passage.frame, make, _WHICH[match["pointer"]]), match.span(), "day")
    reading = in_year(passage, match, "day", make)
    is_named = reading.cycle is None or word_before(passage, match.start()) in _CUES
    return reading if is_named else None


def _month_and_day(match: re.Match[str]) -> tuple[int, int]:
    if match["christmas"]:
        return _CHRISTMAS[match["part"]]
    if match["new_year"]:
        return _NEW_YEAR[match["new_year"]]
    return next(found for start, found in _OTHERS.items() if match["other"].startswith(start))


HOLIDAY_RULES = (
    Rule(
        re.compile(
            rf"(?:(?P<pointer>last|this|next){S})?"
            rf"(?:(?P<christmas>christmas|xmas)(?:{S}(?P<part>eve|day))?|new{S}year'?s{S}(?P<new_year>eve|day)"
            rf"|(?P<other>nye|halloween|boxing{S}day|valentine'?s(?:{S}day)?))"
            # the date itself may follow: "Christmas Eve, 24 December 2024"
            rf"(?:{IN_YEAR}|(?!,?{S}(?:the{S})?[0-9])(?:{NO_NOUN}|(?={S}(?:probably|maybe|anyway|and|i)\b)))"
        ),
        _read_holiday,
    ),
)
