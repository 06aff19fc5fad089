"""Rules for times named relative to the reference: "yesterday", "last Tuesday", "this summer", "on Friday".

`counted` reads times counted from it ("two weeks ago").
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from helix_shared.timex.cues import (
    CLEAR_WEEKDAYS,
    DETERMINERS,
    NO_SINGLE_DAY,
    ROLLING_CUES,
    VERBS,
    WEEKDAY_CUES,
)
from helix_shared.timex.reading import (
    Passage,
    Reading,
    Rule,
    begins_name,
    is_title_case,
    is_work,
    names_weekday,
    word_before,
    words_before,
)
from helix_shared.timex.rules.dates import month_of
from helix_shared.timex.rules.recurring import STEP
from helix_shared.timex.rules.years import season_of
from helix_shared.timex.tense import implied, tells_after
from helix_shared.timex.windows import (
    Frame,
    Which,
    Window,
    away,
    begin,
    hours,
    move,
    one_day,
    rolling,
    weekday,
    weekend,
)
from helix_shared.timex.words import (
    COUNT,
    DAY_PARTS,
    DAYS,
    MONTH,
    NO_NOUN,
    NOTHING_COUNTED,
    SEASON,
    TONIGHT,
    UNIT,
    WEEKDAY,
    S,
    measure,
    weekday_number,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from helix_shared.timex.expression import Grain

_WHICH: dict[str, Which] = {
    "last": "last", "past": "last", "previous": "last", "this": "this", "current": "this",
    "next": "next", "coming": "next", "upcoming": "next",
}  # fmt: skip
_AND = frozenset(["and", "or"])
_ARTICLES = frozenset(["a", "an"])
_HOW_OFTEN = frozenset(["once", "twice", "times", "per", "only", "days", "hours"])
_ELAPSED = frozenset(["once", "twice", "times", "been", "was", "took", "lost", "for", "after", "only"])
_WEEKS = {"week": 1, "fortnight": 2}
_DEADLINE_CUES = frozenset(["by", "before", "until", "till"])


def _read_day(passage: Passage, match: re.Match[str]) -> Reading | None:
    written = passage.text[slice(*match.span("day"))]
    if is_work(passage, match.span("day")) or (written.isupper() and len(written) <= len("tmrw")):
        return None
    day = passage.frame.today + timedelta(days=DAYS[match["day"]])
    before, article, unit = [*"   ", *words_before(passage, match.start())][-3:]
    if DAYS[match["day"]] >= 0 and article == "a" and before not in _ELAPSED:
        # "a fortnight today" is two weeks from today
        day += timedelta(weeks=_WEEKS.get(unit, 0))
    return Reading(one_day(passage.frame, day), match.span(), "day")


def _read_tonight(passage: Passage, match: re.Match[str]) -> Reading:
    return Reading(hours(passage.frame, passage.frame.today, *DAY_PARTS["night"]), match.span(), "range")


def _read_now(passage: Passage, match: re.Match[str]) -> Reading:
    now = passage.frame.now
    return Reading((now, now + timedelta(seconds=1)), match.span(), "second", weak=True)


def unit_window(frame: Frame, name: str, step: int) -> Window:
    """Return the week, month, quarter, year or weekend `step` of them away from the reference's."""
    if name == "weekend":
        return weekend(frame, move(frame.today, "week", step))
    unit, _, _ = measure("one", name)
    return away(frame, frame.now, unit, step, step)


def _read_pointed(passage: Passage, match: re.Match[str]) -> Reading | None:
    """Read "last / this / next ..." by the words that follow."""
    return _POINTED_READERS[match.lastgroup or ""](passage, match, _WHICH[_pointer(match)])


def _pointer(match: re.Match[str]) -> str:
    """Return the pointing word: "coming" of "this coming"."""
    return match["pointer"].split()[-1]


def _read_pointed_unit(passage: Passage, match: re.Match[str], which: Which) -> Reading:
    """Read "last month" as the calendar month, "the past month" and "in the last month" as rolling ones."""
    name = match["unit"]
    words = words_before(passage, match.start())[-2:]
    within = len(words) > 1 and words[-1] == "the" and words[0] in ROLLING_CUES
    if name != "weekend" and which != "this" and (_pointer(match) == "past" or within):
        unit, _, _ = measure("one", name)
        return Reading(rolling(passage.frame, unit, STEP[which]), match.span(), "range")
    grain: Grain = "range" if name == "weekend" else measure("one", name)[0]
    return Reading(unit_window(passage.frame, name, STEP[which]), match.span(), grain)


