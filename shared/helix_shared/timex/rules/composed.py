"""Times relative to another time: "two weeks before 1 May", "the Friday after", "Friday of last week".

The other time is a simple reading (`simple`), so compositions are not nested.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from helix_shared.timex.reading import Passage, Reading, Rule
from helix_shared.timex.rules.relative import unit_window
from helix_shared.timex.rules.simple import ANCHORED_UNIT, SIDE, TRIGGER, longest, simple_at
from helix_shared.timex.windows import (
    Frame,
    Window,
    begin,
    calendar_unit,
    local_date,
    one_day,
    slide,
    weekday,
    weekend,
)
from helix_shared.timex.words import COUNT, UNIT, WEEKDAY, S, measure, weekday_number

if TYPE_CHECKING:
    from datetime import datetime

    from helix_shared.timex.expression import Grain

_WEEK = timedelta(days=7)
_MOMENT = timedelta(microseconds=1)


def composed_at(passage: Passage, trigger: re.Match[str]) -> Reading | None:
    """Return the longest composition that begins at a trigger."""
    rules = _RULES.get(trigger.lastgroup or "")
    return longest(passage, rules, trigger.start()) if rules else None


def _anchor_at(passage: Passage, position: int) -> tuple[Reading, str] | None:
    """Return the other time of a composition, and the kind of its trigger."""
    trigger = TRIGGER.match(passage.folded, position)
    anchor = simple_at(passage, trigger) if trigger else None
    if trigger is None or anchor is None or anchor.weak:
        return None
    return anchor, trigger.lastgroup or ""


def _read_distance(passage: Passage, match: re.Match[str]) -> Reading | None:
    """Read "two weeks before X": the second week counted back from the start of X."""
    found = _anchor_at(passage, match.end())
    if not found:
        return None
    anchor, _ = found
    if match["side"] == "from" and anchor.cycle == "week":
        anchor = _coming(passage.frame, anchor)
    unit, low, high = measure(match["count"], match["unit"])
    if match["side"] == "from" and anchor.grain in _LONGER.get(unit, ()):
        # "cut to 10 hours from February", "three days from October": an amount that begins then
        return None
    if _is_before(match["side"]):
        edge, near, far = anchor.window[0], 1 - low, -high
    else:
        edge, near, far = anchor.window[1], low - 1, high
    window = (
        slide(passage.frame, edge, unit, min(near, far)),
        slide(passage.frame, edge, unit, max(near, far)),
    )
    grain: Grain = unit if low == high else "range"
    return Reading(
        window, (match.start(), anchor.span[1]), grain, fixed=anchor.fixed, certainty=anchor.certainty
    )


def _coming(frame: Frame, anchor: Reading) -> Reading:
    """Return the weekday of "a week from Friday", which always lies ahead."""
    day = weekday(frame.today, local_date(frame, anchor.window[0]).weekday(), "future")
    return replace(anchor, window=one_day(frame, day))


def _is_before(side: str) -> bool:
    """Tell "before" and "prior to" from "after", "from" and "following"."""
    return side.startswith(("before", "prior"))


def _read_neighbour(passage: Passage, match: re.Match[str]) -> Reading | None:
    """Read "the week before X", "the Friday after X", "the week of X", "Friday of X"."""
    found = _anchor_at(passage, match.end())
    if not found:
        return None
    anchor, _ = found
    name, frame = match["unit"], passage.frame
    if match["side"] == "of":
        window = _part_of(frame, name, anchor)
    elif _is_before(match["side"]):
        window = _before(frame, name, anchor.window[0])
    else:
        window = _after(frame, name, anchor.window[1])
    if window is None:
        return None
    return Reading(
        window, (match.start(), anchor.span[1]), _grain(name), fixed=anchor.fixed, certainty=anchor.certainty
    )


def _grain(name: str) -> Grain:
    """Return the grain of a unit, weekend or weekday."""
    if name == "weekend":
        return "range"
    return "day" if name.endswith("day") else measure("one", name)[0]


def _part_of(frame: Frame, name: str, anchor: Reading) -> Window | None:
    """Return the unit that holds a day, or the weekday or weekend of a week; None for what has no meaning."""
    day = local_date(frame, anchor.window[0])
    if anchor.grain == "week" and name not in _UNIT_NAMES:
        return one_day(frame, weekday(day, weekday_number(name), "this"))
    if name == "weekend" and anchor.grain in ("day", "week"):
        return weekend(frame, day)
    if name == anchor.grain:
        return anchor.window
    if anchor.grain == "day" and name in ("week", "month", "quarter", "year"):
        return calendar_unit(frame, day, measure("one", name)[0])
    return None


def _before(frame: Frame, name: str, edge: datetime) -> Window:
    """Return the last unit, weekday or weekend that ends by a moment."""
    day = local_date(frame, edge)
    if name == "weekend":
        return weekend(frame, begin(day, "week") - _WEEK)
    if name not in _UNIT_NAMES:
        return one_day(frame, weekday(day, weekday_number(name), "last"))
    return slide(frame, edge, measure("one", name)[0], -1), edge


def _after(frame: Frame, name: str, edge: datetime) -> Window:
    """Return the first unit, weekday or weekend that begins at a moment or later."""
    last_day = local_date(frame, edge - _MOMENT)
    if name == "weekend":
        saturday = weekday(last_day, weekday_number("sat"), "next")
        return weekend(frame, saturday)
    if name not in _UNIT_NAMES:
        return one_day(frame, weekday(last_day, weekday_number(name), "next"))
    return edge, slide(frame, edge, measure("one", name)[0], 1)


def _read_beyond(passage: Passage, match: re.Match[str]) -> Reading:
    """Read "the week before last", "the weekend after next"."""
    step = -2 if match["side"] == "before" else 2
    window = unit_window(passage.frame, match["unit"], step)
    return Reading(window, match.span(), _grain(match["unit"]))


def _read_weekday_of_date(passage: Passage, match: re.Match[str]) -> Reading | None:
    """Read "Friday, 5 May" as the date; the weekday adds nothing but length."""
    found = _anchor_at(passage, match.end())
    if not found:
        return None
    anchor, kind = found
    if kind not in ("digit", "month") or anchor.grain != "day":
        return None
    return replace(anchor, span=(match.start(), anchor.span[1]))


_MONTHS_AND_LONGER: Final = ("month", "season", "quarter", "year")
_LONGER: Final[dict[str, tuple[Grain, ...]]] = dict.fromkeys(
    ("second", "minute", "hour"), ("day", "week", *_MONTHS_AND_LONGER)
) | dict.fromkeys(("day", "week"), _MONTHS_AND_LONGER)
"""Grains of a date that are longer than a unit."""
_UNIT_NAMES = frozenset(["day", "week", "weekend", "month", "quarter", "year"])
_DISTANCE = Rule(
    re.compile(
        rf"(?P<count>{COUNT}){S}(?P<unit>{UNIT}){S}(?P<side>before|after|from|following|prior{S}to){S}(?:the{S})?"
    ),
    _read_distance,
)
_NEIGHBOUR = Rule(
    re.compile(rf"(?:the{S})?(?P<unit>{ANCHORED_UNIT}){S}(?P<side>{SIDE}){S}(?:the{S})?"), _read_neighbour
)
_BEYOND = Rule(
    re.compile(
        rf"(?:the{S})?(?P<unit>week|weekend|month|quarter|year){S}(?:(?P<side>before){S}last|after{S}next)\b"
    ),
    _read_beyond,
)
_WEEKDAY_OF_DATE = Rule(re.compile(rf"{WEEKDAY}[.,]?{S}(?:the{S})?"), _read_weekday_of_date)
_RULES: dict[str, tuple[Rule, ...]] = {
    "count": (_DISTANCE,),
    "digit": (_DISTANCE,),
    "unit": (_NEIGHBOUR, _BEYOND, _WEEKDAY_OF_DATE),
    "weekday": (_WEEKDAY_OF_DATE,),
}
