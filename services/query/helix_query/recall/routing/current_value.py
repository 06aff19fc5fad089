"""Intent `current_value`: a question for the value something has now, or had at a time it names.

Such a value changes, so several memories state it; the latest one up to the time asked about counts.
The question names a kind of value (a version, a port, a price), or says "now".
"""

from __future__ import annotations

import re
from typing import Final

_SLOT = (
    r"(?:version|revision|release|tag|commit|bound|pin|constraint|minimum|maximum|limit|quota|threshold|"
    r"timeout|interval|"
    r"retention|ttl|port|host|hostname|url|uri|endpoint|address|branch|region|zone|tier|price|cost|rent|"
    r"salary|fee|budget|"
    r"deadline|schedule|size|rate|capacity|percentage|coverage|target|status|level|default|setting|value|"
    r"option|"
    r"provider|backend|database|engine|license|runtime|base image|frequency|password|passphrase|phone|"
    r"phone number|email|"
    r"job|job title|weight|count|quantity|average|replicas|headcount|balance|"
    r"response time|wake[- ]up time|start time|python|toolchain|time ?zone|dose|dosage|score|plan(?!s)|"
    r"subscription)(?:e?s)?"
)
_WORD = r"(?:[\w'./@+-]{1,60} )"
_OPENING = r"^(?:(?:and|so|ok|hey|please|tell me|remind me|show me),? ){0,2}"
_ASKED = rf"{_OPENING}(?:(?:to|on|at|from|under|in|for) )?(?:what|which)"
_STATE = (
    r"(?:uses?|runs?|puts?|plac(?:e|es)|sets?|requires?|needs?|supports?|pins?|pinned|allows?|allowed|"
    r"accepts?|targets?|depends?|"
    r"ships?|installs?|tests?|builds?|deploys?|specif(?:y|ies)|declares?|enforces?|listens?|expects?|pays?|"
    r"paid|"
    r"imposes?|permits?|follows?|have|keeps?|on|at|live|set|configured|used|running|required|supported|get|"
    r"gets|charge|charges|apply|applies)"
)
_ATTRIBUTE: Final = re.compile(
    rf"{_ASKED} {_WORD}{{0,4}}?{_SLOT}\b[^?]{{0,120}}?\b(?P<verb>do|does|is|are|has|have|should|must|did|"
    rf"was|were|had)\b"
    rf"[^?]{{0,160}}?\b{_STATE}\b"
)
"""As in "which version of X does Y use", "what limit was set on X in May"."""
_OF_A_THING: Final = re.compile(
    rf"{_ASKED}(?P<verb>'s| is| are| was| were| will be) (?:my |our |the |his |her |their |your |its )?"
    rf"{_WORD}{{0,6}}?{_SLOT}\b"
)
"""As in "what is the version of X", "what was the price of X in May"."""
_THINGS_OF_A_KIND: Final = re.compile(
    rf"{_ASKED} {_WORD}{{1,4}}?(?P<verb>do|does|did) (?:we|i|they|it|he|she|you|the [\w-]{{1,30}}|"
    rf"our [\w-]{{1,30}}|my [\w-]{{1,30}}) "
    rf"(?:currently |still |now )?(?:use|run|depend on|rely on|deploy to|deploy|need|require|support|host|"
    rf"pay for)\b"
)
"""As in "which database do we use"."""
_AMOUNT: Final = re.compile(
    rf"{_OPENING}how (?:many|much|often|long|big|large|high|far|old|fast) (?:{_WORD}{{0,6}}?)"
    rf"(?P<verb>is|are|am|do|does|has|have)\b(?! to\b)(?! (?:it|there) been)"
)
_MY: Final = re.compile(r"\b(?:my|our|we|i|the)\b")
_OVER_TIME: Final = re.compile(
    r"\b(?:in total|altogether|between|across|passed|ago|since|after|before|ever|different|times|all|"
    r"overall|per)\b"
)
_ROLE: Final = re.compile(
    rf"{_OPENING}who(?P<verb>'s| is| are| was| were)? (?:(?:my|our|the|their|his|her) )?{_WORD}{{0,4}}?"
    r"(?:on[- ]call|in charge|responsible|maintain(?:s|er|ed)|owns?|leads?|manages?|runs?)\b"
)
_PLACE: Final = re.compile(
    rf"{_OPENING}where (?P<verb>do|does|did) [\w' ]{{1,40}}? (?:live|work|stay|run|deploy)\b"
)
_APPOINTMENT: Final = re.compile(
    rf"{_OPENING}(?:when|what (?:time|day|date)|which day) (?:is|are|should|does|do) (?:my|our|the|i|we)\b"
)
_NOW: Final = re.compile(
    r"\b(?:current(?:ly)?|latest|nowadays|now|at the moment|right now|these days|up[- ]to[- ]date|still|"
    r"as of (?:now|today)|"
    r"most recent|newest|today's|at present|presently|any ?more|any longer|so far|to date|already|yet)\b"
)
_NOW_IN_A_NOTE: Final = re.compile(r"\b(?:current|latest|newest|most recent|up[- ]to[- ]date)\b")
_NOTE_WORDS: Final = 7

