"""Changes that name what was left and what came in its place: "we moved off Fly to Hetzner".

An earlier statement that holds the value left, and not the one that took its place, is likely replaced. It is
not closed: it may say more, and "from Berlin to Rome" is also said of a journey.
"""

from __future__ import annotations

import functools
import itertools
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from helix_consolidation.relations.rules import is_unstated
from helix_consolidation.relations.words.quantities import find_quantities
from helix_consolidation.relations.words.reading import READ_CHARACTERS, Reading, stem, words_of
from helix_shared.naming.frequency import is_common
from helix_shared.naming.words import CALENDAR, FUNCTION_WORDS

if TYPE_CHECKING:
    from helix_consolidation.relations.statement import Statement

LEAVES: Final = "names_left_value"
"""Evidence: the new statement says that what the older one names was left for something else."""
LEFT: Final = 0.6
"""Least probability of the link to what names the value that was left."""
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


class Left(NamedTuple):
    """The words of a value that was left, and the first word of what came in its place."""

    left: tuple[str, ...]
    taken: str


def leaves(new: Statement, this: Reading, old: Statement, other: Reading) -> bool:
    """Whether `new` says that something which `old` names was left for what `old` does not name."""
    change = left_value(new.text)
    if change is None or this.asks or this.hypothetical or this.tentative or this.reported:
        return False
    if other.asks or is_unstated(new, old):
        return False
    words, size = words_of(old.text[:READ_CHARACTERS]), len(change.left)
    holds = any(tuple(words[at : at + size]) == change.left for at in range(len(words) - size + 1))
    return holds and change.taken not in words


@functools.lru_cache(_CACHED)
def left_value(text: str) -> Left | None:
    """The value that a text says was left, if it is a name or a rare word; None for most texts."""
    read = text[:READ_CHARACTERS].replace("\u2019", "'")
    for pattern in _PATTERNS:
        found = pattern.search(read)
        if found is not None:
            left = tuple(words_of(found["left"]))
            taken = words_of(found["taken"])
            if taken and taken[0] not in left and any(map(_tells, found["left"].split())):
                return Left(left, taken[0])
    return None


@functools.lru_cache(_CACHED)
def values_left(text: str) -> frozenset[str]:
    """Stems and values of all that a text says was left: it names them, and does not hold them."""
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
