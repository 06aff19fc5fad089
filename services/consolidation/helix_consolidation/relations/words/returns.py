"""Values that a text says are back, or were undone: "back to Redis", "rolled back the migration".

A phrase of return names the value that holds again: behind "back to", "returned to" and "reverted to", and in
front of "again" and "after all". The object of "rolled back", "reverted", "undid" and "returned" is what was
left. Other uses of "back" ("got our deposit back", "call back on Monday", "pushed back to Friday") return to
nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from helix_consolidation.relations.words.clauses import clauses

NEAR: Final = 4
"""Words beside a phrase of return that may name the value."""
_OBJECT: Final = 6
"""Words in which a verb may stand in front of its "back" or its "to"."""
_PLACES: Final = frozenset(["to", "on", "in", "at", "with", "for", "onto", "into", "under", "as", "using"])
_BE: Final = frozenset([
    "is", "are", "was", "were", "am", "be", "been", "being", "'s", "it's", "i'm", "we're", "he's", "she's",
    "they're", "you're",
])  # fmt: skip
_HAVE_BACK: Final = frozenset([
    "get", "gets", "got", "getting", "gotten", "call", "calls", "called", "calling", "ring", "rang", "text",
    "texted", "write", "wrote", "written", "email", "emailed", "hear", "heard", "report", "reported", "pay",
    "pays", "paid", "paying", "ask", "asked", "answer", "answered", "hold", "holds", "held", "holding", "cut",
    "cuts", "cutting", "look", "looks", "looked", "looking", "date", "dates", "dating", "scale", "scaled",
    "lean", "laid", "circle", "win", "won", "want", "wants", "wanted", "buy", "bought", "have", "has", "had",
    "need", "needs", "claim", "claimed", "fly", "flies", "flying", "flew", "drive", "driving", "drove",
    "ride", "ship", "hang", "fight", "fought", "talk", "play", "step", "stepped", "stepping", "read",
])  # fmt: skip
"""Verbs that return to nothing with "back": who gets, pays or calls back has not changed what holds."""
_GET: Final = frozenset(["get", "gets", "got", "getting", "gotten"])
_POSTPONE: Final = frozenset(["push", "pushed", "pushing", "pushes", "put", "set", "shifted"])
"""Directly in front of "back": later, not again."""
_SEND: Final = frozenset([
    "send", "sends", "sent", "sending", "give", "gives", "gave", "giving", "given",
])  # fmt: skip
"""What is sent or given back is no longer there."""
_PRONOUNS: Final = frozenset(["you", "me", "him", "her", "us", "them", "it", "this", "that"])
_ROLL: Final = frozenset(["roll", "rolls", "rolled", "rolling"])
_REVERT: Final = frozenset(["revert", "reverts", "reverted", "reverting"])
_UNDO: Final = frozenset(["undo", "undoes", "undid", "undone", "undoing"])
_RETURN: Final = frozenset(["return", "returns", "returned", "returning"])
_RESTORE: Final = frozenset([
    "restore", "restores", "restored", "restoring", "reinstate", "reinstated", "reinstating", "re-enable",
    "re-enabled", "reenabled", "re-enabling",
])  # fmt: skip
_WHO: Final = frozenset(
    ["i", "we", "he", "she", "they", "and", "have", "has", "just", "had", "i've", "we've"]
)
_DETERMINERS: Final = frozenset(["the", "my", "our", "his", "her", "their", "that", "this", "those", "these"])
_NO_ITEMS: Final = frozenset([
    "call", "calls", "email", "message", "favour", "favor", "ticket", "key", "keys", "value", "error",
])  # fmt: skip
"""Who returns these has given up nothing."""
_RETURN_VERBS: Final = frozenset([
    "bring", "brings", "brought", "bringing", "add", "added", "adding", "switch", "switched", "switching",
    "change", "changed", "changing", "turn", "turned",
])  # fmt: skip
"""With "back": the value behind it holds again, or an earlier one that is not named."""
_SINCE: Final = frozenset(["from", "until", "till", "after", "by", "if", "when"])
_AFTER_PAIRS: Final = (["after", "all"], ["as", "before"], ["like", "before"])


CHANGES: Final = frozenset([
    "move", "moves", "migration", "migrations", "change", "changes", "switch", "upgrade", "update", "rename",
    "renaming", "bump", "port", "transition", "conversion", "commit", "commits", "merge", "rollout",
    "release", "deploy", "deployment", "patch", "rewrite", "refactor", "refactoring", "redesign", "raise",
    "increase", "cut", "pr", "version", "decision", "swap", "replacement", "introduction",
])  # fmt: skip
"""Names of changes, which say nothing about what was changed."""


class Returns(NamedTuple):
    """The words beside phrases of return, and the words of what was undone, each as they stand."""

    returned: tuple[str, ...]
    undone: tuple[str, ...]
    given_up: tuple[str, ...]
    """Things that somebody returned, sent or gave back."""
    regained: tuple[str, ...]
    """What somebody got back: "got our deposit back"."""
    is_there: bool
    """Whether a phrase says that something returned or was undone, named or not."""
    is_other_back: bool
    """Whether there is a "back" that returns to nothing."""


class _Found:
    """What was found so far."""

    def __init__(self) -> None:
        self.returned: list[str] = []
        self.undone: list[str] = []
        self.given_up: list[str] = []
        self.regained: list[str] = []
        self.is_there = False
        self.is_other_back = False

    def returns(self, words: Sequence[str]) -> None:
        """Take a value up to what only tells when it returned ("from Monday")."""
        self.returned += itertools.takewhile(lambda word: word not in _SINCE, words)
        self.is_there = True

    def gives_up(self, words: Sequence[str]) -> None:
        self.given_up += words
        self.is_there = True

    def undoes(self, words: Sequence[str]) -> None:
        """Take the object of an undoing verb; of "the switch from X to Y", X returns."""
        self.is_there = True
        if "from" in words and "to" in words[words.index("from") :]:
            at = words.index("from")
            to = words.index("to", at)
            self.returned += words[at + 1 : to]
            words = [*words[:at], *words[to:]]
        self.undone += words


def returns_of(text: str, words_of: Callable[[str], list[str]]) -> Returns:
    """Read the phrases of return of a text in lower case; `words_of` splits a clause into words."""
    found, before = _Found(), list[str]()
    for clause in clauses(text):
        words = words_of(clause)
        for at, word in enumerate(words):
            _read(found, words, at, word, before)
        before = words or before
    return Returns(
        tuple(found.returned),
        tuple(found.undone),
        tuple(found.given_up),
        tuple(found.regained),
        is_there=found.is_there,
        is_other_back=found.is_other_back,
    )


def _read(found: _Found, words: list[str], at: int, word: str, before: list[str]) -> None:
    if word == "again" or words[at : at + 2] in _AFTER_PAIRS:
        end = at + (1 if word == "again" else 2)
        found.returns(words[max(0, at - NEAR) : at] or words[end : end + NEAR] or before[-NEAR:])
    elif word == "back":
        _read_back(found, words, at)
    elif word in _RETURN:
        _read_return(found, words, at)
    elif (word in _REVERT or word in _UNDO) and words[at + 1 : at + 2] != ["back"]:
        _read_undoing(found, words, at, words[at + 1 :])
    elif word in _RESTORE:
        is_passive = bool(at) and words[at - 1] in _BE
        found.returns(words[max(0, at - 1 - NEAR) : at] if is_passive else words[at + 1 : at + 1 + NEAR])


def _read_back(found: _Found, words: list[str], at: int) -> None:
    before, after = words[max(0, at - _OBJECT) : at], words[at + 1 :]
    if not _ROLL.isdisjoint(before):
        verb = max(n for n, one in enumerate(before) if one in _ROLL)
        between = before[verb + 1 :]
        _read_undoing(found, words, at - len(between) - 1, between or after, behind=after)
    elif not _SEND.isdisjoint(before) and after[:1] != ["on"]:
        verb = max(n for n, one in enumerate(before) if one in _SEND)
        found.gives_up([one for one in before[verb + 1 :] or after[:NEAR] if one not in _PRONOUNS])
    elif _is_no_return(before, after):
        found.is_other_back = True
        if not _GET.isdisjoint(before):
            found.regained += before[max(n for n, one in enumerate(before) if one in _GET) + 1 :]
    elif after[:1] and after[0] in _PLACES:
        subject = before[-NEAR:] if before and before[-1] in _BE else []
        found.returns([*subject, *after[1 : 1 + NEAR]])
    elif before and before[-1] in _BE and before[-2:-1] and before[-2] not in _PRONOUNS | _WHO:
        found.returns(before[-NEAR:])
    elif before and before[-1] in _RETURN_VERBS:
        found.returns(after[:NEAR])
    else:
        found.is_other_back = True


def _is_no_return(before: list[str], after: list[str]) -> bool:
    """Whether a "back" returns to nothing, by its verb and what follows."""
    last = before[-1] if before else ""
    if after[:1] == ["from"] or last in _POSTPONE or (last in _DETERMINERS and last != "that"):
        return True
    if last in _HAVE_BACK:
        is_in_place = after[:1] != [] and after[0] in _PLACES and not _PRONOUNS.intersection(after[1:2])
        return not (last in _GET and is_in_place)
    return not _HAVE_BACK.isdisjoint(before) and _BE.isdisjoint(before[-1:])


def _read_return(found: _Found, words: list[str], at: int) -> None:
    after = words[at + 1 :]
    if after[:1] == ["to"]:
        found.returns(after[1 : 1 + NEAR])
    elif _gives_up_item(words[at - 1 : at], after):
        found.gives_up(after[: 1 + NEAR])


def _gives_up_item(before: list[str], after: list[str]) -> bool:
    """Whether somebody returned a thing: "returned the sofa", not "the API returned the wrong value"."""
    is_somebody = not before or before[0] in _WHO
    return (
        is_somebody and bool(_DETERMINERS.intersection(after[:1])) and not _NO_ITEMS.intersection(after[1:2])
    )


def _read_undoing(
    found: _Found, words: list[str], at: int, after: list[str], *, behind: list[str] | None = None
) -> None:
    """Read "reverted X", "X was reverted" and "reverted to Y"; `behind`: what follows "back"."""
    rest = after if behind is None else behind
    if rest[:1] == ["to"]:
        found.returns(rest[1 : 1 + NEAR])
    elif behind is None and "to" in rest[:_OBJECT] and words[at] in _REVERT and not _names_change(rest):
        found.returns(rest[rest.index("to") + 1 :][:NEAR])
    elif after:
        found.undoes(after[: NEAR + NEAR])
    elif at:
        found.undoes([one for one in words[max(0, at - NEAR) : at] if one not in _BE])
    else:
        found.is_there = True


def _names_change(words: list[str]) -> bool:
    """Whether an object is a change, whose "to" belongs to it ("the move to Buildkite")."""
    return not CHANGES.isdisjoint(words[: words.index("to")])
