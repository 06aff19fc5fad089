"""The facets of a text and the sentences that state them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from helix_ingest.facets import changed, dynamic_part, static_part
from helix_ingest.facets.asked import asked_facet
from helix_ingest.facets.sentences import Sentence, stating_sentences
from helix_ingest.facets.spelling import as_read
from helix_ingest.facets.tasks import states_task
from helix_ingest.facets.words import NEEDED, SHOUTED_WORDS, WORD
from helix_shared.naming.frequency import is_common
from helix_shared.naming.persons import find_introduced
from helix_shared.timex import find_time_expressions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from helix_memory.vocabulary.facets import Facet
    from helix_memory.vocabulary.speech_acts import SpeechAct

READ_TEXTS: Final = 512
"""Texts whose facets are cached: a turn is read again with the next turn."""
READ_BEFORE: Final = 200
"""Characters in front of a sentence in which its question is looked for."""
MOST_FACETS: Final = 12
"""Facets of one memory; a longer text is no statement about its author."""
STATING: Final = frozenset[str](("statement", "plan", "decision", "correction"))
"""Speech acts of a profile; a request may hold a preference, see `REQUESTED`."""
REQUESTED: Final = frozenset[str](("constraint", "preference"))
"""Facets that a request states too: "please book me a window seat, I prefer those"."""

_PATTERNS: Final[tuple[tuple[Facet, re.Pattern[str]], ...]] = (
    ("identity", static_part.IDENTITY),
    ("identity", changed.NEW),
    ("background", static_part.BACKGROUND),
    ("background", changed.ENDED),
    ("relationship", static_part.RELATIONSHIP),
    ("preference", static_part.PREFERENCE),
    ("constraint", static_part.CONSTRAINT),
    ("project", dynamic_part.PROJECT),
    ("plan", dynamic_part.PLAN),
)
_ORDER: Final[tuple[Facet, ...]] = (*dict.fromkeys(facet for facet, _ in _PATTERNS), "task")


@dataclass(frozen=True, slots=True)
class FoundFacet:
    """A facet and the sentence that states it: `text[start:end]`."""

    facet: Facet
    start: int
    end: int


@lru_cache(READ_TEXTS)
def facets_of(
    text: str,
    *,
    source_class: str,
    speech_act: SpeechAct = "statement",
    ahead_of: datetime | None = None,
    is_answer: bool = False,
) -> tuple[FoundFacet, ...]:
    """The facets that a user's text states, in the order of its sentences; none for other sources.

    `ahead_of` is when it was said, if it names a time to come: what its author will do, and what comes on a
    day, is a plan. `is_answer`: it is a question of somebody else and the answer. Reads the first
    `sentences.READ_CHARACTERS` characters.
    """
    if source_class != "user" or not (speech_act in STATING or speech_act == "request"):
        return ()
    found: list[FoundFacet] = []
    introduced_at = -1
    for sentence in stating_sentences(text):
        folded = as_read(sentence.text)
        names_itself = _names_itself(sentence.text, folded)
        stated = list(_facets_in(sentence, folded, ahead_of, names_itself=names_itself))
        if is_answer:
            stated = _with_question(text, sentence, folded, stated)
        is_next = introduced_at >= 0 and text[introduced_at : sentence.start].strip(" ") == ""
        if is_next and not stated and static_part.DESCRIBES_ITSELF.match(folded):
            stated = [FoundFacet("identity", sentence.start, sentence.end)]
        found += stated
        introduced_at = sentence.end if names_itself else -1
    kept = [one for one in found if speech_act != "request" or one.facet in REQUESTED]
    return tuple(kept[:MOST_FACETS])


def _with_question(text: str, sentence: Sentence, folded: str, stated: list[FoundFacet]) -> list[FoundFacet]:
    """What an answer directly behind its question states, with the question; else what it states itself."""
    start, question = _question_before(text, sentence.start)
    asked = asked_facet(as_read(question), folded) if question else None
    if asked is None:
        return stated
    return [
        FoundFacet(facet, start, sentence.end)
        for facet in dict.fromkeys((asked, *(one.facet for one in stated)))
    ]


def _question_before(text: str, place: int) -> tuple[int, str]:
    """The question that ends at a place, and where it begins; empty where no question ends there."""
    first = max(0, place - READ_BEFORE)
    before = text[first:place].rstrip()
    if not before.endswith("?"):
        return place, ""
    begins = 1 + max(before.rfind(mark, 0, len(before) - 1) for mark in ".!?\n")
    question = before[begins:].lstrip()
    return first + len(before) - len(question), question


def _facets_in(
    sentence: Sentence, folded: str, ahead_of: datetime | None, *, names_itself: bool
) -> Iterator[FoundFacet]:
    written = sentence.text.replace("\u2019", "'")
    words = set(WORD.findall(folded))
    names: set[Facet] = {
        facet
        for facet, pattern in _PATTERNS
        if not NEEDED[facet].isdisjoint(words) and pattern.search(folded)
    }
    if not NEEDED["task"].isdisjoint(words) and states_task(folded):
        names.add("task")
    if "relationship" not in names and not NEEDED["relationship"].isdisjoint(words):
        names |= (
            {"relationship"} if static_part.NAMED_RELATIVE.search(written) or _names_own(folded) else set()
        )
    if not SHOUTED_WORDS.isdisjoint(written.split()) and not written.isupper():
        names |= {"constraint"} if static_part.SHOUTED.search(written) else set()
    if ahead_of and (dynamic_part.FUTURE.search(folded) or _comes(written, folded, ahead_of)):
        names.add("plan")
    if names_itself:
        names.add("identity")
    for facet in _ORDER:
        if facet in names:
            yield FoundFacet(facet, sentence.start, sentence.end)


def _names_itself(written: str, folded: str) -> bool:
    """Whether the author says by which name to call them."""
    itself = static_part.NAMES_ITSELF.match(folded)
    if itself is None:
        return static_part.LISTS_ITSELF.search(written) is not None
    return not is_common(next(filter(None, itself.groups())))


def _comes(written: str, folded: str, said_at: datetime) -> bool:
    """Whether a sentence says what comes at a time that it names."""
    if dynamic_part.FRAGMENT.match(folded):
        return False
    times = find_time_expressions(written, said_at)
    return any(one.certainty != "open" and one.start > said_at for one in times)


def _names_own(folded: str) -> bool:
    """Whether a relative of the author is named in lower case: "my husband sami"."""
    return any(static_part.OWN_RELATIVE.search(folded[:start]) for start, _ in find_introduced(folded))
