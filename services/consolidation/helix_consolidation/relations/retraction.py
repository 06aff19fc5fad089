"""A turn that only says that the one before was a joke ("Just kidding.") retracts that one.

What was retracted is closed, and its relations to earlier statements do not count (`folding.status.links`).
Only the last turn of the same speaker is meant, at most one other turn before: the context has two turns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from helix_consolidation.relations.statement import RETRACTS, Candidate, Decision, Statement

_MOST_CHARACTERS: Final = 80
"""Characters of a turn that only retracts."""
_ONLY_JOKED: Final = re.compile(
    r"\W*(?:(?:lol|haha|hehe|nah|no|sorry|ok|okay|well|but|oh)\b\W{0,5}){0,3}"
    r"(?:(?:(?:i['\u2019]?m|i am|i was|we['\u2019]?re|we are|we were) )?(?:just |only |totally |obviously )?"
    r"(?:kidding|joking)"
    r"|(?:(?:that|it|this)(?:['\u2019]?s| is| was) )?(?:just |only |all )?a joke|jk|j/k)"
    r"(?:\W{1,5}(?:lol|haha|hehe|sorry|of course|obviously)){0,2}\W*",
    re.IGNORECASE,
)


def is_retraction(new: Statement) -> bool:
    """Whether a turn only says that what was said before does not hold."""
    text = new.text
    return not new.is_derived and len(text) <= _MOST_CHARACTERS and _ONLY_JOKED.fullmatch(text) is not None


def retraction_decisions(new: Statement, candidates: Sequence[Candidate]) -> list[Decision]:
    """The decision about the last turn of the same speaker, if that stated something; else none.

    A second "jk" takes nothing back: it means what the first one meant.
    """
    for index in reversed(range(len(candidates))):
        if _is_last_turn(new, candidates[index].statement):
            if is_retraction(candidates[index].statement):
                break
            return [Decision(index, "RELATES", 1.0, closes=True, evidence={RETRACTS: 1.0})]
    return []


def _is_last_turn(new: Statement, old: Statement) -> bool:
    """Whether `old` is the last of the turns before `new` that its speaker said."""
    if old.is_derived or not new.session or new.session != old.session:
        return False
    if (new.role, new.speaker) != (old.role, old.speaker):
        return False
    _, _, last = f"\n{new.context}".rpartition(f"\n{new.speaker or new.role}: ")
    return last == old.text or last.startswith(f"{old.text}\n")
