"""Rules for dates by name or number: "15 March 2024", months, quarters, seasons, years, decades.

A form without a year takes the nearest one (see `implied`); a form that could be something else (a bare
month, a bare four-digit number) needs a cue word in front of it, or stays weak.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING

from helix_shared.timex.cues import (
    AMOUNT_CUES,
    DAY_CUES,
    DETERMINERS,
    MONTH_CUES,
    NO_VERB_AFTER,
    SEASON_CUES,
    VERBS,
    YEAR_CUES,
)
from helix_shared.timex.reading import (
    Passage,
    Reading,
    Rule,
    cue_of,
    is_title_case,
    word_before,
    words_before,
)
from helix_shared.timex.rules.iso import ISO
from helix_shared.timex.tense import implied
from helix_shared.timex.windows import Which, Window, calendar_unit, days, one_day, season, yearly
from helix_shared.timex.words import (
    IN_YEAR,
    MONTH,
    NOT_COUNTED,
    NOTHING_COUNTED,
    SEASON,
    SEASONS,
    YEAR_END,
    S,
    month_number,
    year_number,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from helix_shared.timex.expression import Grain

_OUR_YEARS = range(1900, 2100)
# what is left of "30 February 2024" once the day has been refused
_BAD_DAY = re.compile(r"(?:\S* )?[0-9]{1,2}(?:st|nd|rd|th)?(?: of)?\Z")
_AMBIGUOUS_UP_TO = 12
_COUNTING = DETERMINERS | {"these", "those", "all", "least", "most", "only"}
_ORDINALS = ("first", "second", "third", "fourth")
_SHORT_YEAR_CUES = YEAR_CUES - AMOUNT_CUES
# "sizes 16/24/32", "for 12/24/36 months": a date of three numbers of two digits needs one of these
_SHORT_DATE_CUES = frozenset(["on", "since", "by", "until", "till", "before", "after", "dated", "due"])
_STEP: dict[str | None, int] = {"last": -1, "this": 0, "next": 1}


def _year_of(passage: Passage, match: re.Match[str]) -> int | None:
    """Return the year a match names ("2024", "last year"), or None when it names none."""
    groups = match.groupdict()
    if groups["year"]:
        return year_number(groups["year"], passage.frame.today)
    if groups["when"]:
        return passage.frame.today.year + _STEP[groups["when"]]
    return None


def _in_year(passage: Passage, match: re.Match[str], grain: Grain, make: Callable[[int], Window]) -> Reading:
    """Return the reading of a form that recurs every year, with the year named or implied."""
    year = _year_of(passage, match)
    if year is not None:
        return Reading(make(year), match.span(), grain, fixed=not match["when"])
    which, certainty = implied(passage, match.span())
    window = yearly(passage.frame, make, which)
    return Reading(window, match.span(), grain, cycle="year", certainty=certainty)


def _read_numeric(passage: Passage, match: re.Match[str]) -> Reading | None:
    first, second = int(match["first"]), int(match["second"])
    if (first > _AMBIGUOUS_UP_TO) == (second > _AMBIGUOUS_UP_TO):
        return None
    is_short = len(match["year"]) == len("98")
    if is_short and (match["sep"] == "-" or word_before(passage, match.start()) not in _SHORT_DATE_CUES):
        return None
    day, month = (first, second) if first > _AMBIGUOUS_UP_TO else (second, first)
    year = year_number(match["year"], passage.frame.today)
    return Reading(one_day(passage.frame, date(year, month, day)), match.span(), "day", fixed=True)


def _read_day_of_month(passage: Passage, match: re.Match[str]) -> Reading | None:
    groups = match.groupdict()
    sure = groups["suffix"] or groups.get("of") or groups["year"] or groups["when"]
    if not (
        sure
        or _is_name(passage, match)
        or word_before(passage, match.start()) in DAY_CUES
        or _stands_alone(passage, match)
    ):
        return None
    month, first = month_number(match["month"]), int(match["day"])
    last = int(groups.get("last_day") or first)
    if last < first or (groups.get("and") and word_before(passage, match.start()) != "between"):
        return None

    def make(year: int) -> Window:
        return days(passage.frame, date(year, month, first), date(year, month, last) + timedelta(days=1))

    return _in_year(passage, match, "day" if last == first else "range", make)


def _stands_alone(passage: Passage, match: re.Match[str]) -> bool:
    """Whether no one is counted ("the 20 may leave") and no noun or verb follows ("20 may")."""
    words = words_before(passage, match.start())
    return _COUNTING.isdisjoint(words[-1:]) and bool(NOTHING_COUNTED.match(passage.folded, match.end()))


def _is_name(passage: Passage, match: re.Match[str]) -> bool:
    """Whether the month cannot be a verb ("may", "march"), or is written as a name."""
    return match["month"] not in VERBS or is_title_case(passage, match.span("month"))


def _read_month(passage: Passage, match: re.Match[str]) -> Reading | None:
    month = month_number(match["month"])
    if _BAD_DAY.match(" ".join(words_before(passage, match.start())[-2:])):
        return None

    def make(year: int) -> Window:
        return calendar_unit(passage.frame, date(year, month, 1), "month")

    reading = _in_year(passage, match, "month", make)
    if reading.cycle is None:
        return reading
    cue = word_before(passage, match.start())
    strong = cue in (MONTH_CUES if _is_name(passage, match) else NO_VERB_AFTER)
    return replace(reading, weak=not strong)


def _read_iso_month(passage: Passage, match: re.Match[str]) -> Reading | None:
    if word_before(passage, match.start()) not in YEAR_CUES:
        return None
    window = calendar_unit(passage.frame, date(int(match["year"]), int(match["month"]), 1), "month")
    return Reading(window, match.span(), "month", fixed=True)


def _read_year(passage: Passage, match: re.Match[str]) -> Reading | None:
    year = int(match["year"])
    words = words_before(passage, match.start())
    cue = cue_of(words)
    # "page 3 of 2010", "1920 by 1600"
    if len(words) > 1 and words[-2][-1:].isdigit() and cue in ("of", "by"):
        return None
    strong = cue in YEAR_CUES and (year in _OUR_YEARS or cue not in AMOUNT_CUES)
    window = calendar_unit(passage.frame, date(year, 1, 1), "year")
    return Reading(window, match.span(), "year", fixed=True, weak=not strong)


def _read_short_year(passage: Passage, match: re.Match[str]) -> Reading:
    """Read "in '98"; without a cue it is a year as one end of a range only."""
    first = date(year_number(match["year"], passage.frame.today), 1, 1)
    strong = word_before(passage, match.start()) in _SHORT_YEAR_CUES
    window = calendar_unit(passage.frame, first, "year")
    return Reading(window, match.span(), "year", fixed=True, weak=not strong)


def _read_short_decade(passage: Passage, match: re.Match[str]) -> Reading:
    """Read "the '90s"; a decade of two digits has begun."""
    latest = passage.frame.today.year
    first = latest - (latest - int(match["year"])) % 100
    window = days(passage.frame, date(first, 1, 1), date(first + 10, 1, 1))
    return Reading(window, match.span(), "range", fixed=True)


def _read_decade(passage: Passage, match: re.Match[str]) -> Reading:
    first = int(match["year"])
    window = days(passage.frame, date(first, 1, 1), date(first + 10, 1, 1))
    return Reading(window, match.span(), "range", fixed=True)


def _read_quarter(passage: Passage, match: re.Match[str]) -> Reading | None:
    number = int(match["number"]) if match["number"] else _ORDINALS.index(match["ordinal"]) + 1
    if not match["year"] and not match["when"] and word_before(passage, match.start()) not in MONTH_CUES:
        return None

    def make(year: int) -> Window:
        return calendar_unit(passage.frame, date(year, 3 * number - 2, 1), "quarter")

    return _in_year(passage, match, "quarter", make)


def _read_season(passage: Passage, match: re.Match[str]) -> Reading | None:
    if not match["year"] and not match["when"] and word_before(passage, match.start()) not in SEASON_CUES:
        return None
    month = SEASONS[match["season"]]

    def make(year: int) -> Window:
        return season(passage.frame, month, year)

    return _in_year(passage, match, "season", make)


def season_of(passage: Passage, name: str, which: Which) -> Window:
    """Return the last, this or next season of a name."""
    return yearly(passage.frame, lambda year: season(passage.frame, SEASONS[name], year), which)


def month_of(passage: Passage, name: str, which: Which) -> Window:
    """Return the last, this or next month of a name."""
    number = month_number(name)
    return yearly(
        passage.frame, lambda year: calendar_unit(passage.frame, date(year, number, 1), "month"), which
    )


_SUFFIX = r"(?P<suffix>st|nd|rd|th)?"
_LAST_DAY = (
    rf"(?:\s?[-\u2013]\s?|{S}(?:to|through|until|(?P<and>and)){S}(?:the{S})?)"
    r"(?P<last_day>[0-9]{1,2})(?:st|nd|rd|th)?"
)
_DAY_END = rf"(?![\w:%]|[.,/-][0-9]|,?{S}[0-9]{{5}})"
_MONTH_SEP = rf"(?:{S}(?:(?P<of>of){S})?|-)"

_MONTH_DAY = Rule(
    re.compile(
        rf"(?P<month>{MONTH})\.?{S}(?:the{S})?(?P<day>[0-9]{{1,2}}){_SUFFIX}(?:{_LAST_DAY})?{_DAY_END}{NOT_COUNTED}{IN_YEAR}?"
    ),
    _read_day_of_month,
)
_DAY_MONTH = Rule(
    re.compile(
        rf"(?P<day>[0-9]{{1,2}}){_SUFFIX}(?:{_LAST_DAY})?{_MONTH_SEP}(?P<month>{MONTH})\.?"
        rf"(?!,?{S}[0-9]{{5}}){IN_YEAR}?"
    ),
    _read_day_of_month,
)
_MONTH_YEAR = Rule(
    re.compile(rf"(?P<month>{MONTH})\.?(?:{IN_YEAR}|(?!{S}[0-9]|,{S}[0-9]{{4}}|-[a-z0-9]|[(=]))"),
    _read_month,
)
_NUMERIC = Rule(
    re.compile(
        r"(?P<first>[0-9]{1,2})(?P<sep>[-/.])(?P<second>[0-9]{1,2})(?P=sep)(?P<year>[0-9]{4}|[0-9]{2})"
        rf"(?![\w/-]|[.:][0-9]){NOT_COUNTED}"
    ),
    _read_numeric,
)
_ISO_MONTH = Rule(re.compile(r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})(?![\w/-]|[.:][0-9])"), _read_iso_month)
_YEAR = Rule(re.compile(rf"(?P<year>1[5-9][0-9]{{2}}|2[01][0-9]{{2}}){YEAR_END}"), _read_year)
_DECADE = Rule(re.compile(r"(?P<year>1[5-9][0-9]0|20[0-9]0)'?s\b"), _read_decade)
_SHORT_YEAR = Rule(
    re.compile(rf"['\u2018](?P<year>[0-9]{{2}})(?![\w%']|[.,:/-][0-9]){NOT_COUNTED}"), _read_short_year
)
_SHORT_DECADE = Rule(re.compile(r"['\u2018](?P<year>[0-9]0)'?s\b"), _read_short_decade)
_QUARTER = Rule(
    re.compile(rf"(?:q(?P<number>[1-4])|(?P<ordinal>{'|'.join(_ORDINALS)}){S}quarter)\b{IN_YEAR}?"),
    _read_quarter,
)
_YEAR_QUARTER = Rule(
    re.compile(r"(?P<year>[0-9]{4})(?P<when>)(?P<ordinal>)[\s-]q(?P<number>[1-4])\b"), _read_quarter
)
_SEASON = Rule(
    re.compile(rf"(?P<season>{SEASON}){IN_YEAR}?(?!{S}(?:boot|framework|security|data)\b)"), _read_season
)

DATE_RULES = (ISO, _NUMERIC, _DAY_MONTH, _ISO_MONTH, _YEAR_QUARTER, _DECADE, _YEAR)
SHORT_YEAR_RULES = (_SHORT_YEAR, _SHORT_DECADE)
MONTH_RULES = (_MONTH_DAY, _MONTH_YEAR)
QUARTER_RULES = (_QUARTER,)
SEASON_RULES = (_SEASON,)
