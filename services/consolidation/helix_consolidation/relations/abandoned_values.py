"""Changes that name the value given up and its replacement: "we moved off Fly to Hetzner".

An earlier statement that holds the value given up, and not its replacement, is likely replaced. It is
not closed: it may say more, and "from Berlin to Rome" is also said of a journey.
"""

from __future__ import annotations

import functools
import itertools
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from helix_consolidation.relations.rules import are_unreplaceable
from helix_consolidation.relations.words.quantities import find_quantities
from helix_consolidation.relations.words.reading import READ_CHARACTERS, stem, words_of
from helix_shared.naming.frequency import is_common
from helix_shared.naming.words import CALENDAR, FUNCTION_WORDS

if TYPE_CHECKING:
    from helix_consolidation.relations.pair import Pair

ABANDONS: Final = "names_left_value"
"""Evidence: the new statement says that a value of the older one was given up for another."""
MIN_ABANDONED_PROBABILITY: Final = 0.6
"""Least probability of the link to what names the value given up."""
_CACHED: Final = 1_024
_VALUE: Final = r"(?:the |our |my )?(?P<left>[\w.+#'-]{2,30}(?: [\w.+#'-]{1,30}){0,2}?)"
_PATTERNS: Final = (
    re.compile(
        r"\b(?:mov|switch|migrat|convert|port|chang)(?:e|es|ed|ing)?(?: [\w'-]{1,20}){0,3}?"
        rf" (?:from|off|away from) {_VALUE} (?:to|onto|over to) (?P<taken>[\w.+#'-]{{2,30}})",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:replac|swap)(?:e|es|ed|ped|ing|ping)? {_VALUE} (?:with|by|for) (?P<taken>[\w.+#'-]{{2,30}})",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:drop|ditch|retire|leave)(?:s|d|ped|ed|ping|ing)? "
        rf"{_VALUE} (?:for|in favou?r of) (?P<taken>[\w.+#'-]{{2,30}})",
        re.IGNORECASE,
    ),
)


_INSTEAD: Final = re.compile(
    r"\b(?:instead of|rather than|in place of|no more|(?:not|no longer)(?: (?:on|in|at|with|using))?)"
    r" (?:the |our |my )?(?P<left>[\w.:+#'-]{2,30}(?: [\w.:+#'-]{1,30}){0,2}?)"
    r"(?=[^\w\s]|\s*$|\s(?:in|on|at|for|from|to|by|with|now|and|but|because|since|as|any)\b)",
    re.IGNORECASE,
)


class Abandoned(NamedTuple):
    """The words of a value that somebody gave up, and the first word of its replacement."""

    value: tuple[str, ...]
    replacement: str


def abandons(pair: Pair) -> bool:
    """Whether `new` says that a value of `old` was given up for one that `old` does not name."""
    new, new_reading, old, old_reading = pair
    change = abandoned_value(new.text)
    if (
        change is None
        or new_reading.asks
        or new_reading.hypothetical
        or new_reading.tentative
        or new_reading.reported
    ):
        return False
    if old_reading.asks or are_unreplaceable(new, old):
        return False
    words, size = words_of(old.text[:READ_CHARACTERS]), len(change.value)
    holds = any(tuple(words[at : at + size]) == change.value for at in range(len(words) - size + 1))
    return holds and change.replacement not in words


@functools.lru_cache(_CACHED)
def abandoned_value(text: str) -> Abandoned | None:
    """The value that a text says was given up, if it is a name or a rare word; None for most texts."""
    read = text[:READ_CHARACTERS].replace("\u2019", "'")
    for pattern in _PATTERNS:
        found = pattern.search(read)
        if found is not None:
            left = tuple(words_of(found["left"]))
            taken = words_of(found["taken"])
            if taken and taken[0] not in left and any(map(_tells, found["left"].split())):
                return Abandoned(left, taken[0])
    return None


@functools.lru_cache(_CACHED)
def abandoned_values(text: str) -> frozenset[str]:
    """Stems and values of all that a text says was given up; it names them although they hold no longer."""
    read = text[:READ_CHARACTERS].replace("\u2019", "'")
    found = [match["left"] for pattern in (*_PATTERNS, _INSTEAD) for match in pattern.finditer(read)]
    words = [words_of(left) for left in found]
    values = {one.value for some in words for one in find_quantities(some)}
    return frozenset(map(stem, itertools.chain(*words))) | values


def _tells(written: str) -> bool:
    """Whether a word, as written, may name something: no time, number or everyday word does."""
    word = written.lower()
    if word[0].isdigit() or word in FUNCTION_WORDS or word in CALENDAR:
        return False
    return written[0].isupper() or not is_common(word)
