"""Rules for places in a month: "the 14th", "Friday the 13th", "the second weekend of November"."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Final

from helix_shared.timex.cues import DAY_CUES, NO_SINGLE_DAY
from helix_shared.timex.reading import (
    Passage,
    Reading,
    Rule,
    is_work,
    names_weekday,
    word_before,
    words_before,
)
from helix_shared.timex.rules.recurring import STEP
from helix_shared.timex.tense import implied
from helix_shared.timex.verbs import APPOINTMENTS, NEW_TIMES
from helix_shared.timex.windows import (
    Window,
    begin,
    monthly,
    move,
    one_day,
    part_of_month,
    weekday_of_month,
    yearly,
)
from helix_shared.timex.words import (
    IN_YEAR,
    MONTH,
    NO_NOUN,
    NOTHING_COUNTED,
    WEEKDAY,
    S,
    month_number,
    weekday_number,
    year_number,
)

if TYPE_CHECKING:
    from helix_shared.timex.expression import Grain

_ORDINALS: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}
_CUES: Final = DAY_CUES | {"to", "and", "around"}
_IS: Final = frozenset(["is", "was", "isn't", "wasn't"])
_GRAINS: Final[dict[str, Grain]] = {"week": "week", "weekend": "range"}


def _read_day(passage: Passage, match: re.Match[str]) -> Reading | None:
    """Read "the 14th", "the 14th of next month"."""
    number = int(match["day"])
    words = words_before(passage, match.start())
    if words[-1:] != ["the"] and words[-1:] != ["on"]:
        return None
    if match["month"]:
        return _in_month(passage, match)
    if not (match["suits"] or word_before(passage, match.start()) in _CUES or _is_the_date(words)):
        return None
    span = match.start(), match.end("ordinal")
    which, certainty = implied(passage, span)
    # "I'm away from the 20th", said on the 4th, is as near behind as ahead, but it is not over
    day = monthly(passage.frame, number, "past" if which == "past" else "future")
    return Reading(one_day(passage.frame, day), span, "day", cycle="month", certainty=certainty)


def _is_the_date(words: list[str]) -> bool:
    """Tell whether the last words say that an appointment is on a day: "the deadline is now the"."""
    *subject, verb = [word for word in words if word not in ("the", "now", "on", "not")] or [""]
    return verb in _IS and not (APPOINTMENTS | NEW_TIMES).isdisjoint(subject)


def _read_weekday_and_day(passage: Passage, match: re.Match[str]) -> Reading | None:
    """Read "Friday the 13th": the day that is both, without a tense the nearest one."""
    name, span = match["weekday"], match.span()
    if not names_weekday(passage, match.span("weekday")) and not NOTHING_COUNTED.match(
        passage.folded, match.end()
    ):
        return None
    if match["month"]:
        return _in_month(passage, match)
    if is_work(passage, match.span("weekday")) or word_before(passage, match.start()) in NO_SINGLE_DAY:
        return None
    which, certainty = implied(passage, span)
    day = weekday_of_month(
        passage.frame,
        weekday_number(name),
        int(match["day"]),
        which if certainty != "open" else "near",
    )
    return Reading(one_day(passage.frame, day), span, "day", certainty=certainty)


def _in_month(passage: Passage, match: re.Match[str]) -> Reading:
    """Read the day of the last, this or next month."""
    first = move(begin(passage.frame.today, "month"), "month", STEP[match["month"]])
    day = first.replace(day=int(match["day"]))
    return Reading(one_day(passage.frame, day), match.span(), "day")


def _read_part(passage: Passage, match: re.Match[str]) -> Reading:
    """Read "the second weekend of November", "the last Friday of the month"."""
    frame, name, span = passage.frame, match["part"], match.span()
    number = _ORDINALS.get(match["nth"]) or int(match["nth"][0])
    grain = _GRAINS.get(name, "day")
    if match["which"]:
        first = move(begin(frame.today, "month"), "month", STEP[match["which"]])
        return Reading(part_of_month(frame, first, name, number), span, grain)
    month = month_number(match["month"])

    def make(year: int) -> Window:
        return part_of_month(frame, date(year, month, 1), name, number)

    if match["year"] or match["when"]:
        year = (
            year_number(match["year"], frame.today)
            if match["year"]
            else frame.today.year + STEP[match["when"]]
        )
        return Reading(make(year), span, grain, fixed=bool(match["year"]))
    which, certainty = implied(passage, span)
    return Reading(yearly(frame, make, which), span, grain, cycle="year", certainty=certainty)


_SUITS = rf"(?P<suits>{S}(?:works|suits|sounds|fits)\b)"
_DAY = Rule(
    re.compile(
        r"(?P<ordinal>(?P<day>[0-9]{1,2})(?:st|nd|rd|th))\b(?!-)"
        rf"(?:{S}of{S}(?P<month>the|this|next|last){S}month\b|{_SUITS}|{NO_NOUN})"
    ),
    _read_day,
)
_WEEKDAY_AND_DAY = Rule(
    re.compile(
        rf"(?P<weekday>{WEEKDAY})[.,]?{S}(?:the{S})?(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)\b(?!-)"
        rf"(?:{S}of{S}(?P<month>the|this|next|last){S}month\b"
        rf"|(?!{S}(?:time|one|team|half|floor|place|row|edition|grade|season|of)\b))"
    ),
    _read_weekday_and_day,
)
_MONTH_DAY = Rule(
    re.compile(
        rf"(?P<month>last|this|next){S}month,?{S}on{S}(?:the{S})?(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)\b"
    ),
    _in_month,
)
_PART = Rule(
    re.compile(
        rf"(?P<nth>{'|'.join(_ORDINALS)}|[1-5](?:st|nd|rd|th)){S}(?P<part>weekend|week|day|{WEEKDAY}){S}(?:of|in){S}"
        rf"(?:(?P<which>this|next|last|the){S}month\b|(?P<month>{MONTH})(?:{IN_YEAR}|(?![-(=])))"
    ),
    _read_part,
)

DAY_OF_MONTH_RULES = (_DAY,)
WEEKDAY_AND_DAY_RULES = (_WEEKDAY_AND_DAY,)
NTH_RULES = (_PART,)
MONTH_DAY_RULES = (_MONTH_DAY,)
