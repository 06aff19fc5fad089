"""Updates inside one session, which the model thinks improbable.

Most of what is said of one thing in one session continues it, so "the same session" speaks against an update.
Where a new statement names the older one again and says that something changed, that is no evidence.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from helix_consolidation.relations import rules
from helix_consolidation.relations.corrections import is_of_another
from helix_consolidation.relations.left_values import values_left
from helix_consolidation.relations.statement import Candidate, Statement
from helix_consolidation.relations.words import cues
from helix_consolidation.relations.words.quantities import is_value_word
from helix_consolidation.relations.words.reading import (
    READ_CHARACTERS,
    Reading,
    content_words,
    holds_value,
    stem,
    words_of,
)
from helix_shared.naming.words import FUNCTION_WORDS

_CLAUSE_END: Final = re.compile(r"[^\w\s'\u2019-]+")


def is_as_apart(new: Statement, this: Reading, candidate: Candidate, other: Reading, *, among: int) -> bool:
    """Whether an update of `candidate` by `new` is as probable as it would be in another session.

    Either `new` returns to a value that the older statement names; or it may close it, names again all that
    it is about, gives another value, and is about no narrower thing ("the beta launch"). False for
    statements of two sessions. `among`: how many candidates were found.
    """
    old = candidate.statement
    if new.session != old.session or not new.session:
        return False
    if this.back and any(holds_value(other, value) for value in this.returned):
        return True
    return (
        bool(other.words)
        and other.words <= this.words
        and _gives_another_value(new, this, other)
        and rules.may_close(new, this, candidate, other, among=among)
        and not is_of_another(new, old)
        and not _is_narrower(new.text, other)
    )


def _gives_another_value(new: Statement, this: Reading, other: Reading) -> bool:
    """Whether an older value is missing, or said to be left; a statement without values may have others."""
    values = {one.value for one in other.quantities}
    kept = bool(values) and values <= {one.value for one in this.quantities}
    return not kept or any(holds_value(other, value) for value in values_left(new.text))


def _is_narrower(text: str, other: Reading) -> bool:
    """Whether a word of the older statement now stands behind one that tells which ("the beta launch")."""
    clauses = map(words_of, _CLAUSE_END.split(text[:READ_CHARACTERS]))
    return any(
        stem(word) in other.words
        and not holds_value(other, stem(before))
        and not holds_value(other, before)
        and _tells_which(before)
        for words in clauses
        for before, word in pairwise(words)
    )


def _tells_which(word: str) -> bool:
    """Whether a word may tell which thing is meant, as "beta", "second" and "Friday" do."""
    if word in FUNCTION_WORDS or word in cues.CHANGE:
        return False
    return bool(content_words(word)) or is_value_word(word)
