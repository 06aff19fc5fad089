"""Whether a sentence says what its author has to do.

The words of tasks have other senses: a ticket is open, and so is a pool; an essay is due in May, and so is a
baby. Some are told apart by what they are said of, the noun in front of the verb, others by the words around
them; `advice` takes out what is said to everybody. All patterns are matched on text as `spelling.as_read`
gives it, and every repetition is bounded.
"""

from __future__ import annotations

import re
from typing import Final

from helix_ingest.facets.advice import without_advice
from helix_ingest.facets.static_part import RELATIVE
from helix_shared.naming.frequency import is_common
from helix_shared.naming.persons import OCCUPATION_PATTERN, ROLE_PATTERN

READ_BEFORE: Final = 80
"""Characters in front of a word in which its subject is looked for."""

_SOFT: Final = r"(?:(?:still|also|really|just) )?"
_OBLIGED: Final = (
    rf"(?:(?:i|we) {_SOFT}(?:need to|have to|gotta|must|should|ought to)"
    # "I got to see it" tells of an opportunity
    rf"|(?:i|we)(?:'ve| have) {_SOFT}got to|(?:i|we) (?:still|also|really|just) got to)"
)
_NO_MORE: Final = r"(?:(?:still|now|also|all|already|long|both) ){0,2}"
TASK: Final = re.compile(
    rf"\b(?<!thinks )(?<!thinks that ){_OBLIGED}\b"
    r"|\bdeadline\b(?! (?:has |had |already )?passed\b)|\bdon't let me forget\b|\bremember to\b"
    # "these photos remind me of home"
    r"|(?:^|[,;:\u2013\u2014-] ?|\b(?:and|but|so|then|also|just|please|pls|(?:can|could|would|will) you"
    r"|you to) )"
    r"(?:please |just )?remind me\b(?! (?:why|how|what|of (?:why|how|what|that))\b)"
    # the thing that is kept, and "nothing todo with": neither is a task
    r"|\b(?:on|to|off|from) (?:my|our|the) (?:\w+ )?to-?do list\b"
    r"|\bto-?do\b(?!-| (?:lists?|apps?|with)\b|\.\w)"
    r"|\bi owe (?!(?:it|this|that|everything|all|my \w+)\b|(?:so |very )?(?:much|a lot|a great deal) to\b"
    r"|(?:you|him|her|them) (?:one|big|everything|so much|a lot|my \w+)\b)"
)
"""Words of a task wherever they stand."""
OTHER_SENSE: Final = re.compile(
    # an idea: "maybe we should paint it"
    rf"\b(?:maybe|perhaps|possibly)\b[^,.;]{{0,40}}?\b{_OBLIGED}\b"
    r"|\b(?:i|we) (?:should|must|ought to) (?:maybe|perhaps|possibly)\b"
    # what is said at once: "I have to admit"
    rf"|\b{_OBLIGED} (?:admit|confess|concede|laugh|smile|tell you|(?:dis)?agree with"
    r"|say(?! (?:good-?bye|bye|sorry|thanks|thank you|hello|yes|no)\b))\b"
    # what was: "I must have left it there", "we should have known"
    rf"|\b(?:i|we) {_SOFT}(?:must|should)(?:'ve| have| of) (?:(?:just|already|never) )?"
    r"(?:\w+ed|been|bought|broken|brought|caught|done|dropped|eaten|fallen|felt|forgotten|found|given|gone|got"
    r"|gotten|had|heard|kept|known|left|lost|made|misread|missed|paid|said|seen|sent|slept|spent|stayed|taken"
    r"|thought|told|won|worn|written)\b"
    r"|\b(?:i|we|he|she|they) (?:(?:always|usually|never|still|sometimes|often) )?remember to\b"
    r"|\bno (?:\w+ )?deadline\b|\b(?:met|made|beat|missed) (?:the|my|our|that|every) (?:\w+ ){0,2}deadline\b"
    r"|\b(?:such|what|quite) a to-?do\b|\ba (?:big|great|huge|whole) to-?do\b"
)
"""Left out before `TASK` is searched."""
STATE: Final = re.compile(
    rf" (?P<verb>is|are) {_NO_MORE}(?P<state>open(?! (?:to|until|till|from|late|daily)\b)|overdue|outstanding"
    r"|unfinished|left to do)\b"
)
"""What a thing is: only of some things is it a task."""
DUE: Final = re.compile(
    r"\bdue (?:on|by|in|next|this|tomorrow)\b(?! (?:(?:large|small|no small|good|great) )?(?:part|measure)\b"
    r"| (?:court|port|theatre|surgery|hospital|town)\b)"
)

