"""Rules for times counted from the reference: "two weeks ago", "in 3 days", "earlier this week"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from helix_shared.timex.cues import LENGTH_BEFORE_IN
from helix_shared.timex.reading import Passage, Reading, Rule, words_before
from helix_shared.timex.rules.relative import unit_window
from helix_shared.timex.tense import tells_past
from helix_shared.timex.windows import away, hours, one_day, slide
from helix_shared.timex.words import COUNT, DAY_PARTS, HUNDREDS, UNIT, S, measure

if TYPE_CHECKING:
    from datetime import datetime

    from helix_shared.timex.expression import Grain
    from helix_shared.timex.words import Unit

_PAST_TAILS = frozenset(["ago", "back", "earlier"])
_CLOCK_UNITS = frozenset(["second", "minute", "hour"])


def _read_tail(passage: Passage, match: re.Match[str]) -> Reading | None:
    """Read "two weeks ago", "a year and two months ago", "3 days later"."""
    unit, low, high = measure(match["count"], match["unit"])
    tail = match["tail"].split()[0]
    before = [word for word in words_before(passage, match.start())[-2:] if word != "and"][-1:]
    # "half a day ago" is read from "half"; "I want my two hours back" is not a time
    if before == ["half"] or (tail == "back" and unit in _CLOCK_UNITS):
        return None
    if HUNDREDS.intersection(before):  # "a thousand and twenty days ago"
        return None
    sign = -1 if tail in _PAST_TAILS else 1
    origin = passage.frame.now
    if match["unit2"]:
        origin = slide(passage.frame, origin, unit, sign * high)
        unit, low, high = measure(match["count2"], match["unit2"])
    return _away(passage, match, origin=origin, unit=unit, steps=(sign * low, sign * high))


def _away(
    passage: Passage, match: re.Match[str], *, origin: datetime, unit: Unit, steps: tuple[int, int]
) -> Reading:
    """Return the reading of the units between two signed distances from a moment."""
    window = away(passage.frame, origin, unit, min(steps), max(steps))
    grain: Grain = unit if steps[0] == steps[1] else "range"
    return Reading(window, match.span(), grain)


def _read_in(passage: Passage, match: re.Match[str]) -> Reading | None:
    """Read "in two weeks", unless the words in front say it is a length."""
    if LENGTH_BEFORE_IN.intersection(words_before(passage, match.start())[-1:]):
        return None
    # "I learned it in two weeks" is a length, too
    if tells_past(passage, match.start()):
        return None
    unit, low, high = measure(match["count"], match["unit"])
    return _away(passage, match, origin=passage.frame.now, unit=unit, steps=(low, high))


def _read_part(passage: Passage, match: re.Match[str]) -> Reading:
    """Read "earlier this week" as its start up to now, "later this week" as now up to its end."""
    frame, name = passage.frame, match["unit"] or "day"
    if name == "day":
        start, end = one_day(frame, frame.today)
    elif name in DAY_PARTS:
        start, end = hours(frame, frame.today, *DAY_PARTS[name])
    else:
        start, end = unit_window(frame, name, 0)
    window = (start, min(end, frame.now)) if match["side"] == "earlier" else (max(start, frame.now), end)
    return Reading(window, match.span(), "range")


TAIL_RULES = (
    Rule(
        re.compile(
            rf"(?P<count>{COUNT}){S}(?P<unit>{UNIT})(?:(?:,{S}|{S}and{S})(?P<count2>{COUNT}){S}(?P<unit2>{UNIT}))?"
            rf"{S}(?P<tail>ago|back|earlier|later|from{S}(?:now|today)|hence)\b"
        ),
        _read_tail,
    ),
)
IN_RULES = (
    Rule(
        re.compile(
            rf"in{S}(?:(?:about|around|another){S})?(?P<count>{COUNT}){S}(?P<unit>{UNIT})(?!-\w|{S}(?:of|ago)\b)"
        ),
        _read_in,
    ),
)
PART_RULES = (
    Rule(
        re.compile(
            rf"(?P<side>earlier|later){S}(?:(?:this|in{S}the){S}"
            r"(?P<unit>day|week|month|quarter|year|morning|afternoon|evening)|(?P<today>today))\b"
        ),
        _read_part,
    ),
)
