"""Offers: questions that propose help ("want me to book it?", "anything I can help with?").

The next turn often goes on with its own subject. Only a short yes or no answers an offer of any help. A named
help is answered also by what does not begin a sentence of its own ("let me sleep on it"), points at the offer
("I did that already"), or shares a word with it.
"""

from __future__ import annotations

import re
from typing import Final

from helix_ingest.extraction.acts.acknowledgement import assents, dissents
from helix_ingest.extraction.acts.sentences import words
from helix_shared.naming.words import FUNCTION_WORDS

_READ_CHARACTERS: Final = 400
_SHORT_ANSWER: Final = 6
"""Words of a reply that is little more than yes or no."""
_ANSWER: Final = 30
"""Words of a reply that says yes or no to a named help, and more."""
_LEAST_STEM: Final = 4
"""Letters from which two words with the same beginning are taken for one."""
_OF_OFFERS: Final = frozenset(
    ["want", "shall", "would", "could", "shoul", "like", "help", "need", "pleas", "thank"]
)
"""Stems that name no help."""
_SELF: Final = r"(?:i|we)"
_TO_YOU: Final = r"(?: (?:you|u|out|with|for|else|today|now|further|in any way|at all))*\W*$"
_CAN: Final = r"(?:can|could|may|might)"
_GENERAL: Final = re.compile(
    rf"\b(?:any|some)(?:thing)?\b[^.?!\n]{{0,30}}\b{_SELF} {_CAN} (?:do|help|assist)\b{_TO_YOU}"
    rf"|\bwhat (?:else )?{_CAN} {_SELF} (?:do for|help|assist)\b{_TO_YOU}"
    rf"|\bhow (?:else )?{_CAN} {_SELF} (?:help|assist|be of (?:help|assistance))\b{_TO_YOU}"
    rf"|\b{_CAN} {_SELF} (?:be of (?:any )?(?:help|assistance)|help)\b(?: you)?(?: with (?:any|some)\w*)?"
    rf"{_TO_YOU}"
    r"|\b(?:need|want|like) (?:any |some |a )?(?:help|hand|assistance|support)\b"
    r"(?: with (?:that|it|this))?\W*$"
    r"|^\W*(?:(?:is there|do you need|was there) )?(?:any|some)thing else"
    r"(?: (?:today|for (?:now|today)|you need|on your mind))*\W*$",
    re.IGNORECASE,
)
_NAMED: Final = re.compile(
    rf"\b(?:want|like|prefer|need) (?:me|us) to \w+|\bshall {_SELF} \w+"
    rf"|\b(?:can|could) {_SELF} (?:help|get|bring|fetch|give|offer|lend) (?:you|u)\b"
    r"|\b(?:do you |would you |d'you )?(?:want|like|need) (?:any |some |a )?(?:help|hand|assistance)"
    r" (?:with|to|in)\b",
    re.IGNORECASE,
)
_ASSISTANT_NAMED: Final = re.compile(
    rf"(?<!what )(?<!how )(?<!when )(?<!where )(?<!which )(?<!who )\b(?:should|can|could|may) {_SELF} \w+",
    re.IGNORECASE,
)
"""Offers of an assistant; a person who says so asks for advice or leave."""


_OWN_SUBJECT: Final = re.compile(
    r"^\W*(?:(?:oh|hey|ok(?:ay)?|so|and|also|well|hi|btw)\b\W*)*"
    r"(?:i|we|my|our|the|an?|he|she|they|there|his|her|their|i['\u2019]\w+|we['\u2019]\w+)\b",
    re.IGNORECASE,
)
"""Beginning of a statement about something else."""
_POINTING: Final = re.compile(
    r"^[^.!?\n]{0,80}\b(?:it|that|this|him|them|those|ones?|already|did)\b", re.IGNORECASE
)


def is_offer(question: str, *, by_assistant: bool) -> bool:
    """Whether a question proposes help."""
    read = question[:_READ_CHARACTERS]
    if _GENERAL.search(read) or _NAMED.search(read):
        return True
    return by_assistant and bool(_ASSISTANT_NAMED.search(read))


def takes_up(reply: str, offer: str) -> bool:
    """Whether a reply says yes or no to an offer, or speaks of the help that it names."""
    read = reply[:_READ_CHARACTERS]
    count = len(words(read))
    decides = assents(read) or dissents(read)
    if decides and count <= _SHORT_ANSWER:
        return True
    if _GENERAL.search(offer[:_READ_CHARACTERS]):
        return False
    if (
        count <= (_ANSWER if decides else _SHORT_ANSWER)
        or not _OWN_SUBJECT.match(read)
        or _POINTING.search(read)
    ):
        return True
    return not _stems(offer[:_READ_CHARACTERS]).isdisjoint(_stems(read))


def _stems(text: str) -> set[str]:
    found = (word for word in words(text) if word not in FUNCTION_WORDS and len(word) >= _LEAST_STEM)
    return {word[: _LEAST_STEM + 1] for word in found} - _OF_OFFERS