_CLAUSE: Final = re.compile(
    r"[,;:!?()\u2013\u2014]|\b(?:and|but|or|so|because|since|as|if|whether|when|while|until|than|says?|said|thinks?)\b"
)
_PREPOSITION: Final = re.compile(
    r"(?<=\w) (?:about|at|between|by|for|from|in|of|on|to|with|that|which|we|i)\b"
)
_NUMBER: Final = r"(?: (?:no\.? ?)?#?\d[\w.-]*)?\W*$"
_WORK: Final = re.compile(
    r"\b(?P<noun>(?:action|bug|case|claim|incident|invoice|item|issue|matter|order|point|pr|pull request"
    r"|merge request|mr|question|request|task|ticket|to-?do|topic|bill)s?|(?:inquir|enquir|quer)(?:y|ies)"
    rf"|[a-z]{{2,10}}-\d{{1,6}}){_NUMBER}"
)
_OWED: Final = re.compile(
    r"\b(?P<noun>(?:answer|appraisal|approval|balance|check|confirmation|debt|decision|delivery|deposit|document"
    r"|fee|fine|form|inspection|instalment|payment|referral|refund|rent|repair|reply|replie|signature|sum|tax"
    r"|taxe)s?|amount|deliveries|paperwork|money|homework|(?:euro|pound|dollar)s?|[\u20ac\u00a3$]?\d[\d.,]*k?)"
    r"\W*$"
)
_NOTHING: Final = re.compile(r"^\W*(?:nothing|nobody|none|neither|little|not much|no)\b")
_COMES: Final = re.compile(
    r"\b(?:he|she|they|you|who|i|we|babies|twins|guests?|visitors?|(?:bus|buses|coach|ferr(?:y|ies)|flight|plane"
    r"|train|tram|ship|boat|taxi|cab|storm|rain|snow|frost|thaw|eclipse|wave|period|season|episode"
    r"|film|movie|album|sequel)s?"
    rf"|(?:{RELATIVE}|{ROLE_PATTERN}|{OCCUPATION_PATTERN})s?){_NUMBER}"
)
"""Who or what arrives: said to be due or overdue, nobody has to do it."""
_MADE: Final = re.compile(
    r"\b(?:symphon(?:y|ies)|operas?|cathedrals?|woods?|oak|pine|timber|basements?|attics?|furniture)\W*$"
)
"""What can be called unfinished for good."""
_TO_BE: Final = re.compile(rf"(?:(?: (?:is|are|was|were)|'s|'re)(?: not)?)? {_NO_MORE}$")
_BARE_NAME: Final = re.compile(r"^\W*(?:(?:also|btw|then|now) )?(?P<name>[a-z\u00e0-\u024f'-]+)\W*$")


def states_task(folded: str) -> bool:
    """Whether a sentence, as it is read, says what its author has to do."""
    read = without_advice(OTHER_SENSE.sub("", folded))
    return (
        TASK.search(read) is not None
        or any(_is_task(found, _clause_before(read, found.start())) for found in STATE.finditer(read))
        or any(not _arrives(_clause_before(read, found.start())) for found in DUE.finditer(read))
    )


def _clause_before(text: str, end: int) -> str:
    """What stands in front of a word in its clause."""
    return _CLAUSE.split(text[max(0, end - READ_BEFORE) : end])[-1]


def _noun(clause: str) -> str:
    """The beginning of a clause up to its first noun with what stands before that: "two questions"."""
    return _PREPOSITION.split(clause, maxsplit=1)[0]


def _is_task(found: re.Match[str], clause: str) -> bool:
    """Whether the state that a clause ends with is that of something to be done."""
    subject, state = _noun(clause), found["state"]
    if _NOTHING.match(clause):
        return False
    if state in {"open", "outstanding"}:
        named = _WORK.search(subject) or (state == "outstanding" and _OWED.search(subject)) or None
        # "for questions about the course the office is open"
        return named is not None and (found["verb"] == "are" or not named["noun"].endswith("s"))
    if state == "overdue":
        return not _arrives(clause)
    return state != "unfinished" or _MADE.search(subject) is None


def _arrives(clause: str) -> bool:
    """Whether a clause names somebody who comes, or what nobody has to do."""
    named = _noun(_TO_BE.sub("", clause))
    bare = _BARE_NAME.match(named)
    return _COMES.search(named) is not None or (bare is not None and not is_common(bare["name"]))
