"""Whether a sentence is a remark and nothing else: praise or comfort ("That sounds really lovely").

Agents also say what they offer, promise or wish; beside a question of theirs that is no statement.

What follows the word of praise decides. It may name the thing praised ("such a cute dog") or speak of the
other speaker ("I'm so glad you asked first"). A clause of its own ("so sad that our cat died"), a thing of
the speaker or a place and a time ("I'm happy with my new job at the bank") tell something, and then it is a
statement.
"""

from __future__ import annotations

import re
from typing import Final

from helix_ingest.extraction.acts.sentences import words
from helix_shared.naming.words import FUNCTION_WORDS

_OPENING: Final = r"^\W*(?:(?:wow|oh|ah|haha|yes|yeah|aw+|ha)\b\W*)?"
_DEGREE: Final = r"(?:(?:a|an|so|such|really|very|just|truly|pretty|quite|like|always|too|to|be|that|all) )*+"
_SUBJECT: Final = (
    r"(?:(?P<thing>(?:that|this|it)(?:['\u2019]?s| is| was| sounds| looks| must (?:be|have been))"
    r"|sounds|what|how"
    r"|such|so)|(?P<self>i(?:['\u2019]?m| am))|(?P<other>you(?:['\u2019]?re| are)))?"
)
_PRAISE: Final = (
    r"(?:good|great|lovely|nice|awesome|amazing|wonderful|fantastic|brilliant|beautiful|exciting|fun"
    r"|funny|cute"
    r"|sweet|impressive|inspiring|interesting|incredible|terrible|awful|tough|hard|rough|scary|cool|perfect"
    r"|delicious|hilarious|love that|love it)"
)
_FEELING: Final = r"(?:glad|happy|sorry|proud|sad|excited)"
_REMARK: Final = re.compile(
    rf"{_OPENING}{_SUBJECT} ?{_DEGREE}"
    rf"(?:(?P<praise>{_PRAISE})|(?P<feeling>{_FEELING})|(?P<wish>congrat(?:ulation)?s))\b"
    r"(?P<tail>[^.!?,;:]{0,60})[.!,]*$",
    re.IGNORECASE,
)
_ADDRESSED: Final = re.compile(
    # "glad you asked", "so proud of you for trying", "happy for them", "sorry to hear about your dad"
    r"\b(?:you|u|your|yours|y['\u2019]?all)\b"
    r"|^ (?:of|to|for|with|about|on|at|from|by) (?:that|it|this|me|us|him|her|them)\b"
    r"|^ to (?:hear|see|know|talk|chat|help|read|find out|think)(?: (?:of|about|from|that|with|how))?"
    r"(?: (?:that|it|this|so|such)\b|$)"
    r"|^(?: (?:that|how))? (?:it|this|that|things|everything|everyone|all)(?:['\u2019]?s)?"
    r" (?:is |was |has |have |are |were |all )?(?:gone? |go(?:es)? |went |work(?:s|ed|ing)? |turned "
    r"|help(?:s|ed)? "
    r"|feels? |looks? |sounds? |had )?(?:so |very |really )?(?:well|out|great|over|good|fine|fun|okay"
    r"|ok|better|now)?$"
    r"|^ (?:for|about) (?:the|that|this|any|all the) (?:late|delay|wait|confusion|mix[ -]?up|trouble"
    r"|mistake|error"
    r"|inconvenience|typo|interruption|noise)\b",
    re.IGNORECASE,
)
"""About the other speaker, or about what was just said."""
_HOW: Final = re.compile(r"^ how\b", re.IGNORECASE)
_OWN: Final = re.compile(
    r"\b(?:i|we|my|our|mine|ours|myself|ourselves|i['\u2019](?:m|ve|d|ll)|we['\u2019](?:re|ve|d|ll))\b"
    r"|(?<!\bto )(?<!\bfor )(?<!\bwith )(?<!\bof )\b(?:me|us)\b",
    re.IGNORECASE,
)
"""The speaker: what is said of them is worth keeping."""
_PURPOSE: Final = re.compile(
    r" (?:way|idea|plan|choice|reminder|chance|opportunity|place|spot|start|thing|feeling|time|tip|quality"
    r"|achievement|step|reason|mix|combination|balance|example|source|form|kind|sort|bit|lot"
    r"|piece) (?:to|of|for) "
    r"(?!the\b|an?\b)\w+(?: (?:and )?\w+){0,3}$",
    re.IGNORECASE,
)
"""What praised things are for ("a great way to relax")."""
_CLAUSE: Final = FUNCTION_WORDS - {"one", "ones", "up", "out", "own", "other"} | {"came", "died", "went"}
_NAMED_WORDS: Final = 3
"""Words of the name of what is praised."""
_TAKEN_BACK: Final = re.compile(
    r"\b(?:again|today|here|now|there|too|as well|then|though|really|indeed|overall)\b", re.IGNORECASE
)
_SIGN: Final = re.compile(r"\d|[/\\_`@#]|(?<=[a-z] )[A-Z][a-z]+")
"""A number, a path, or a name: something is told."""

