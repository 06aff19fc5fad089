"""Rules for years and parts of them: "in 2019", "the '90s", "Q3 2024", "last summer".

A form that could be something else (a bare four-digit number) needs a cue word in front of it, or stays weak.
"""

from __future__ import annotations

import re
from datetime import date

from helix_shared.timex.cues import AMOUNT_CUES, MONTH_CUES, SEASON_CUES, YEAR_CUES
from helix_shared.timex.reading import Passage, Reading, Rule, cue_of, word_before, words_before
from helix_shared.timex.rules.recurring import in_year
from helix_shared.timex.windows import Which, Window, calendar_unit, days, season, yearly
from helix_shared.timex.words import IN_YEAR, NOT_COUNTED, SEASON, SEASONS, YEAR_END, S, year_number

_OUR_YEARS = range(1900, 2100)
_ORDINALS = ("first", "second", "third", "fourth")
_SHORT_YEAR_CUES = YEAR_CUES - AMOUNT_CUES


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

    return in_year(passage, match, "quarter", make)


def _read_season(passage: Passage, match: re.Match[str]) -> Reading | None:
    if not match["year"] and not match["when"] and word_before(passage, match.start()) not in SEASON_CUES:
        return None
    month = SEASONS[match["season"]]

    def make(year: int) -> Window:
        return season(passage.frame, month, year)

    return in_year(passage, match, "season", make)


def season_of(passage: Passage, name: str, which: Which) -> Window:
    """Return the last, this or next season of a name."""
    return yearly(passage.frame, lambda year: season(passage.frame, SEASONS[name], year), which)


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

YEAR_RULES = (_YEAR_QUARTER, _DECADE, _YEAR)
SHORT_YEAR_RULES = (_SHORT_YEAR, _SHORT_DECADE)
QUARTER_RULES = (_QUARTER,)
SEASON_RULES = (_SEASON,)
