"""Updates inside one session, which the model thinks improbable.

Most of what is said of one thing in one session continues it, so "the same session" speaks against an update.
Where a new statement names the older one again and says that something changed, that is no evidence.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from helix_consolidation.relations import rules
from helix_consolidation.relations.abandoned_values import abandoned_values
from helix_consolidation.relations.corrections import are_of_different_people
from helix_consolidation.relations.pair import Pair
from helix_consolidation.relations.statement import Candidate
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


def is_likely_in_session(pair: Pair, candidate: Candidate, *, among: int) -> bool:
    """Whether an update of `candidate` is as probable as if both statements were of different sessions.

    Either `new` returns to a value that the older statement names; or it may close it, names again all that
    it is about, gives another value, and is about no narrower thing ("the beta launch"). False for
    statements of two sessions. `among`: how many candidates were found.
    """
    new, new_reading, old, old_reading = pair
    if new.session != old.session or not new.session:
        return False
    if new_reading.back and any(holds_value(old_reading, value) for value in new_reading.returned):
        return True
    return (
        bool(old_reading.words)
        and old_reading.words <= new_reading.words
        and _gives_another_value(pair)
        and rules.may_close(pair, candidate, among=among)
        and not are_of_different_people(new, old)
        and not _is_narrower(new.text, old_reading)
    )


def _gives_another_value(pair: Pair) -> bool:
    """Whether an older value is missing, or said to be left; a statement without values may have others."""
    new, new_reading, _, old_reading = pair
    values = {one.value for one in old_reading.quantities}
    kept = bool(values) and values <= {one.value for one in new_reading.quantities}
    return not kept or any(holds_value(old_reading, value) for value in abandoned_values(new.text))


def _is_narrower(text: str, old_reading: Reading) -> bool:
    """Whether a word of the older statement now stands behind one that tells which ("the beta launch")."""
    clauses = map(words_of, _CLAUSE_END.split(text[:READ_CHARACTERS]))
    return any(
        stem(word) in old_reading.words
        and not holds_value(old_reading, stem(before))
        and not holds_value(old_reading, before)
        and _tells_which(before)
        for words in clauses
        for before, word in pairwise(words)
    )


def _tells_which(word: str) -> bool:
    """Whether a word may tell which thing is meant, as "beta", "second" and "Friday" do."""
    if word in FUNCTION_WORDS or word in cues.CHANGE:
        return False
    return bool(content_words(word)) or is_value_word(word)
