"""Tells a sentence that begins with a noun from a command: "deploy failed", "check up is on Friday".

Many words that command are nouns too. People leave out articles, so a statement often begins with such a
word; read as a command it would be taken for a request. It is the subject where a verb that tells something,
or a word for a state, follows before any article or pronoun ("build takes 12 min", not "build the image").
"""

from __future__ import annotations

import re
from typing import Final

from helix_ingest.extraction.acts.instructions import OPENERS

_NOUN: Final = (
    r"(?:run|list|book|order|build|deploy|merge|review|set|start|stop|move|update|change|draft|schedule|raise|release"
    r"|fix|install|double|increase|lower|go|convert|revert|bump|test|call|turn|design|report|upgrade|downgrade"
    r"|switch|cut|push|shift|drop|rename|cap|limit)"
)
_COMPOUND: Final = (
    r"(?:check|pick|drop|send|write|set|start|follow|line|sign|wind|warm|clean|try|kick)[ -]?"
    r"(?:ups?|offs?|outs?|ins?|downs?)"
)
_WORD: Final = (
    r"(?!(?:the|an?|my|your|our|his|her|their|its|this|that|these|those|it|them|him|me|us|all|every|each|any|some|if"
    r"|whether|what|how|why|who|when|which|where|please|pls|and|or|to|i|we|you|he|she|they|out|up|down|everything"
    r"|something|whatever)\b)[\w.'\u2019-]+"
)
_ABOUT: Final = (
    r"(?:on|for|at|from|with|of|in|about|by|to) (?:(?:the|an?|my|your|our|his|her|their) )?"
    r"[\w.'\u2019-]+(?: [\w'\u2019-]+)?"
)
_TELLS: Final = (
    r"(?:is|was|were|isn['\u2019]?t|wasn['\u2019]?t|has|had|will be|won['\u2019]?t|went|goes|came|comes|got"
    r"|gets|broke|breaks|failed|fails|takes|took|changed|moved|moves|costs|cost|started|ended|ends|happened|meets"
    r"|passed|looks|hurts|works|worked|shipped|arrived|opens|closes|closed|needs|says|said|runs|ran|lasts"
    r"|lasted|finished|sounds|became|starts|begins|began|clashes|dropped|stays|stayed)"
    # "book costs for the trip", "list needs and goals": nouns
    r"(?! (?:for|by|and|of)\b)"
)
_STATE: Final = (
    r"(?:all (?:good|ok|fine|done|clear|set)|done|good|fine|ok(?:ay)?|great|green|red|late|on hold|cancell?ed"
    r"|postponed|ready|broken|delayed|pending)\b"
    r"(?=\W*$|\W*[,.;:!-]|\W+(?:again|now|already|since|today|yesterday|until|till|and|but|for|by)\b)"
)
_SUBJECT: Final = re.compile(
    rf"^\W*+(?:(?:{OPENERS}|btw|fyi)\b\W*+)*+(?:{_COMPOUND}|{_NOUN}s?)"
    rf"(?:"
    # deploy failed; book club moved to Friday; fix for the leak is in
    rf"(?: {_WORD}){{0,2}}?(?: {_ABOUT})? {_TELLS}\b"
    # plural: review comments are in
    rf"|(?: {_WORD})? [\w'\u2019-]+s are\b"
    rf"|(?: {_WORD}){{0,1}}?(?: {_ABOUT})? {_STATE}"
    # update from the vet: it is only a cold
    rf"|(?: [\w'\u2019-]+)? (?:from|about) [^.,;:?!\n]{{1,40}}: ?\w"
    r")",
    re.IGNORECASE,
)


def begins_with_subject(sentence: str) -> bool:
    """Whether the word at the beginning of a sentence is its subject, though it could be a command."""
    return _SUBJECT.match(sentence) is not None
