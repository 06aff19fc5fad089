"""Where an expression may begin, and the longest reading of a single rule there.

Holds the trigger, one pattern, and the table from its groups to the rules. A text without a match costs one
search. `composed` and `scan` build on it.
"""

from __future__ import annotations

import re

from helix_shared.timex.reading import Passage, Reading, Rule
from helix_shared.timex.rules.counted import IN_RULES, PART_RULES, TAIL_RULES
from helix_shared.timex.rules.dates import DATE_RULES, MONTH_RULES
from helix_shared.timex.rules.holidays import HOLIDAY_RULES
from helix_shared.timex.rules.ordinals import (
    DAY_OF_MONTH_RULES,
    MONTH_DAY_RULES,
    NTH_RULES,
    WEEKDAY_AND_DAY_RULES,
)
from helix_shared.timex.rules.relative import DAY_RULES, END_RULES, POINTER_RULES, WEEKDAY_RULES
from helix_shared.timex.rules.years import QUARTER_RULES, SEASON_RULES, SHORT_YEAR_RULES, YEAR_RULES
from helix_shared.timex.words import DAYS, MONTH, NUMBER, NUMBERS, SEASON, TONIGHT, UNIT, WEEKDAY, S

_COUNT_WORDS = "|".join(word for word in NUMBERS if word not in ("a", "an"))
ANCHORED_UNIT = rf"(?:day|week|weekend|month|quarter|year|{WEEKDAY})"
SIDE = rf"(?:before|after|following|prior{S}to|of)"
# a number begins an expression if it has four digits, is part of a date, or a month or unit follows
_TO = rf"(?:\s?[-\u2013]\s?|{S}(?:or|to|and|through|until){S}(?:the{S})?)"
_NUMERIC_START = (
    r"[0-9](?=[0-9]{3}(?![0-9])|[0-9]?(?:st|nd|rd|th)\b|[0-9]?[-/.][0-9]{1,2}[-/.][0-9]{2}(?:[0-9]{2})?\b"
    rf"|[0-9]{{0,3}}(?:st|nd|rd|th)?(?:{_TO}{NUMBER}(?:st|nd|rd|th)?)?(?:{S}(?:of{S})?|-)(?:{MONTH}|{UNIT}))"
)
TRIGGER = re.compile(
    r"(?=[a-z])(?:(?<![\w@#$\\/-])(?<!\w\.)|(?<=\bmid-))(?:"
    r"(?P<pointer>(?:last|this|next|past|previous|coming|upcoming|current)\b)"
    rf"|(?P<day>(?:{'|'.join(DAYS)}|{TONIGHT}|now)\b)"
    rf"|(?P<in>in(?={S}(?:[0-9]|(?:an?|about|around|another|half|few|couple|several|{_COUNT_WORDS})\b)))"
    rf"|(?P<nth>(?:first|second|third|fourth|fifth)(?={S}(?:weekend|week|day|{WEEKDAY}){S}(?:of|in)\b))"
    rf"|(?P<unit>(?:the{S})?{ANCHORED_UNIT}(?={S}{SIDE}\b))"
    rf"|(?P<end>(?:end|beginning|start|middle)(?={S}of{S}(?:the{S})?(?:week|month|quarter|year)\b))"
    rf"|(?P<month>{MONTH})|(?P<weekday>{WEEKDAY})|(?P<season>{SEASON})"
    r"|(?P<holiday>(?:christmas|xmas|boxing\sday|new\syear'?s|nye|halloween|valentine'?s?)\b)"
    r"|(?P<quarter>q[1-4]\b|(?:first|second|third|fourth)\squarter\b)|(?P<part>(?:earlier|later)\b)"
    rf"|(?P<count>(?:couple|few|several|half|an?(?={S}(?:couple|few|hundred|{UNIT}))|{_COUNT_WORDS})\b)"
    rf")|(?=[0-9])(?:(?<![\w.,/#$+-])|(?<=\bmid-))(?P<digit>{_NUMERIC_START})"
    r"|(?<![\w.,/#$+'-])(?P<short>['\u2018](?=[0-9]{2}(?:'?s\b|(?![\w%']))))"
)
_RULES: dict[str, tuple[Rule, ...]] = {
    "pointer": (*POINTER_RULES, *NTH_RULES, *MONTH_DAY_RULES, *HOLIDAY_RULES),
    "day": DAY_RULES,
    "in": IN_RULES,
    "nth": NTH_RULES,
    "unit": WEEKDAY_RULES,
    "end": END_RULES,
    "month": MONTH_RULES,
    "weekday": (*WEEKDAY_RULES, *WEEKDAY_AND_DAY_RULES),
    "season": SEASON_RULES,
    "holiday": HOLIDAY_RULES,
    "quarter": QUARTER_RULES,
    "part": PART_RULES,
    "count": TAIL_RULES,
    "short": SHORT_YEAR_RULES,
    "digit": (*DATE_RULES, *YEAR_RULES, *DAY_OF_MONTH_RULES, *NTH_RULES, *TAIL_RULES),
}


def simple_at(passage: Passage, trigger: re.Match[str]) -> Reading | None:
    """Return the longest reading of one rule that begins at a trigger."""
    return longest(passage, _RULES[trigger.lastgroup or ""], trigger.start())


def longest(passage: Passage, rules: tuple[Rule, ...], start: int) -> Reading | None:
    """Return the longest reading the rules give at a position."""
    best: Reading | None = None
    for rule in rules:
        match = rule.pattern.match(passage.folded, start)
        if match and (best is None or match.end() > best.span[1]):
            best = _read(rule, passage, match) or best
    return best


def _read(rule: Rule, passage: Passage, match: re.Match[str]) -> Reading | None:
    """Apply a rule; None for a date that does not exist or is outside the range of datetime."""
    try:
        reading = rule.read(passage, match)
    except (ValueError, OverflowError, KeyError):
        return None
    return reading if reading and reading.window[0] < reading.window[1] else None