def _read_rolling(passage: Passage, match: re.Match[str], which: Which) -> Reading | None:
    """Read "the last two weeks", "the next 3 days"."""
    if which == "this" or match["count"] in _ARTICLES:  # "it will last a week", "coming a week on Friday"
        return None
    unit, _, high = measure(match["count"], match["units"])
    return Reading(rolling(passage.frame, unit, high * STEP[which]), match.span(), "range")


def _read_pointed_weekday(passage: Passage, match: re.Match[str], which: Which) -> Reading | None:
    """Read "last Tuesday"; a short form that is another word needs a capital ("the last sun" is none)."""
    if not names_weekday(passage, match.span("weekday")):
        return None
    day = weekday(passage.frame.today, weekday_number(match["weekday"]), which)
    return Reading(one_day(passage.frame, day), match.span(), "day")


def _read_pointed_month(passage: Passage, match: re.Match[str], which: Which) -> Reading | None:
    """Read "last March"."""
    if not _names_month(passage, match):
        return None
    return Reading(month_of(passage, match["month"], which), match.span(), "month")


def _read_pointed_season(passage: Passage, match: re.Match[str], which: Which) -> Reading:
    """Read "last summer"."""
    return Reading(season_of(passage, match["season"], which), match.span(), "season")


def _read_pointed_part(passage: Passage, match: re.Match[str], which: Which) -> Reading | None:
    """Read "this morning" and "last night"; "the next morning" depends on another day, so it is not read."""
    if which == "next" or (which == "last" and match["part"] not in ("night", "evening")):
        return None
    day = passage.frame.today + timedelta(days=STEP[which])
    return Reading(hours(passage.frame, day, *DAY_PARTS[match["part"]]), match.span(), "range")


_POINTED_READERS: dict[str, Callable[[Passage, re.Match[str], Which], Reading | None]] = {
    "unit": _read_pointed_unit,
    "units": _read_rolling,
    "weekday": _read_pointed_weekday,
    "month": _read_pointed_month,
    "season": _read_pointed_season,
    "part": _read_pointed_part,
}


def _names_month(passage: Passage, match: re.Match[str]) -> bool:
    """Tell a month from a verb: "this may", "what comes next may", "the last march" name none."""
    if is_title_case(passage, match.span("month")) or match["month"] not in VERBS:
        return True
    words = words_before(passage, match.start())
    after_noun_word = bool(words) and words[-1] in DETERMINERS
    return match["month"] == "march" and match["pointer"] in ("last", "next") and not after_noun_word


def _read_weekday(passage: Passage, match: re.Match[str]) -> Reading | None:
    name, span = match["weekday"], match.span()
    cue = word_before(passage, match.start())
    if cue in NO_SINGLE_DAY:
        return None
    if not name.endswith("day") and not _is_short_weekday(passage, match.span("weekday"), cue):
        return None
    if cue not in WEEKDAY_CUES and (is_work(passage, match.span("weekday")) or begins_name(passage, span)):
        return None
    number = weekday_number(name)
    if match["week"]:
        some_day = move(passage.frame.today, "week", STEP[_WHICH[match["week"]]])
        day = begin(some_day, "week") + timedelta(days=number)
        return Reading(one_day(passage.frame, day), span, "day")
    which, certainty = implied(passage, span)
    is_over = which == "past" and certainty != "open"
    if not is_over and ((match["after"] and cue != "to") or _follows_a_week(passage, match.start())):
        day = weekday(passage.frame.today, number, "future") + timedelta(weeks=1)
        return Reading(one_day(passage.frame, day), span, "day")
    day = weekday(passage.frame.today, number, which)
    # "tea and Monday": a list continues only after another day, or a verb follows
    weak = cue in _AND and not tells_after(passage, span)
    return Reading(one_day(passage.frame, day), span, "day", weak=weak, cycle="week", certainty=certainty)


