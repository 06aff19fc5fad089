"""Rules for days with a name that have the same date every year: "till Christmas", "last Halloween"."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from helix_shared.timex.reading import Passage, Reading, Rule, word_before
from helix_shared.timex.tense import implied
from helix_shared.timex.windows import Which, Window, one_day, yearly
from helix_shared.timex.words import S

_CHRISTMAS: Final = rf"(?:christmas|xmas)(?:{S}(?P<which>eve|day))?"
_DATES: Final = {"halloween": (10, 31), "boxing": (12, 26), "valentine": (2, 14), "nye": (12, 31)}
"""Month and day by the first letters of the name."""
_CHRISTMAS_DATES: Final = {"eve": (12, 24), "day": (12, 25), None: (12, 25)}
_NEW_YEAR_DATES: Final = {"eve": (12, 31), "day": (1, 1)}
_CUES: Final = frozenset([
    "at", "by", "before", "after", "until", "till", "til", "for", "over", "on", "since", "around", "from",
    "to",
])  # fmt: skip
"""Without one of these a name of a day may be about the custom ("I love Christmas")."""
_WHICH: Final[dict[str, Which]] = {"last": "last", "this": "this", "next": "next"}


def _read_holiday(passage: Passage, match: re.Match[str]) -> Reading:
    month, day = _month_and_day(match)

    def make(year: int) -> Window:
        return one_day(passage.frame, date(year, month, day))

    if match["pointer"]:
        return Reading(yearly(passage.frame, make, _WHICH[match["pointer"]]), match.span(), "day")
    which, certainty = implied(passage, match.span())
    window = yearly(passage.frame, make, which)
    weak = word_before(passage, match.start()) not in _CUES
    return Reading(window, match.span(), "day", weak=weak, cycle="year", certainty=certainty)


def _month_and_day(match: re.Match[str]) -> tuple[int, int]:
    if match["christmas"]:
        return _CHRISTMAS_DATES[match["which"]]
    if match["new_year"]:
        return _NEW_YEAR_DATES[match["new_year"]]
    return next(date for start, date in _DATES.items() if match["other"].startswith(start))


HOLIDAY_RULES = (
    Rule(
        re.compile(
            rf"(?:(?P<pointer>last|this|next){S})?(?:(?P<christmas>{_CHRISTMAS})"
            rf"|new{S}year'?s{S}(?P<new_year>eve|day)"
            rf"|(?P<other>nye|halloween|boxing{S}day|valentine'?s?(?:{S}day)?))(?![\w-])"
        ),
        _read_holiday,
    ),
)
