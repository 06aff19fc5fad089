"""Rules for days and months by name or number: "15 March 2024", "3-17 July", "end of January".

A form without a year takes the one that its clause implies (`recurring`). A bare month, which could be
something else, needs a cue word in front of it, or stays weak.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta

from helix_shared.timex.cues import (
    DAY_CUES,
    DETERMINERS,
    MONTH_CUES,
    NO_VERB_AFTER,
    VERBS,
    YEAR_CUES,
)
from helix_shared.timex.reading import (
    Passage,
    Reading,
    Rule,
    is_moved,
    is_title_case,
    word_before,
    words_before,
)
from helix_shared.timex.rules.iso import ISO
from helix_shared.timex.rules.recurring import in_year
from helix_shared.timex.windows import Which, Window, calendar_unit, days, move, one_day, yearly
from helix_shared.timex.words import (
    IN_YEAR,
    MONTH,
    NOT_COUNTED,
    NOTHING_COUNTED,
    S,
    month_number,
    year_number,
)

# what is left of "30 February 2024" once the day has been refused
_BAD_DAY = re.compile(r"(?:\S* )?[0-9]{1,2}(?:st|nd|rd|th)?(?: of)?\Z")
_AMBIGUOUS_UP_TO = 12
_BESIDE_CHARACTERS = 60
_NUMERIC_DATE = re.compile(
    r"(?<![\w.,/#$+-])(?P<first>[0-9]{1,2})(?P<sep>[-/.])(?P<second>[0-9]{1,2})(?P=sep)(?:[0-9]{4}|[0-9]{2})"
    r"(?![\w/-]|[.:][0-9])"
)
_COUNTING = DETERMINERS | {"these", "those", "all", "least", "most", "only"}
_PARTS_OF_MONTH: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys(("early", "beginning", "start"), (1, 11)),
    **dict.fromkeys(("mid", "middle"), (11, 21)),
    **dict.fromkeys(("late", "end"), (21, None)),
}
"""What the words before a month leave of it; a question keeps the month."""
# "sizes 16/24/32", "for 12/24/36 months": a date of three numbers of two digits needs one of these
_SHORT_DATE_CUES = frozenset(["on", "since", "by", "until", "till", "before", "after", "dated", "due"])


def _read_numeric(passage: Passage, match: re.Match[str]) -> Reading | None:
    first, second = int(match["first"]), int(match["second"])
    is_day_first = _is_day_first(first, second)
    if is_day_first is None:
        is_day_first = first == second or _beside_day_first(passage, match)
    if is_day_first is None:
        return None
    is_short = len(match["year"]) == len("98")
    if is_short and (match["sep"] == "-" or word_before(passage, match.start()) not in _SHORT_DATE_CUES):
        return None
    day, month = (first, second) if is_day_first else (second, first)
    year = year_number(match["year"], passage.frame.today)
    return Reading(one_day(passage.frame, date(year, month, day)), match.span(), "day", fixed=True)


def _is_day_first(first: int, second: int) -> bool | None:
    """Tell "13/04" from "04/13"; None for "03/04", which could be either."""
    if (first > _AMBIGUOUS_UP_TO) == (second > _AMBIGUOUS_UP_TO):
        return None
    return first > _AMBIGUOUS_UP_TO


def _beside_day_first(passage: Passage, match: re.Match[str]) -> bool | None:
    """Tell how the dates beside one are written, with the same marks: people write all of them alike."""
    start = max(0, match.start() - _BESIDE_CHARACTERS)
    beside = _NUMERIC_DATE.finditer(passage.folded, start, match.end() + _BESIDE_CHARACTERS)
    told = {
        _is_day_first(int(other["first"]), int(other["second"]))
        for other in beside
        if other["sep"] == match["sep"]
    }
    told.discard(None)
    return told.pop() if len(told) == 1 else None


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
    is_new = (
        groups.get("last_day") is not None
        and word_before(passage, match.start()) == "from"
        and is_moved(passage, match.start())
    )
    if is_new:
        # "moved from the 8th to the 13th October" is no range
        first = last
    if last < first or (groups.get("and") and word_before(passage, match.start()) != "between"):
        return None

    def make(year: int) -> Window:
        return days(passage.frame, date(year, month, first), date(year, month, last) + timedelta(days=1))

    return in_year(passage, match, "day" if last == first else "range", make, is_new=is_new)


def _stands_alone(passage: Passage, match: re.Match[str]) -> bool:
    """Whether no one is counted ("the 20 may leave") and no noun or verb follows ("20 may")."""
    words = words_before(passage, match.start())
    return _COUNTING.isdisjoint(words[-1:]) and bool(NOTHING_COUNTED.match(passage.folded, match.end()))


def _is_name(passage: Passage, match: re.Match[str]) -> bool:
    """Whether the month cannot be a verb ("may", "march"), or is written as a name."""
    return match["month"] not in VERBS or is_title_case(passage, match.span("month"))


def _read_month(passage: Passage, match: re.Match[str]) -> Reading | None:
    month, words = month_number(match["month"]), words_before(passage, match.start())
    if _BAD_DAY.match(" ".join(words[-2:])):
        return None
    part = None if passage.asks else _part_of_month(words)

    def make(year: int) -> Window:
        first = date(year, month, 1)
        if part is None:
            return calendar_unit(passage.frame, first, "month")
        after = first.replace(day=part[1]) if part[1] else move(first, "month", 1)
        return days(passage.frame, first.replace(day=part[0]), after)

    reading = in_year(passage, match, "range" if part else "month", make)
    if reading.cycle is None:
        return reading
    cue = word_before(passage, match.start())
    strong = cue in (MONTH_CUES if _is_name(passage, match) else NO_VERB_AFTER)
    is_new = (
        cue == "to"
        and bool(NOTHING_COUNTED.match(passage.folded, match.end()))
        and is_moved(passage, match.start())
    )
    return replace(reading, weak=not (strong or is_new))


def _part_of_month(words: list[str]) -> tuple[int, int | None] | None:
    """Return the first day, and the day after the last, of the part that words name ("late", "end of")."""
    *before, last = [word.rstrip("-") for word in words if word != "the"] or [""]
    return _PARTS_OF_MONTH.get(before[-1] if last == "of" and before else last)


def _read_iso_month(passage: Passage, match: re.Match[str]) -> Reading | None:
    if word_before(passage, match.start()) not in YEAR_CUES:
        return None
    window = calendar_unit(passage.frame, date(int(match["year"]), int(match["month"]), 1), "month")
    return Reading(window, match.span(), "month", fixed=True)


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
_CLOCK = rf"(?:{S}[0-9]{{2}}(?::[0-9]{{2}}){{2}}(?:{S}[a-z]{{3,4}})?(?={S}[0-9]{{4}}(?![\w:.-])))?"
"""Between day and year, as `git log` and `date` write it: "Nov 24 09:00:00 2026"."""
_MONTH_SEP = rf"(?:{S}(?:(?P<of>of){S})?|-)"

_MONTH_DAY = Rule(
    re.compile(
        rf"(?P<month>{MONTH})\.?{S}(?:the{S})?(?P<day>[0-9]{{1,2}}){_SUFFIX}(?:{_LAST_DAY})?{_DAY_END}{NOT_COUNTED}"
        rf"{_CLOCK}{IN_YEAR}?"
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

DATE_RULES = (ISO, _NUMERIC, _DAY_MONTH, _ISO_MONTH)
MONTH_RULES = (_MONTH_DAY, _MONTH_YEAR)
