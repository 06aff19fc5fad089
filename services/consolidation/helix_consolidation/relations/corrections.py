"""Corrections that name the wrong value: "the code is 4417, not 4471", "I said Tuesday, I meant Thursday".

An earlier statement about the same thing that holds the wrong value, and not the right one, is replaced for
sure. It is closed if the correction also names again nearly all it is about. Else it is only linked, as it
may say more: "I meant Thursday, not Tuesday" does not repeat the place. A correction right after a slip need
not name it (`slips`). A notice that names the old value and a new one ("closed on the 12th, the new date is
26 September") is likely to replace what holds the old one.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from helix_consolidation.relations.abandoned_values import ABANDONS, MIN_ABANDONED_PROBABILITY, abandons
from helix_consolidation.relations.rules import UNREPLACEABLE_ACTS, source_rank
from helix_consolidation.relations.slips import Slip, slip_of
from helix_consolidation.relations.slots import CHANGES_NUMBER, MIN_CHANGED_NUMBER_PROBABILITY, changes_number
from helix_consolidation.relations.successors import (
    MIN_SUCCESSOR_PROBABILITY,
    NAMES_SUCCESSOR,
    names_successor,
)
from helix_consolidation.relations.words.quantities import Quantity, find_quantities
from helix_consolidation.relations.words.reading import READ_CHARACTERS, Reading, stem, words_of
from helix_shared.moments import MICROSECONDS_PER_DAY
from helix_shared.naming.persons import PERSON_NOUNS
from helix_shared.naming.words import FUNCTION_WORDS

if TYPE_CHECKING:
    from helix_consolidation.relations.pair import Pair
    from helix_consolidation.relations.statement import Statement

CORRECTS: Final = "names_wrong_value"
"""Evidence: the new statement names the older value as wrong."""
ANNOUNCES: Final = "names_new_value"
"""Evidence: the new statement names the older value and says that there is a new one."""
MIN_CORRECTED_PROBABILITY: Final = 0.9
"""Least probability of the link to what a correction corrects."""
MIN_ANNOUNCED_PROBABILITY: Final = 0.6
"""The same for a notice of a new value that names the old one."""
_CACHED: Final = 1_024
# No character matches two alternatives: a text of them would be tried in every combination.
_VALUE: Final = r"(?:[^\s,;.!?()]|[.,](?=\d))(?:[^,;.!?()\n]|[.,](?=\d)){0,40}?"
"""A value of a few words."""
_CLAUSE: Final = r"(?:[^,;.!?()\n]|[.,](?=\d)){1,120}"
_END: Final = r"(?=[!)\s]*(?:$|[.,](?!\d)|[!;\n(]|\bbut\b|\band\b))"
_IT_IS: Final = (
    r"(?:it['\u2019]?s|it is|it was|(?:i|we) meant?|make that|should (?:be|have been|read)|rather)"
)
_CUE: Final = re.compile(
    r"\bcorrect(?:ion|ed)\b|\bi (?:meant?|said|wrote|told you|was wrong|misspoke)\b|\bscratch that\b|\btypo\b"
    r"|\bmy (?:mistake|bad)\b|\bi (?:mis(?:typed|read|heard|remembered)|mixed (?:up|them up))\b"
    r"|\bgot (?:it|that) wrong\b|\bwrong (?:one|number|date|day|time|name|code)\b|\berratum\b"
    r"|^[^\w\n]*(?:sorry|oops|wait|actually|no+)\b",
    re.MULTILINE,
)
_NEW_VALUE: Final = re.compile(
    r"\bnew (?:\w+ )?(?:date|time|day|slot|deadline|address|number|code|price|rent|fee|rate|version|pin)\b",
    re.IGNORECASE,
)
_PATTERNS: Final = (
    # the gate code is 4417, not 4471
    re.compile(rf"(?P<right>{_CLAUSE}?)(?:,|,? and| -) not (?P<wrong>{_VALUE}){_END}", re.IGNORECASE),
    # not on Tuesday but on Thursday
    re.compile(
        rf"\bnot (?P<wrong>{_VALUE})(?:,(?: but)?| but| -|;) (?:{_IT_IS} )?(?P<right>{_CLAUSE})",
        re.IGNORECASE,
    ),
    # I said Tuesday but it is Thursday
    re.compile(
        rf"\bi (?:said|wrote|told you|put|typed) (?P<wrong>{_VALUE})(?:,|;| -|\.)?(?: but| and)? {_IT_IS}"
        rf" (?P<right>{_CLAUSE})",
        re.IGNORECASE,
    ),
)
_IN_FRONT: Final = frozenset([
    "the", "a", "an", "on", "at", "in", "to", "for", "by", "with", "is", "was", "are", "were", "it's", "of",
])  # fmt: skip
_OF_CORRECTIONS: Final = frozenset(
    map(stem, ["correction", "meant", "mean", "scratch", "mistake", "wrong", "typo", "sorry", "oops", "wait"])
)
_MOST_WORDS: Final = 4
_MIN_SHARED_SHARE: Final = 0.5
_NAMED_AGAIN: Final = 0.8
"""Share of what the older statement is about that a correction names again to close it."""
_MIN_SHARED_WORDS: Final = 2
_NOTICE_CONTEXT: Final = 160
"""Characters before and behind "new date" that name both values; a long text has many other numbers."""
_SOON_MICROSECONDS: Final = 7 * MICROSECONDS_PER_DAY
_OWN: Final = frozenset(["i", "my", "mine", "me"])
_OTHERS: Final = frozenset(["his", "her", "hers", "their", "theirs"])
_NO_OWNERS: Final = frozenset([
    "it's", "that's", "he's", "she's", "what's", "there's", "here's", "let's", "who's", "where's", "when's",
])  # fmt: skip
_PERSONS: Final = frozenset(map(stem, PERSON_NOUNS))


class Correction(NamedTuple):
    """What a text calls wrong, and the clause with what holds instead, as words."""

    wrong: tuple[str, ...]
    clause: tuple[str, ...]


def least_probability(pair: Pair) -> tuple[str, float]:
    """The evidence that `new` replaces `old`, and the least probability of that; empty and 0 without any."""
    if corrected(pair) is not None or slip_of(pair.new, pair.old) is not None:
        return CORRECTS, MIN_CORRECTED_PROBABILITY
    if announces(pair):
        return ANNOUNCES, MIN_ANNOUNCED_PROBABILITY
    if abandons(pair):
        return ABANDONS, MIN_ABANDONED_PROBABILITY
    if names_successor(pair):
        return NAMES_SUCCESSOR, MIN_SUCCESSOR_PROBABILITY
    return (CHANGES_NUMBER, MIN_CHANGED_NUMBER_PROBABILITY) if changes_number(pair) else ("", 0.0)


def corrected(pair: Pair) -> float | None:
    """How much of what `old` is about its correction `new` names again, 0 to 1; None: it is no correction."""
    new, new_reading, old, old_reading = pair
    correction = correction_of(new.text)
    if correction is None or new_reading.asks or old_reading.asks or old.speech_act in UNREPLACEABLE_ACTS:
        return None
    words = words_of(old.text[:READ_CHARACTERS])
    if not _holds(words, old_reading, correction.wrong) or not _is_news(words, old_reading, correction):
        return None
    values = _values(correction)
    about, of_old = new_reading.words - values - _OF_CORRECTIONS, old_reading.words - values
    shared = about & of_old
    if of_old & _PERSONS and (about - of_old) & _PERSONS:
        # the sister's birthday, not the brother's
        return None
    if not about or not shared:
        return 0.0 if len(about) < _MIN_SHARED_WORDS and new.session == old.session != 0 else None
    if len(shared) < _MIN_SHARED_SHARE * len(about):
        return None
    share = len(shared) / len(of_old)
    return (
        share if share >= _MIN_SHARED_SHARE or len(shared) >= _MIN_SHARED_WORDS or shared == about else None
    )


def announces(pair: Pair) -> bool:
    """Whether `new` says that there is a new value, and names another one that `old` holds."""
    new_reading, old_reading = pair.new_reading, pair.old_reading
    if new_reading.asks or old_reading.asks or not new_reading.words & old_reading.words:
        return False
    said = pair.new.text[:READ_CHARACTERS]
    notice = _NEW_VALUE.search(said)
    if notice is None:
        return False
    near = said[max(0, notice.start() - _NOTICE_CONTEXT) : notice.end() + _NOTICE_CONTEXT]
    values = frozenset(find_quantities(words_of(near)))
    for one in values & old_reading.quantities:
        if any(new.kind == one.kind and new not in old_reading.quantities for new in values):
            return True
    return False


def closes(pair: Pair) -> bool:
    """Whether a correction names so much of the older statement again that nothing is lost with it.

    It is about the same thing of the same person: nothing that the older one does not name is named beside
    the new value, and every other value is repeated. One common word is enough only soon after. Nothing of a
    higher source class is closed.
    """
    new, new_reading, old, old_reading = pair
    named_again, correction = corrected(pair), correction_of(new.text)
    if named_again is None and (slip := slip_of(new, old)) is not None:
        return _slip_closes(slip, pair)
    if (
        named_again is None
        or correction is None
        or named_again < _NAMED_AGAIN
        or source_rank(new) < source_rank(old)
    ):
        return False
    if are_of_different_people(new, old):
        return False
    wrong = find_quantities(correction.wrong)
    added = new_reading.words - old_reading.words - _values(correction) - _OF_CORRECTIONS
    if len(added) > (0 if wrong else len(correction.wrong)):
        return False
    kept = {one.value for one in old_reading.quantities} - {one.value for one in wrong}
    if not kept <= {one.value for one in new_reading.quantities}:
        return False
    soon = new.session == old.session != 0 or abs(new.occurred_at - old.occurred_at) <= _SOON_MICROSECONDS
    return soon or len(new_reading.words & old_reading.words) >= _MIN_SHARED_WORDS


def _slip_closes(slip: Slip, pair: Pair) -> bool:
    """Whether a correction of a slip names again what the older statement is about, and its other values."""
    new, new_reading, old, old_reading = pair
    if (
        slip.named_again < _NAMED_AGAIN
        or source_rank(new) < source_rank(old)
        or are_of_different_people(new, old)
    ):
        return False
    return old_reading.quantities - slip.wrong <= new_reading.quantities


@functools.lru_cache(_CACHED)
def correction_of(text: str) -> Correction | None:
    """The wrong value that an explicit correction names, and what it says instead; None for most texts."""
    said = text[:READ_CHARACTERS].replace("\u2019", "'")
    lower = said.lower()
    if (" not " not in lower and "i said " not in lower) or not _CUE.search(lower):
        return None
    for pattern in _PATTERNS:
        for found in pattern.finditer(lower):
            wrong = _bare(words_of(found["wrong"]))
            clause = words_of(found["right"])
            if 0 < len(wrong) <= _MOST_WORDS and clause and not set(wrong) <= set(clause):
                return Correction(wrong, tuple(clause))
    return None


def _values(correction: Correction) -> frozenset[str]:
    """The words of the wrong value and, if that is a code with letters, of the right one ("LX-481")."""
    kinds = {one.kind for one in find_quantities(correction.wrong)}
    right = (one.value for one in find_quantities(correction.clause) if one.kind in kinds)
    return frozenset(map(stem, (*correction.wrong, *right)))


def are_of_different_people(new: Statement, old: Statement) -> bool:
    """Whether two people speak of themselves, or the texts of things of different people."""
    this, other = (frozenset(words_of(one.text[:READ_CHARACTERS])) for one in (new, old))
    named = new.speaker and old.speaker and new.speaker != old.speaker
    return bool(named and (this | other) & _OWN) or _owners(this) != _owners(other)


def _owners(words: frozenset[str]) -> frozenset[str]:
    """Of whom it is said by "his", "her", "their" or a name in the genitive."""
    genitives = {word for word in words if word.endswith("'s")} - _NO_OWNERS
    return (words & _OTHERS) | genitives


def _bare(words: list[str]) -> tuple[str, ...]:
    """Words of a value without what stands in front of it ("pickup was 9:30")."""
    start = max((at for at, word in enumerate(words) if word in _IN_FRONT), default=-1)
    return tuple(words[start + 1 :])


def _holds(words: list[str], reading: Reading, value: tuple[str, ...]) -> bool:
    """Whether a text has a value: the same words in a row, or the same quantities."""
    if any(tuple(words[at : at + len(value)]) == value for at in range(len(words) - len(value) + 1)):
        return True
    wanted = find_quantities(value)
    return bool(wanted) and all(any(_is_same(one, other) for other in reading.quantities) for one in wanted)


def _is_news(words: list[str], reading: Reading, correction: Correction) -> bool:
    """Whether the right value is not in the older text: of the kinds of the wrong one, else any word."""
    kinds = {quantity.kind for quantity in find_quantities(correction.wrong)}
    if kinds:
        found = [one for one in find_quantities(correction.clause) if one.kind in kinds]
        return any(all(one.value != other.value for other in reading.quantities) for one in found)
    return any(word not in words and word not in FUNCTION_WORDS for word in correction.clause)


def _is_same(one: Quantity, other: Quantity) -> bool:
    return one.value == other.value and one.kind == other.kind and one.unit in ("", other.unit)
