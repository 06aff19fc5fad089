"""Finds the one window of time that a question names; used by query.

The word before an expression extends its window: "since X" is from the start of X to the reference, "before
X" has no start, "after X" and "from X on" have no end, "until X" and "by X" end with X. Several overlapping
windows are reduced to their intersection ("after March and before June"); others give the window that spans
all of them.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from helix_shared.timex.cues import OPENS_A_STRETCH
from helix_shared.timex.expression import EARLIEST, LATEST
from helix_shared.timex.find import passage_and_readings
from helix_shared.timex.reading import Passage, Reading, cue_of, words_before

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from helix_shared.timex.windows import Window

_EXPRESSIONS = 8
_SKIPPED = frozenset([
    "the", "early", "late", "mid", "about", "around", "beginning", "start", "middle", "end", "of", "on",
    "in", "at",
])  # fmt: skip
_OPENERS = {
    "since": "since", "before": "before", "until": "until", "till": "until", "by": "until", "after": "after",
    "following": "after", "starting": "from", "beginning": "from", "effective": "from", "onwards": "from",
}  # fmt: skip
_ONWARDS = re.compile(r"\s{1,3}(?:onwards?\b|and\s{1,3}later\b|on(?=\s{0,3}(?:[,.;?!]|\Z)))")


def resolve_window(text: str, reference: datetime, *, zone: tzinfo | None = None) -> Window | None:
    """Return the window [start, end) that a question names, UTC, or None if it names no time.

    An open side is `EARLIEST` or `LATEST`. Days begin at midnight in `zone`, by default the zone of the
    reference. The tense of the question decides which Friday is meant; without a tense it is the last one.
    A date without a year is the nearest one in the present tense: "what is on 12 September?", asked in
    November, is about the last one.
    """
    whole: Window | None = None
    for passage, reading in islice(passage_and_readings(text, reference, zone, asks=True), _EXPRESSIONS):
        window = _opened(passage, reading)
        whole = _combined(whole, window) if whole else window
    return whole


def _opened(passage: Passage, reading: Reading) -> Window:
    """Return the window of a reading, extended by the word before it unless that makes it empty."""
    start, end = reading.window
    words = words_before(passage, reading.span[0])
    skipped: set[str] = set()
    while words and words[-1] in _SKIPPED:
        skipped.add(words.pop())
    match _opener(passage, reading, words):
        case "since":
            window = start, passage.frame.now
        case "before":
            window = EARLIEST, end if "end" in skipped else start
        case "until":
            window = EARLIEST, end
        case "after":
            window = start if skipped & {"start", "beginning"} else end, LATEST
        case "from":
            window = start, LATEST
        case _:
            window = start, end
    return window if window[0] < window[1] else reading.window


def _opener(passage: Passage, reading: Reading, words: list[str]) -> str | None:
    """Return the kind of the words before a reading that open its window."""
    if _ONWARDS.match(passage.folded, reading.span[1]):
        return "from"
    if words[-1:] == ["from"]:
        return "from" if OPENS_A_STRETCH.intersection(words[-2:-1]) else None
    return _OPENERS.get(cue_of(words))


def _combined(one: Window, other: Window) -> Window:
    """Return the intersection of two windows, or the window that spans both if they do not overlap."""
    shared = max(one[0], other[0]), min(one[1], other[1])
    return shared if shared[0] < shared[1] else (min(one[0], other[0]), max(one[1], other[1]))
