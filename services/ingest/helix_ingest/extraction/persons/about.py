"""The person a text is about: its author, a relative, somebody by name; nobody if it is not sure.

"My wife Ama turned 38" does not answer "how old am I?". It is sure if every sentence with a person as its
subject has the same person, and no sentence about another person says something about its author.
"""

from __future__ import annotations

import re
from typing import Final

from helix_ingest.extraction.acts.sentences import is_question, sentences, words
from helix_shared.about import OTHER, SELF, named, of_relative
from helix_shared.naming.frequency import is_common
from helix_shared.naming.persons import PERSON_NOUNS, RELATIVE_PATTERN, relative_of
from helix_shared.naming.words import CALENDAR, FUNCTION_WORDS, OPENERS

READ_CHARACTERS: Final = 400
"""A longer text says more than one value; it is about nobody that is sure."""
ASIDE_WORDS: Final = 3
"""A sentence without a person that is longer may be about anybody."""

_LEAD: Final = (
    r"^\W*(?:(?:oh|hey|hi|ok(?:ay)?|so|and|but|also|well|btw|fyi|yes|yeah|no|nope|actually|sorry|lol|haha|anyway|plus"
    r"|guess what|remember|note|turns out|good news|bad news|update|yesterday|today|tonight|now)\b\W*){0,3}"
)
_ADVERBS: Final = r"(?:(?:just|also|still|now|finally|always|never|only|really|already|both|recently) ){0,2}"
_IS: Final = (
    rf"{_ADVERBS}(?:is|isn't|isnt|was|wasn't|are|aren't|turn(?:s|ed)|lives?|lived|moved|works?|worked|has|hasn't|had"
    r"|doesn't|doesnt|does|likes?|loves?|hates?|prefers?|eats?|drinks?|drives?|speaks?|plays?|stud(?:y|ies|ied)|weighs?"
    r"|wears?|earns?|rents?|owns?|teaches|taught|runs?|started|starts|began|quit|retired|got|gets|graduated|joined"
    r"|can't|cannot|cant|won't|wont|refuses|needs|wants|grew|broke|married)\b"
)
"""Verbs that state what somebody is, has or does."""
_STATE: Final = (
    r"(?:\d\d?(?= now| years| today| already|[.,!]|$)|vegan|vegetarian|allergic|celiac|coeliac|diabetic"
    r"|pregnant|married|engaged|divorced|single)"
)
_LIVES: Final = (
    rf"{_ADVERBS}(?:turn(?:s|ed) \d+|lives?|lived|work(?:s|ed) (?:at|for|as|from|nights|part)|likes?|loves?"
    r"|hates?|prefers?|eats|drinks|drives|speaks|stud(?:ies|ied)|weighs|wears|earns|teaches|taught|retired|graduated|married"
    rf"|broke (?:his|her)|(?:is|was) (?:{_STATE}|born|my|our"
    r"|an? \w{2,20}(?:er|or|ist|ian|nurse|student|chef|cook)\b)"
    r"|got (?:married|engaged|divorced|promoted|fired)|has an? (?:son|daughter|baby|brother|sister))\b"
)
"""What persons do, and things do not: behind a name, which may be that of a firm or a program."""
_NOUN: Final = (
    r"(?:(?:new|old|older|younger|little|big|eldest|youngest|best|ex|late|dear|twin|step|half)[ -]){0,2}"
)
_RELATIVE: Final = re.compile(
    rf"{_LEAD}(?:my|our) {_NOUN}(?P<noun>{RELATIVE_PATTERN})\b,?(?: (?P<name>(?!{_IS})[\w-]+),?)?"
    rf"(?:'s? (?:[\w-]+ ){{1,3}}?{_IS}|'s\b| {_IS})",
    re.IGNORECASE,
)
_NAMED: Final = re.compile(
    rf"{_LEAD}(?P<name>[a-z\u00e0-\u024f][a-z\u00e0-\u024f-]{{1,30}})(?: [A-Z][\w-]+)?"
    rf"(?:'s (?:birthday|wife|husband|age|job|number|address|flat|house|phone|{_STATE})\b| {_LIVES})",
    re.IGNORECASE,
)
_PRONOUN: Final = re.compile(
    rf"{_LEAD}(?:s?he(?:'s {_STATE}\b| {_LIVES})"
    r"|(?:his|her) (?:birthday|age|job|number|address|flat|house|phone)\b)",
    re.IGNORECASE,
)
_AUTHOR: Final = re.compile(
    rf"{_LEAD}(?:(?:i|i'm|im|i've|ive|i'd|i'll|we|we're|we've|we'll|mine)\b"
    rf"|(?:my|our)\b(?! {_NOUN}(?:{RELATIVE_PATTERN})\b))",
    re.IGNORECASE,
)
_FIRST_PERSON: Final = re.compile(
    r"\b(?:i|me|my|mine|myself|we|us|our|ours|im|ive|i'm|i've|i'd|i'll|we're|we've|we'll|you|your)\b",
    re.IGNORECASE,
)
_THIRD_PERSON: Final = re.compile(
    rf"\b(?:he|she|him|his|her|hers|he's|she's|they|them|their|(?:my|our) {_NOUN}(?:{RELATIVE_PATTERN}))\b",
    re.IGNORECASE,
)
_RARE: Final = re.compile(
    r"(?<!\bin )(?<!\bat )(?<!\bto )(?<!\bnear )(?<!\bfrom )(?<![\w'@/.-])([A-Za-z]{3,20})"
    r"(?!'(?!s\b))(?![\w@/-])"
)
_RELATIVE_OWNER: Final = re.compile(rf"\b(?:my|our)(?= {_NOUN}(?:{RELATIVE_PATTERN})\b)", re.IGNORECASE)
_OWN_RELATIVE: Final = re.compile(
    rf"\b(?<!\bhis )(?<!\bher )(?<!\btheir )(?<!'s )(?P<noun>{RELATIVE_PATTERN})s?\b", re.IGNORECASE
)
"""A relative of the author: "his boss" and "my sister's baby" are not."""
_NO_NAMES: Final = frozenset(
    {"it", "that", "this", "there", "here", "what", "who", "he", "she", "they", "everyone"}
)


