"""What the model may not decide alone: why a statement cannot replace another, and what it still can be."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from helix_consolidation.relations.pair import Pair
from helix_consolidation.relations.rules import NON_REPLACING_ACTS, have_different_codes
from helix_consolidation.relations.words.opposites import is_opposite
from helix_consolidation.relations.words.reading import holds_value
from helix_memory.vocabulary.source_classes import CONVERSATION
from helix_shared.about import are_two
from helix_shared.artifacts.relations.records import RELATION_KINDS, RelationKind

ALL_RELATIONS: Final = frozenset(RELATION_KINDS)
"""What a statement without a veto can be."""
_ONLY_RELATES: Final = frozenset[RelationKind](["RELATES"])
_NO_RELATIONS: Final = frozenset[RelationKind]()
_AND: Final = re.compile(r"\W*(?:(?:oh|ok|okay|so|well|yes|yeah)\W+)?(?:and|also|plus)\b", re.IGNORECASE)
"""Begins a statement that goes on from what its speaker has just said."""
_CORRECTS: Final = re.compile(
    r"\b(?:not|now|meant|actually|instead|make (?:it|that)|no longer)\b|n['\u2019]t\b", re.IGNORECASE
)
"""Such a statement changes what was said, however it begins: "and make that 5 pm"."""
_JUST_AFTER: Final = timedelta(minutes=10) // timedelta(microseconds=1)
"""Microseconds in which a statement goes on from the one before."""
_QUOTED_SELF: Final = re.compile(
    r"\b(?:said|says|told|writes|wrote|goes)[^\"\u201c\n]{0,40}[\"\u201c](?:[^\"\u201d\n]{0,200}\W)?(?:I|I['\u2019]m|my|me|i)\b"
)
"""Somebody else is quoted about themself; what the speaker says of themself replaces nothing of that."""


@dataclass(frozen=True, slots=True)
class Veto:
    """A reason why the new statement of a pair cannot replace the older one."""

    name: str
    """Stored as evidence, after "not:"."""
    applies: Callable[[Pair], bool]
    allowed: frozenset[RelationKind] = _ONLY_RELATES
    """Relations that the pair can still have."""


def _is_unreal(pair: Pair) -> bool:
    return pair.new_reading.unreal or pair.old_reading.unreal or pair.old.speech_act == "hypothetical"


def _is_beside_a_ban(pair: Pair) -> bool:
    """Whether the older statement forbids something at a time or in a number that the new one does not name.

    "Never deploy on a Friday afternoon" holds as well when "we deploy on Wednesdays from now on". What says
    the opposite lifts the ban.
    """
    new, old = pair.new_reading, pair.old_reading
    if not old.forbids or not old.quantities or old.quantities & new.quantities:
        return False
    return not (new.back and is_opposite(pair.new.text, pair.old.text))


def _adds(pair: Pair) -> bool:
    """Whether `new` adds to what its speaker has just said: "and they want bloods again in 4 weeks"."""
    new, old = pair.new, pair.old
    is_one_turn = new.session == old.session != 0 and new.speaker == old.speaker and new.role == old.role
    is_just_after = 0 <= new.occurred_at - old.occurred_at <= _JUST_AFTER
    corrects = pair.new_reading.sure_change or _CORRECTS.search(new.text) is not None
    return is_one_turn and is_just_after and not corrects and _AND.match(new.text) is not None


def _is_of_two_persons(pair: Pair) -> bool:
    """Whether two people speak of their own tastes, traits or opinions, or they are about two people."""
    new, old = pair.new, pair.old
    if are_two(new.about, old.about):
        return True
    is_by_two = bool(new.speaker and old.speaker) and new.speaker != old.speaker
    return is_by_two and pair.new_reading.personal and pair.old_reading.personal


def _is_from_outside(pair: Pair) -> bool:
    """Whether a document or a tool would change what was said in a conversation."""
    return pair.old.source_class in CONVERSATION and pair.new.source_class not in CONVERSATION


OTHER_IDENTIFIERS: Final = Veto(
    "identifiers",
    lambda pair: have_different_codes(pair.new_reading, pair.old_reading) and not pair.new_reading.change,
)
"""A slip corrected right after lifts it, see `slips`."""
VETOES: Final = (
    Veto(
        "states_nothing", lambda pair: pair.new.speech_act in NON_REPLACING_ACTS or pair.new_reading.only_asks
    ),
    Veto("unreal", _is_unreal),
    Veto("tentative", lambda pair: pair.new_reading.tentative and not pair.old_reading.tentative),
    Veto("ban", _is_beside_a_ban),
    Veto(
        "regained",
        lambda pair: not all(holds_value(pair.old_reading, one) for one in pair.new_reading.regained),
    ),
    Veto("addition", _adds),
    Veto("quotation", lambda pair: pair.new_reading.quotes or _QUOTED_SELF.search(pair.old.text) is not None),
    Veto("source", _is_from_outside),
    OTHER_IDENTIFIERS,
    Veto(
        "titles",
        lambda pair: bool(pair.new.title and pair.old.title) and pair.new.title != pair.old.title,
        allowed=_NO_RELATIONS,
    ),
    Veto("persons", _is_of_two_persons, allowed=ALL_RELATIONS - {"UPDATES", "DUPLICATE"}),
)
"""In the order in which they are asked: the first that applies decides."""


def veto(pair: Pair) -> Veto | None:
    """The first veto that applies to a pair; None: the new statement may replace the older one."""
    return next((one for one in VETOES if one.applies(pair)), None)
