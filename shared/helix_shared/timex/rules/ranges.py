"""Ranges: two readings joined by words ("between March and May 2023", "3 June to 9 June") become one.

Weak readings are removed here: a bare month or year is kept only as one end of a range, or in a list after a
strong one ("in 2021 and 2022").
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from helix_shared.timex.cues import VERBS
from helix_shared.timex.reading import Passage, Reading, is_moved, is_title_case
from helix_shared.timex.windows import Frame, Window, local_date, slide
from helix_shared.timex.words import S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

_LISTING = frozenset([" and ", " or ", ", ", ", and ", ", or "])
_MOMENT = timedelta(microseconds=1)
_GAP_CHARS = 26
_OPENER_CHARS = 16
_OPENER = re.compile(rf"(?<!\w)(between|from){S}(?:the{S})?\Z")
_JOINER = re.compile(
    rf"(?:{S}(and|to|until|till|til|through|thru){S}|\s?[-\u2013\u2014]\s?)"
    rf"(?:the{S})?(?:(?:end|middle|beginning|start){S}of{S}(?:the{S})?|mid-|(?:early|mid|late){S})?"
)


def joined(passage: Passage, readings: Iterable[Reading]) -> Iterator[Reading]:
    """Yield the readings with every range made one; weak readings outside a range are dropped."""
    pending: Reading | None = None
    for reading in readings:
        if pending is None:
            pending = reading
            continue
        whole = _join(passage, pending, reading)
        if whole is None and not pending.weak:
            yield pending
        pending = whole or _listed(passage, pending, reading)
    if pending is not None and not pending.weak:
        yield pending


def _listed(passage: Passage, first: Reading, second: Reading) -> Reading:
    """Return the second reading, no longer weak if it continues a list ("in March and April")."""
    gap = passage.folded[first.span[1] : second.span[0]]
    is_verb = passage.folded[slice(*second.span)] in VERBS and not is_title_case(passage, second.span)
    if first.weak or first.grain != second.grain or gap not in _LISTING or is_verb:
        return second
    return replace(second, weak=False)


def _join(passage: Passage, first: Reading, second: Reading) -> Reading | None:
    """Return the range two neighbours span, or None when nothing joins them."""
    gap = passage.folded[first.span[1] : second.span[0]]
    joiner = _JOINER.fullmatch(gap) if len(gap) <= _GAP_CHARS else None
    if not joiner:
        return None
    start = first.span[0]
    opener = _OPENER.search(passage.folded[max(0, start - _OPENER_CHARS) : start])
    opener_word = opener[1] if opener else None
    is_list = joiner[1] == "and" and opener_word != "between"
    if is_list or (not opener and (first.weak or second.weak)):
        return None
    start -= len(opener[0]) if opener else 0
    if opener_word == "from" and is_moved(passage, start):
        # "moved my appointment from 3 October to 10 October" is no range
        return replace(second, span=(start, second.span[1]))
    try:
        window = _span_of(passage.frame, first, second)
    except (ValueError, OverflowError):
        return None
    if window[0] >= window[1]:
        return None
    fixed = (second.fixed and (first.fixed or first.cycle == "year")) or (
        first.fixed and second.cycle == "year"
    )
    certainty = "stated" if fixed else first.certainty
    return Reading(window, (start, second.span[1]), "range", fixed=fixed, certainty=certainty)


def _months_between(frame: Frame, one: datetime, other: datetime) -> int:
    """Return how many months the month of `other` is after that of `one`."""
    day, later = local_date(frame, one), local_date(frame, other)
    return (later.year - day.year) * 12 + later.month - day.month


def _span_of(frame: Frame, first: Reading, second: Reading) -> Window:
    """Return the window from one reading to another; an implied year or week follows the other one."""
    (start, _), (from_, end) = first.window, second.window
    if second.fixed and first.cycle == "year":
        years = from_.year - start.year
        start = slide(frame, start, "year", years)
        return (slide(frame, start, "year", -1) if start > from_ else start), end
    if second.cycle == "year":
        years = start.year - from_.year
        years += slide(frame, from_, "year", years) < start
        return start, slide(frame, end, "year", years)
    if second.cycle == "month":
        months = _months_between(frame, from_, start)
        if months < 0 and first.grain != "day":
            return start, end
        months += slide(frame, from_, "month", months) < start
        # of the last moment: "to the 30th" includes 28 February
        return start, slide(frame, end - _MOMENT, "month", months) + _MOMENT
    if second.cycle == "week":
        weeks = -((from_ - start).days // 7)
        return start, slide(frame, end, "week", weeks)
    return start, end
