"""Whether a phrase of a sentence is something that a question can be about.

"it", "that one" and "the best thing" are about what another sentence names, so nobody asks for them.
"""

from __future__ import annotations

import re
from typing import Final

from helix_shared.naming.words import FUNCTION_WORDS, OPENERS

_WORD = re.compile(r"[\w'\u2019]+")
# fmt: off
_GENERIC: Final = frozenset({
    "answer", "best", "bit", "case", "day", "deal", "fact", "first", "goal", "hello", "here", "hi", "idea",
    "important", "issue", "kind", "last", "latter", "former", "lot", "main", "matter", "me", "next", "ok",
    "okay", "one", "ones", "other", "others", "part", "people", "person", "place", "point", "problem",
    "question", "reason", "rest", "result", "same", "second", "some", "someone", "something", "sort", "stuff",
    "thanks", "them", "there", "thing", "things", "time", "way", "week", "year", "yes", "no", "lol", "haha",
    "anything", "everything", "nothing", "everyone", "nobody", "somebody", "anyone", "myself", "yourself",
    "himself", "herself", "itself", "ourselves", "themselves", "good", "great", "nice", "new", "old", "hers",
    "mine", "ours", "theirs", "yours", "third", "today", "tomorrow", "yesterday", "problems", "news",
})
"""Words that name no subject of their own."""

_POINTING: Final = frozenset({
    "he", "her", "here", "hers", "his", "how", "i", "if", "it", "its", "mine", "my", "one", "our", "ours",
    "she", "some", "that", "their", "theirs", "there", "these", "they", "this", "those", "we", "what",
    "when", "where", "which", "who", "whoever", "whose", "why", "you", "your", "yours", "all", "another",
    "any", "both", "each", "every", "many", "most", "much", "no", "other", "several", "such", "but", "and",
    "so", "because", "yes", "yeah", "oh", "well",
})
# fmt: on
"""First words of a phrase that points to something instead of naming it."""


def names_something(phrase: str) -> bool:
    """Whether a word of the phrase is neither a function word nor generic."""
    return any(_says_something(word) for word in _words(phrase))


def is_defined_thing(phrase: str) -> bool:
    """Whether people ask what `phrase` is: a name or a term, not "My plan", "The best thing" or "Wow"."""
    words = _words(phrase)
    if not words or words[0] in _POINTING or not names_something(phrase):
        return False
    return len(words) > 1 or words[0] not in OPENERS


def _words(phrase: str) -> list[str]:
    found = (word.replace("\u2019", "'").strip("'") for word in _WORD.findall(phrase.lower()))
    return [word for word in found if word]


def _says_something(word: str) -> bool:
    return len(word) > 1 and word not in FUNCTION_WORDS and word not in _GENERIC