_LEAD: Final = (
    r"^\W*+(?:(?:okay|ok|great|sure|perfect|got it|noted|understood|thanks|thank you|and|then|so|also)"
    r"\b\W*+)*+"
)
_REPORTED: Final = (
    r"(?!(?:be|see|confirm|tell|find|hear|read|only|not|say|recommend|suggest|think|call|list)\b)[a-z]"
)
_OFFERED: Final = re.compile(
    rf"{_LEAD}(?:(?:i|we)(?:['\u2019]ll| will| can| could| would| shall|['\u2019]d)"
    rf"(?: then| also| gladly| happily| just)* {_REPORTED}"
    r"|(?:i|we)(?: would|['\u2019]d| am| are|['\u2019][mr]e?)(?: be)? (?:happy|glad|able|ready|here) to\b"
    r"|(?:i|we) (?:really )?hope\b|hope(?:fully)?\b|fingers crossed\b|wish(?:ing)? you\b|have (?:an?"
    r"|fun|some)\b|enjoy\b"
    r"|(?:happy|glad|here) to (?:help|assist|look|check)\b|take your time\b|no (?:rush|hurry)\b|feel free\b)",
    re.IGNORECASE,
)
"""Offers, promises and wishes; "I see", "I recommend" and "I'd say" are reports and advice."""
_NOTED: Final = re.compile(
    rf"{_LEAD}(?:(?:i|we)(?:['\u2019]ve| have|['\u2019]ll| will)?(?: now| just)? )?"
    r"(?:saved|noted|recorded|added|updated|stored|logged|written|remembered|remember|note|save"
    r"|record|keep|add)"
    r" (?:it|that|this|them|those|these|all of (?:it|that|this|them))(?: (?:down|now|too|in mind))?"
    r"(?: (?:for (?:you|now|later)|to your [a-z]+|in your [a-z]+))?\W*$",
    re.IGNORECASE,
)


def is_remark(text: str) -> bool:
    """Whether a text is praise or comfort and tells nothing else."""
    found = _REMARK.match(text)
    if found is None or _SIGN.search(text):
        return False
    tail = found["tail"].rstrip()
    if not words(tail):
        return True
    if _OWN.search(tail):
        return False
    if found["other"] or found["wish"] or _ADDRESSED.search(tail):
        return True
    return not (found["self"] or found["feeling"]) and (_HOW.match(tail) is not None or _names(tail))


def is_courtesy(text: str) -> bool:
    """Whether an agent's sentence is praise, an offer, a promise or a wish; with a number it is a report."""
    if _SIGN.search(text):
        return False
    return _REMARK.match(text) is not None or _OFFERED.match(text) is not None


def is_receipt(text: str) -> bool:
    """Whether an agent's sentence only says that something was noted ("I've saved that")."""
    return _NOTED.match(text) is not None


def _names(tail: str) -> bool:
    """Whether the words behind the praise are the name of what is praised, without a clause."""
    if _PURPOSE.match(tail):
        return True
    left = words(_TAKEN_BACK.sub(" ", tail))
    return len(left) <= _NAMED_WORDS and _CLAUSE.isdisjoint(left)