def about_whom(text: str, author: str) -> str:
    """Whom a text is about, a word of `helix_shared.about`; empty: it is not sure.

    `author` is the text's own one (`helix_shared.about.author`).
    """
    if len(text) > READ_CHARACTERS:
        return ""
    said = [one.text for one in sentences(text.replace("\u2019", "'")) if not is_question(one.text)]
    told = [(_of_sentence(one), one) for one in said]
    found = {subject for subject, _ in told if subject}
    if len(found) != 1 or any(not subject and len(words(one)) > ASIDE_WORDS for subject, one in told):
        return ""
    (subject,) = found
    others = _mentions_others(text) if subject == SELF else _says_own(text)
    if others or _names_relatives(text):
        return ""
    return author if subject == SELF or _is_author(subject, author) else subject


def _is_author(subject: str, author: str) -> bool:
    """Whether somebody speaks of themself by name."""
    _, _, name = author.partition(" ")
    return bool(name) and subject == named(name)


def _of_sentence(sentence: str) -> str:
    if _AUTHOR.match(sentence):
        return SELF
    if relative := _RELATIVE.match(sentence):
        name = relative["name"] or ""
        is_name = name and not is_common(name.lower()) and name.lower() not in FUNCTION_WORDS
        return named(name) if is_name else of_relative(relative_of(relative["noun"]))
    if match := _NAMED.match(sentence):
        name = match["name"]
        if name.lower() not in PERSON_NOUNS and name.lower() not in _NO_NAMES and _is_name(name):
            return named(name)
    return OTHER if _PRONOUN.match(sentence) else ""


def _is_name(word: str) -> bool:
    folded = word.lower()
    return not (folded in FUNCTION_WORDS or folded in OPENERS or folded in CALENDAR or is_common(folded))


def _mentions_others(text: str) -> bool:
    """Whether anybody but the author may be meant: a third person, or a rare word that is in no place."""
    if _THIRD_PERSON.search(text):
        return True
    return any(_is_name(word[1]) for word in _RARE.finditer(text))


def _names_relatives(text: str) -> bool:
    """Whether a text tells of more than one relative: "my wife is Sunita, kids are Dev (9) and Anya (6)"."""
    return len({relative_of(match["noun"]) for match in _OWN_RELATIVE.finditer(text)}) > 1


def _says_own(text: str) -> bool:
    """Whether a text about somebody else speaks of its author too, beside "my wife"."""
    bare = _RELATIVE_OWNER.sub("", text)
    return _FIRST_PERSON.search(bare.replace("\u2019", "'")) is not None
