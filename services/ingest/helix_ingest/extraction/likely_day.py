"""The day that a turn of a conversation means, where no verb dates it.

People write "24 july, 15h, in the coffee room", "Saturday 2 August then" and "28th then". In a turn that is
the day that is clearly nearer, ahead or behind, as a guess. Elsewhere such a day stays open
(ops/decisions/0025).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from helix_shared.timex import TimeExpression, find_time_expressions
from helix_shared.timex.verbs import HABITS

DISTANCE_RATIO: Final = 3
"""A day behind is meant if the coming one is so many times as far."""
FARTHEST: Final = timedelta(days=366)
_NEIGHBOURHOOD: Final = 40
_DAY_FIRST: Final = re.compile(r"\d{1,2}(?:st|nd|rd|th)?(?: of)? [a-z]{3,9}\.?$", re.IGNORECASE)
_MONTH_FIRST: Final = re.compile(
    r"[a-z]{3,9}\.? (?:the )?\d{1,2}(?:st|nd|rd|th)?(?: ?[-\u2013] ?\d{1,2}(?:st|nd|rd|th)?)?$", re.IGNORECASE
)
_ORDINAL: Final = re.compile(r"\d{1,2}(?:st|nd|rd|th)$", re.IGNORECASE)
_OTHER_THING: Final = re.compile(r" (?:\d|street|st\b|road|rd\b|avenue|ave\b|lane|square)", re.IGNORECASE)
"""Behind "3 september": of a count or an address."""
_ENDS: Final = re.compile(
    r"\s*(?:$|[,;:.!?)\n]|- | (?:at|from|then|and then|in the|with|\d{1,2}[:.h]\d\d|\d{1,2} ?[ap]m)\b)"
)
"""Behind "june 4", which may also be a name and an age, or a month and a count."""
_LIST: Final = 2
"""So many months with a number behind are a list: of names and ages, of months and counts."""
_IN_LIST: Final = re.compile(r"\d(?:st|nd|rd|th)?(?:,| and| &| or)? $", re.IGNORECASE)
"""Before the last one of several days."""
_REPEATED: Final = re.compile(rf"\b(?:every|each|born|{'|'.join(sorted(HABITS))})\b", re.IGNORECASE)
_ALONE: Final = re.compile(
    r"(?:^|\b(?:it['\u2019]?s|that['\u2019]?s) )(?:the )?(?P<day>\d{1,2}(?:st|nd|rd|th))"
    r"(?= (?:then|now|instead|works|suits)\b|,? same (?:time|hour|place)\b|,? at \d)",
    re.IGNORECASE,
)
"""A day of a month without a month, and words that follow a day alone."""


def likely_day(text: str, times: Sequence[TimeExpression], occurred_at: datetime) -> TimeExpression | None:
    """The first of `times`, those of `text`, that a turn may mean though its year or month is open; guessed.

    Where there are no times, that of an ordinal alone ("28th then", "it's the 23rd now"): the coming one.
    """
    if not times:
        alone = _ALONE.search(text)
        found = coming(f"the {alone['day']}", occurred_at) if alone else None
        return replace(found, text=alone["day"], span=alone.span("day")) if alone and found else None
    listed = [time for time in times if _MONTH_FIRST.search(time.text)]
    days = (time for time in times if (len(listed) < _LIST or time not in listed) and _is_day(text, time))
    return next(filter(None, (_nearest(time, occurred_at) for time in days)), None)


def coming(words: str, occurred_at: datetime) -> TimeExpression | None:
    """The time that "We leave on `words`" says at that moment, guessed; its place is one in this sentence."""
    found = find_time_expressions(f"We leave on {words}", occurred_at)
    return next((replace(time, certainty="guessed") for time in found if time.is_storable), None)


def around(text: str, time: TimeExpression, characters: int) -> tuple[str, str]:
    """So many characters of `text`, at most, before a time in it and behind it."""
    start, end = time.span
    return text[max(0, start - characters) : start], text[end : end + characters]


def _is_day(text: str, time: TimeExpression) -> bool:
    """Whether an expression is a single day of a month: no habit, and no count, name or address."""
    before, behind = around(text, time, _NEIGHBOURHOOD)
    if _IN_LIST.search(before) or _REPEATED.search(before) or _REPEATED.search(behind):
        return False
    if _DAY_FIRST.search(time.text):
        return not _OTHER_THING.match(behind)
    return bool(_ORDINAL.search(time.text)) or (
        bool(_MONTH_FIRST.search(time.text)) and bool(_ENDS.match(behind))
    )


def _nearest(last: TimeExpression, occurred_at: datetime) -> TimeExpression | None:
    """Of the last day before, which an open one is, and the coming one: that with its weekday, or the nearer.

    None: the coming one is farther, but not `DISTANCE_RATIO` times as far, since people talk more of what is
    to come; or no such day is within a year.
    """
    following = coming(last.text, occurred_at) or last
    behind, ahead = abs(occurred_at - last.start), abs(following.start - occurred_at)
    if (is_last := _has_its_weekday(last)) != _has_its_weekday(following):
        chosen = last if is_last else following
    elif ahead <= behind:
        chosen = following
    elif DISTANCE_RATIO * behind <= ahead:
        chosen = last
    else:
        return None
    if abs(chosen.start - occurred_at) > FARTHEST:
        return None
    return replace(chosen, text=last.text, span=last.span, certainty="guessed")


def _has_its_weekday(time: TimeExpression) -> bool:
    """Whether an expression begins with the weekday that its day is."""
    return time.text[:3].lower() == f"{time.start:%a}".lower()
