"""Whether a query may be a quotation, decided by its form before any search.

Narrower than the questions of `routing.rules`: a line of a log may begin with "could" or "find".
"""

from __future__ import annotations

import re
from typing import Final

from helix_query.recall.routing.rules import REQUESTS
from helix_shared.text.scripts import QUESTION_MARKS, word_count

LEAST_WORDS: Final = 5
"""Fewer words in a row occur in many texts."""
MOST_CHARACTERS: Final = 2_000
"""Characters of a query; a longer text is a document, not a quotation."""
_AUXILIARY = "is|are|am|was|were|do|does|did|can|could|will|would|shall|should|may|might|must|has|have|had"
_ASKED_OF = (
    r"i|you|we|he|she|they|it|the|an?|this|that|these|those|my|our|your|his|her|their|its|there|"
    r"any\w*|some\w*|every\w*|all"
)
_ASKS: Final = re.compile(
    # "why did we", "what is", "how to"; not "when deliveries pile up" or "which creates the next value"
    r"(?:who|whom|whose|what|when|where|why|how|which)"
    rf"(?:'s\b|(?: [\w-]+){{0,3}}? (?:{_AUXILIARY}|to|about)\b)|"
    # "could you", "is the"; not "could not resolve host" or "has been killed"
    rf"(?:{_AUXILIARY}) (?:{_ASKED_OF})\b|"
    # "find the notes", but no command such as "find . -name" and no heading such as "plan: 3"
    rf"(?:please )?(?:{REQUESTS}) [a-z]",
    re.IGNORECASE,
)
_ENDS_A_QUESTION: Final = re.compile(rf"[\w\"'\u2019\u201d]\s*[{QUESTION_MARKS}]+\s*$")


def is_quotation(query: str) -> bool:
    """Whether a query may be a quotation: long enough, not too long, and no question or request.

    A question that was asked before should find its answer, not the earlier question.
    """
    if len(query) > MOST_CHARACTERS:
        return False
    text = " ".join(query.replace("\u2019", "'").split())
    return word_count(query) >= LEAST_WORDS and not _ENDS_A_QUESTION.search(text) and not _ASKS.match(text)
