"""What the model may not decide alone: why a statement cannot replace another, and what it still can be."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, NamedTuple

from helix_consolidation.relations.rules import STATES_NOTHING, have_other_codes
from helix_consolidation.relations.statement import Statement
from helix_consolidation.relations.words.opposites import is_opposite
from helix_consolidation.relations.words.reading import Reading, holds_value
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


class Pair(NamedTuple):
    """A new statement and an older one, and what was read from the words of each."""

    new: Statement
    this: Reading
    """Of `new`."""
    old: Statement
    other: Reading
    """Of `old`."""


@dataclass(frozen=True, slots=True)
class Veto:
    """A reason why the new statement of a pair cannot replace the older one."""

    name: str
    """Stored as evidence, after "not:"."""
    applies: Callable[[Pair], bool]
    allowed: frozenset[RelationKind] = _ONLY_RELATES
    """Relations that the pair can still have."""


def _is_unreal(pair: Pair) -> bool:
    return pair.this.unreal or pair.other.unreal or pair.old.speech_act == "hypothetical"


def _is_beside_a_ban(pair: Pair) -> bool:
    """Whether the older statement forbids something at a time or in a number that the new one does not name.

    "Never deploy on a Friday afternoon" holds as well when "we deploy on Wednesdays from now on". What says
    the opposite lifts the ban.
    """
    this, other = pair.this, pair.other
    if not other.forbids or not other.quantities or other.quantities & this.quantities:
        return False
    return not (this.back and is_opposite(pair.new.text, pair.old.text))


def _adds(pair: Pair) -> bool:
    """Whether `new` adds to what its speaker has just said: "and they want bloods again in 4 weeks"."""
    new, old = pair.new, pair.old
    is_one_turn = new.session == old.session != 0 and new.speaker == old.speaker and new.role == old.role
    is_just_after = 0 <= new.occurred_at - old.occurred_at <= _JUST_AFTER
    corrects = pair.this.sure_change or _CORRECTS.search(new.text) is not None
    return is_one_turn and is_just_after and not corrects and _AND.match(new.text) is not None


def _is_of_two_persons(pair: Pair) -> bool:
    """Whether two people speak of their own tastes, traits or opinions, or they are about two people."""
    new, old = pair.new, pair.old
    if are_two(new.about, old.about):
        return True
    is_by_two = bool(new.speaker and old.speaker) and new.speaker != old.speaker
    return is_by_two and pair.this.personal and pair.other.personal


def _is_from_outside(pair: Pair) -> bool:
    """Whether a document or a tool would change what was said in a conversation."""
    return pair.old.source_class in CONVERSATION and pair.new.source_class not in CONVERSATION


OTHER_IDENTIFIERS: Final = Veto(
    "identifiers", lambda pair: have_other_codes(pair.this, pair.other) and not pair.this.change
)
"""A slip corrected right after lifts it, see `slips`."""
VETOES: Final = (
    Veto("states_nothing", lambda pair: pair.new.speech_act in STATES_NOTHING or pair.this.only_asks),
    Veto("unreal", _is_unreal),
    Veto("tentative", lambda pair: pair.this.tentative and not pair.other.tentative),
    Veto("ban", _is_beside_a_ban),
    Veto("regained", lambda pair: not all(holds_value(pair.other, one) for one in pair.this.regained)),
    Veto("addition", _adds),
    Veto("quotation", lambda pair: pair.this.quotes or _QUOTED_SELF.search(pair.old.text) is not None),
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