_MONTH = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_AT_A_TIME: Final = re.compile(
    rf"\b(?:(?:in|on|by|during|until|before|around|from|of|end of|early|late|mid|back in|since|after) )"
    rf"(?:the )?(?:{_MONTH}|(?:19|20)\d\d|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{_MONTH})|q[1-4]|spring|"
    rf"summer|autumn|fall|winter|last|this)"
    r"|\bas of\b|\b(?:last|this) (?:week|month|year|quarter|spring|summer|autumn|fall|winter)\b|\bago\b|"
    r"\byesterday\b|\bat the time\b"
    r"|\b(?:19|20)\d\d\b"
)
_BEGINS: Final = r"\W*(?:(?:so|and|ok|hey|btw|wait|but),? )?"
_NO_SUBJECT: Final = r"(?!(?:not|no|been|being|still|now|have|be|remind|tell|show|give|let|help)\b)"
_SUBJECT: Final = (
    r"(?:i|we|he|she|it|they|there|this|that|these|those|any\w*|every\w*|some\w*|both|my|our|your|his|her"
    r"|their|its|an?|the(?! \d))\b"
)
_WHETHER: Final = re.compile(
    rf"{_BEGINS}(?:(?:is|are|does|has) {_NO_SUBJECT}\S|am i\b|(?:do|have|don't) (?:i|we|you|they)\b"
    rf"|(?:can|may|will|can't) {_SUBJECT}|(?:should|must|isn't|aren't) (?:you\b|{_SUBJECT}))"
)
_WHETHER_MARKED: Final = re.compile(
    rf"{_BEGINS}(?:do|have|can|will|should|must|don't|isn't|aren't|can't) (?!you\b){_NO_SUBJECT}[^\W\d]"
)
"""With a question mark any subject may follow ("will tom come?"): no note and no command has one."""
_PATTERNS: Final = (_ATTRIBUTE, _OF_A_THING, _THINGS_OF_A_KIND, _ROLE, _PLACE)
_PAST: Final = frozenset(["did", "was", "were", "had"])


def asks_for_value(folded: str, *, is_question: bool) -> bool:
    """Whether a query asks for a value as of now or of a named time.

    `folded` is in lower case with single spaces. A short note such as "current port of staging" counts as
    well; a longer statement does not.
    """
    if not is_question:
        is_note = folded.count(" ") < _NOTE_WORDS and not folded.endswith(".")
        return is_note and _NOW_IN_A_NOTE.search(folded) is not None
    if _NOW.search(folded) or _APPOINTMENT.search(folded):
        return True
    if any(_asks_present(pattern.search(folded), folded) for pattern in _PATTERNS):
        return True
    amount = _AMOUNT.search(folded)
    return amount is not None and bool(_MY.search(folded)) and not _OVER_TIME.search(folded)


def asks_whether(folded: str) -> bool:
    """Whether a query, in lower case, asks for yes or no in the present tense: "do we have a car?".

    A subject follows the verb: "May 3rd meeting notes", "do remind me" and "can you list them" ask no such
    thing.
    """
    if _WHETHER.match(folded):
        return True
    return folded.rstrip().endswith("?") and _WHETHER_MARKED.match(folded) is not None


def mentions_present(folded: str) -> bool:
    """Whether a question, in lower case, contains a word for the present."""
    return _NOW.search(folded) is not None


def _asks_present(found: re.Match[str] | None, folded: str) -> bool:
    """Whether the match is in the present tense, or in the past tense with a time named."""
    if found is None:
        return False
    return (found["verb"] or "").strip() not in _PAST or _AT_A_TIME.search(folded) is not None
