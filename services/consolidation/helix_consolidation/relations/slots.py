"""The same thing with another number: "losartan 50", "losartan 100 now"; "room 204", "204 is shut, 211 now".

The new statement has to say that something changed. The link is likely and closes nothing: both may be about
two things of one name, and the older one may say more.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from helix_consolidation.relations.rules import are_unreplaceable
from helix_consolidation.relations.words.quantities import Quantity, placed_quantities
from helix_consolidation.relations.words.reading import Reading, stem, words_of
from helix_shared.naming.frequency import is_common
from helix_shared.naming.words import FUNCTION_WORDS

if TYPE_CHECKING:
    from helix_consolidation.relations.pair import Pair

CHANGES_NUMBER: Final = "names_other_number"
"""Evidence: the new statement gives another number of what the older one gives a number of."""
MIN_CHANGED_NUMBER_PROBABILITY: Final = 0.6
"""Least probability of that link."""
_CACHED: Final = 8_192
_MOST_CHARACTERS: Final = 240
"""Characters of either text; a long one has many numbers, most of other things."""
_TELLING_DIGITS: Final = 3
"""Digits from which a number is hardly named by chance."""
_WORDS_BEFORE: Final = 3
"""Words before a number among which the thing is named."""
_CHANGES: Final = re.compile(
    r"\b(?:now|instead|from now|moved (?:us|it|to)|moving to|(?:went|goes|put|up|down) to|went up|goes up"
    r"|bumped|raised|lowered|increased|reduced|no longer|any ?more|from (?:next|this|monday|tomorrow))\b",
    re.IGNORECASE,
)
_CLAUSE_END: Final = re.compile(r"[.!?;,]\s|\n")
_BETWEEN: Final = FUNCTION_WORDS | frozenset(
    ["up", "down", "=", "about", "around", "only", "now", "max", "min"]
)


def changes_number(pair: Pair) -> bool:
    """Whether `new` says that what has a number in `old` has another one now."""
    new, new_reading, old, old_reading = pair
    if (
        not new_reading.quantities
        or not old_reading.quantities
        or max(len(new.text), len(old.text)) > _MOST_CHARACTERS
    ):
        return False
    if new_reading.asks or new_reading.hypothetical or new_reading.tentative or old_reading.asks:
        return False
    if are_unreplaceable(new, old):
        return False
    if not (new_reading.sure_change or _CHANGES.search(new.text)):
        return False
    return _names_the_old_number(new_reading, old_reading) or _has_the_same_slot(new.text, old.text)


def _names_the_old_number(new_reading: Reading, old_reading: Reading) -> bool:
    """Whether a long number of the older statement is named beside a new one of the same length."""
    these, others = ({_digits(one) for one in reading.quantities} for reading in (new_reading, old_reading))
    lengths = {len(one) for one in these - others}
    return any(len(one) >= _TELLING_DIGITS and len(one) in lengths for one in these & others)


def _digits(one: Quantity) -> str:
    """The digits of a number; empty for another value, and for a part of one ("310 000")."""
    last = one.value.split()[-1] if one.kind in ("number", "which") and one.value else ""
    return last if last.isdigit() and not last.startswith("0") else ""


def _has_the_same_slot(new: str, old: str) -> bool:
    these, others = _slots(new), _slots(old)
    return any(values.isdisjoint(others[slot]) for slot, values in these.items() if slot in others)


@functools.lru_cache(_CACHED)
def _slots(text: str) -> dict[tuple[str, str], frozenset[str]]:
    """The values of a text by the rare word before them and their kind."""
    found: dict[tuple[str, str], frozenset[str]] = {}
    for clause in _CLAUSE_END.split(text):
        words = words_of(clause)
        for at, one in placed_quantities(words):
            near = (word for word in reversed(words[max(0, at - _WORDS_BEFORE) : at]) if word not in _BETWEEN)
            word = next(near, "")
            if one.kind in ("number", "time") and word.isalpha() and len(word) > 1 and not is_common(word):
                slot = (stem(word), one.kind)
                found[slot] = found.get(slot, frozenset()) | {one.value}
    return found
