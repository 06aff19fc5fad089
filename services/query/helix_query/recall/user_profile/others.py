"""Whether a sentence is about somebody else and not about its author."""

from __future__ import annotations

import re
from typing import Final

from helix_shared.naming.frequency import is_common
from helix_shared.naming.persons import PERSON_NOUNS

READ_CHARACTERS: Final = 200
_LEAD: Final = r"^\W*(?:(?i:oh|hey|ok(?:ay)?|so|and|but|also|well|btw|fyi|remember|note|careful)\b\W*)*"
_VERB: Final = (
    r"(?:is|isn't|isnt|was|wasn't|are|aren't|has|hasn't|had|can't|cannot|cant|won't|wont|will|doesn't|doesnt|does"
    r"|hates?|loves?|likes?|prefers?|eats?|drinks?|works?|worked|lives?|lived|moved|needs?|wants?|refuses?|never"
    r"|always|only|studies|studied|plays?|speaks?|runs?|teaches|taught|grew|started|got|must|should|also|still|now"
    r"|really|just|don't|dont)\b"
)
_IS: Final = r"(?:'s|'re|'ll|'d)\b"
_NAMED: Final = re.compile(
    rf"{_LEAD}(?P<name>[A-Z][\w-]+)(?:(?: and)? [A-Z][\w-]+)?"
    rf"(?:'s? (?:[\w-]+ ){{1,3}}?(?i:{_VERB})| (?i:{_VERB})|{_IS})"
)
_OWNED: Final = re.compile(rf"{_LEAD}(?P<name>[a-z]+)'s (?:[\w-]+ ){{1,3}}?{_VERB}")
_POINTED: Final = re.compile(
    rf"{_LEAD}(?:(?:he|she|they)(?: {_VERB}|{_IS})|(?:his|her|their) (?:[\w-]+ ){{1,3}}?{_VERB})",
    re.IGNORECASE,
)
_FIRST_PERSON: Final = re.compile(
    r"\b(?:i|me|my|mine|myself|we|us|our|ours|im|ive|i'm|i've|i'd|i'll|we're|we've)\b", re.IGNORECASE
)


def is_about_another(sentence: str) -> bool:
    """Whether the subject of a sentence is another person, and nothing in it names its author."""
    read = sentence[:READ_CHARACTERS].replace("\u2019", "'")
    if _FIRST_PERSON.search(read):
        return False
    named = _NAMED.match(read) or _OWNED.match(read)
    name = named["name"].lower() if named else ""
    if name and name not in PERSON_NOUNS and not is_common(name):
        return True
    return _POINTED.match(read) is not None