def _follows_a_week(passage: Passage, position: int) -> bool:
    """Tell whether "a week on" is before a weekday, which is then a week later; not "once a week on"."""
    *before, article, week, on = ["", "", "", *words_before(passage, position)]
    return [article, week, on] == ["a", "week", "on"] and before[-1] not in _HOW_OFTEN


def _is_short_weekday(passage: Passage, span: tuple[int, int], cue: str) -> bool:
    """Tell whether a short form is one day: "thurs", "by Sat", "on sat", but not "she sat", "mon wed fri"."""
    if not names_weekday(passage, span):
        return cue == "on" and bool(NOTHING_COUNTED.match(passage.folded, span[1]))
    is_clear = passage.folded[slice(*span)] in CLEAR_WEEKDAYS
    return cue in WEEKDAY_CUES or (is_clear and not _in_list(passage, span))


def _in_list(passage: Passage, span: tuple[int, int]) -> bool:
    """Tell whether a weekday is one of several ("mon wed fri", "tue n fri mornings")."""
    start, end = span
    ahead = passage.folded[max(0, start - _LONGEST_DAY) : start]
    return bool(_DAY_BEHIND.match(passage.folded, end) or _DAY_AHEAD.search(ahead))


def _read_end(passage: Passage, match: re.Match[str]) -> Reading | None:
    """Read "by the end of the month" as this month; "tired at the end of the week" names no certain one."""
    which, certainty = implied(passage, match.span("unit"))
    is_deadline = word_before(passage, match.start()) in _DEADLINE_CUES
    if which == "past" or (certainty != "stated" and not is_deadline):
        return None
    name = match["unit"]
    window = unit_window(passage.frame, name, 0)
    return Reading(window, match.span("unit"), measure("one", name)[0], certainty=certainty)


_LONGEST_DAY = len("wednesday through ")
_LISTED = rf"(?:{S}|\s?[/&+\u2013-]\s?|{S}(?:and|n|or|thru|through){S})"
_DAY_BEHIND = re.compile(rf"{_LISTED}{WEEKDAY}")
_DAY_AHEAD = re.compile(rf"\b{WEEKDAY}{_LISTED}\Z")
_NAMED_UNIT = r"(?P<unit>weekend|week|wk|month|mth|quarter|year|yr)\b"
_POINTER = (
    rf"(?P<pointer>this{S}(?:past|last|coming|next)|last|this|next|past|previous|coming|upcoming|current){S}"
)
_POINTED = Rule(
    re.compile(
        rf"{_POINTER}(?:{_NAMED_UNIT}(?!{S}of{S}(?:the\b|[0-9]|{MONTH}))"
        rf"|(?P<count>{COUNT}){S}(?P<units>{UNIT})"
        rf"|(?P<weekday>{WEEKDAY})(?!{S}(?:of|in){S}(?:the{S})?(?:month\b|{MONTH}))"
        rf"|(?P<month>{MONTH})(?!{S}[0-9])|(?P<season>{SEASON})"
        r"|(?P<part>morning|afternoon|evening|night)\b)(?![-(=]\w?)"
    ),
    _read_pointed,
)
_WEEKDAY = Rule(
    re.compile(
        rf"(?P<weekday>{WEEKDAY})(?!{S}(?:mornings|afternoons|evenings|nights)\b)"
        rf"(?:\.?{S}(?:of{S})?(?P<week>last|this|next){S}week\b|(?P<after>{S}week\b(?={NO_NOUN})))?"
    ),
    _read_weekday,
)

DAY_RULES = (
    Rule(re.compile(rf"(?P<day>{'|'.join(DAYS)})\b(?!\()"), _read_day),
    Rule(re.compile(rf"{TONIGHT}\b"), _read_tonight),
    Rule(re.compile(r"now\b(?!\()"), _read_now),
)
END_RULES = (
    Rule(
        re.compile(
            rf"(?:end|beginning|start|middle){S}of{S}(?:the{S})?(?P<unit>week|month|quarter|year)\b"
            rf"(?!{S}(?:of|before|after|following|[0-9])|-)"
        ),
        _read_end,
    ),
)
POINTER_RULES = (_POINTED,)
WEEKDAY_RULES = (_WEEKDAY,)
