"""The person whose value a question asks for: the asker, somebody named, or a relative of the asker."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from helix_query.recall.candidates import AskedPerson
from helix_query.recall.query_text import read_query
from helix_shared.about import AUTHOR, BY_NAME, OF_AUTHOR, first_name, person_code
from helix_shared.naming import find_names
from helix_shared.naming.frequency import is_common
from helix_shared.naming.persons import PERSON_NOUNS, RELATIVE_PATTERN, relative_of
from helix_shared.naming.words import FUNCTION_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

_OWN: Final = re.compile(
    r"\b(?:am|do|did|was|have|had|should|can|will|would|could|are|were) (?:i|we)\b"
    r"|\b(?:my|our|mine|i'm|im|i've|we're)\b",
    re.IGNORECASE,
)
_THIRD: Final = re.compile(r"\b(?:he|she|him|his|her|hers|they|them|their|your|you)\b", re.IGNORECASE)
_RELATIVE: Final = re.compile(rf"\b(?:{RELATIVE_PATTERN})(?=s\b|'s\b|\b)", re.IGNORECASE)
_WORD: Final = re.compile(r"[a-z\u00e0-\u024f][a-z\u00e0-\u024f'-]+", re.IGNORECASE)
_NAMED: Final = re.compile(
    r"\b(?:is|does|did|was|has|will) (?P<name>[\w-]{3,30})\b|\b(?P<owner>[\w-]{3,30})'s\b", re.IGNORECASE
)


def asked_person(query: str) -> AskedPerson | None:
    """The one person whose value a question asks for; None where it is nobody, several, or not sure."""
    read = read_query(query)
    relatives = {relative_of(match[0]) for match in _RELATIVE.finditer(read)}
    names = set(_names(read))
    if len(relatives) + len(names) > 1:
        return None
    if relatives:
        return AskedPerson(OF_AUTHOR, person_code(relatives.pop()))
    words = (word.lower().removesuffix("'s") for word in _WORD.findall(read))
    if not PERSON_NOUNS.keys().isdisjoint(words) or _THIRD.search(read):
        return None
    if names:
        return None if _OWN.search(read) else AskedPerson(BY_NAME, person_code(names.pop()))
    return AskedPerson(AUTHOR) if _OWN.search(read) else None


def _names(read: str) -> Iterator[str]:
    for name in find_names(read):
        if name.kind == "name":
            yield first_name(name.surface)
    for match in _NAMED.finditer(read):
        word = (match["name"] or match["owner"]).lower()
        if word not in FUNCTION_WORDS and word not in PERSON_NOUNS and not is_common(word):
            yield first_name(word)
