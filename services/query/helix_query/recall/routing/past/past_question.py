"""Whether a question is about what was, not about what holds: by its tense, and by words of earlier times.

The tense of the first finite verb decides, so no list of phrases has to know the question. Words such as
"previous" or "originally" say that something else held before; they are read in every tense where they stand
beside the thing that is asked for. A question that is misread loses little: what was replaced becomes a
candidate, and links between memories count less, or the other way round; nothing is left out.
"""

from __future__ import annotations

from helix_query.profile.past_question import PastQuestion
from helix_query.recall.query_text import read_query
from helix_query.recall.routing.past import words
from helix_query.recall.routing.rules import is_question
from helix_shared.timex import verbs


def asks_for_former(query: str) -> bool:
    """Whether words of a question about the past surely ask for a former or a first thing."""
    return words.SURELY_FORMER.search(read_query(query).lower()) is not None


def past_of(query: str) -> PastQuestion:
    """How a query speaks of the past."""
    text = read_query(query)
    return _of_question(text.lower()) if is_question(text) else _of_note(text.lower())


def _of_question(folded: str) -> PastQuestion:
    if words.ONCE.search(folded):
        folded = words.BEFORE_AN_EVENT.sub("by ", folded)
    is_past = _is_past(words.TOKEN.findall(folded))
    found = _of_strong_words(folded)
    asks_before = words.ASKS_WHAT.search(folded) and words.BEFORE.search(folded)
    if words.CHANGED_FROM.search(folded) or words.SUPPOSED.search(folded) or asks_before:
        found = PastQuestion.FORMER
    elif words.CHANGES.search(folded) and not words.ACTS.search(folded):
        found = PastQuestion.CHANGES
    elif not words.NOW.search(folded):
        found = _first_of(_former_thing(folded), found)
        if is_past:
            told = (
                (words.FIRST, PastQuestion.FIRST),
                (words.FORMER, PastQuestion.FORMER),
                (words.EARLIER, PastQuestion.EARLIER),
            )
            said = (past for pattern, past in told if pattern.search(folded))
            found = _first_of(found, next(said, PastQuestion.TENSE))
        else:
            found = _first_of(found, _of_note(folded.rstrip("? ")))
    return found


def _first_of(found: PastQuestion, other: PastQuestion) -> PastQuestion:
    return other if found is PastQuestion.NO else found


def _of_note(folded: str) -> PastQuestion:
    """The past of a few words that begin with "old" or "previous", or of a short demand for such a thing."""
    if folded.count(" ") >= words.NOTE_WORDS or folded.endswith("."):
        return PastQuestion.NO
    notes = (
        (words.FIRST_NOTE, PastQuestion.FIRST),
        (words.FORMER_NOTE, PastQuestion.FORMER),
        (words.CHANGES_NOTE, PastQuestion.CHANGES),
    )
    return next((past for pattern, past in notes if pattern.search(folded)), _former_thing(folded))


def _of_strong_words(folded: str) -> PastQuestion:
    """The past of a question in the present tense, or with a word for now."""
    if "originally" in folded:
        return PastQuestion.FIRST
    return PastQuestion.FORMER if "used to " in folded else PastQuestion.NO


def _former_thing(folded: str) -> PastQuestion:
    """Whether it asks for a former thing; in the present tense only where nothing else is asked of it.

    "What is the old code" asks for it, "where is the old sofa" for something else about it.
    """
    asked = words.ASKS_FOR_THING.search(folded) or words.DEMAND.search(folded)
    if not (asked or _is_past(words.TOKEN.findall(folded))):
        return PastQuestion.NO
    if words.FIRST_THING.search(folded):
        return PastQuestion.FIRST
    return PastQuestion.FORMER if words.FORMER_THING.search(folded) else PastQuestion.NO


def _is_past(said: list[str]) -> bool:
    """Whether the first finite verb is in the past tense."""
    for word in said:
        if word in words.PRESENT or word in words.IS:
            return False
        if word in words.PAST or word in verbs.PAST or _ends_in_ed(word):
            return True
    return False


def _ends_in_ed(word: str) -> bool:
    is_long = len(word) > words.SHORTEST_ED and word.endswith("ed")
    return is_long and word not in verbs.NOT_PAST and word not in words.NOUNS_IN_ED
