"""Tells a standing instruction, a fact to remember and a reminder from a request for one act.

"Please never call me Bob" and "please use pnpm, not npm" hold until they are taken back: they state how
something has to be done. "Please send the invoice tomorrow" is over when it is done. "Please remember that
Sam is vegan" states that Sam is, and "remind me to renew the passport" what its speaker is going to do.
"""

from __future__ import annotations

import re
from typing import Final

OPENERS: Final = "okay|ok|so|and|but|hey|now|then|also|great|good|cool|thanks"
"""Words in front of what is asked for."""
_LEAD: Final = rf"^\W*+(?:(?:{OPENERS}|btw|please|pls|plz)\b\W*+)*+"
_YOU: Final = r"(?:can|could|would|will) (?:you|u)\b\W*+"
_ASKED: Final = re.compile(rf"{_LEAD}{_YOU}(?:(?:please|pls|plz)\b\W*+)?+", re.IGNORECASE)
_FORBIDS: Final = re.compile(
    rf"{_LEAD}(?:(?:don['\u2019]?t|do not|never)\b\W*+(?:ever )?(?!(?:forget|worry|hesitate|bother|mind|panic"
    r"|sweat|ask|get|be|you|i|we|know|think|stop)\b)[a-z]|(?:stop|avoid|quit)(?: ever)? [a-z]{2,20}ing\b"
    r"|(?:no|not)(?: more)? (?!more\b|need\b|rush\b|hurry\b|worries\b|problem\b|stress\b|thanks?\b)[a-z])",
    re.IGNORECASE,
)
_LASTING: Final = re.compile(
    r"\b(?:always|never|from (?:now|today|here|then) on(?:wards?)?|going forwards?|in (?:the )?future"
    r"|by default|whenever|(?:every|each) time|as a rule|at all times)\b",
    re.IGNORECASE,
)
_BARE: Final = (
    r"(?!(?:the|this|that|these|those|it|them|an?|my|your|our|his|her|one|some|any|all|to|what|which"
    r"|now|as|and|or"
    r"|instead|for|in|with)\b)[\w+#.-]+"
)
"""A word that is no article and points at nothing: "tabs" means tabs wherever there are some."""
_HABITS: Final = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days|weekends|weekdays|mornings|evenings|afternoons)\b"
    rf"|{_LEAD}(?:use|prefer|write|answer|reply|respond|format|speak|name|say)\b[^.?!\n]{{0,80}}"
    r"(?:\b(?:instead of|rather than)\b|, not \w)"
    # "use metric units", but not "use the second image" or "use jq to read this"
    rf"|{_LEAD}use {_BARE}(?: {_BARE}){{0,3}}(?: (?:for|in|with|everywhere)\b[^.,?!\n]{{0,40}})?,?"
    r"(?: (?:please|pls|with me|everywhere))?\W*$"
    rf"|{_LEAD}(?:reply|answer|respond|write|speak|talk|explain|text)(?: (?:to )?(?:me"
    rf"|us))?(?: only)? in {_BARE}"
    r"(?: \w+)?(?: only)?,?(?: (?:please|pls))?\W*$"
    rf"|{_LEAD}be (?:more |less |very )?(?:brief|concise|short|formal|informal|casual|direct|polite"
    rf"|strict|verbose)\b"
    rf"|{_LEAD}keep\b[^.?!\n]{{0,40}}\b(?:short|brief|concise|simple|small|private|clean|formal"
    rf"|informal|casual|polite"
    r"|plain)\b"
    rf"|{_LEAD}(?:call|address) me (?!(?:back|when|if|at|on|in|later|tomorrow|asap|now|after|before)\b)\w",
    re.IGNORECASE,
)
_ONCE: Final = re.compile(
    r"\b(?:yet|today|tonight|tomorrow|right now|for now|just now|this (?:time|once|week|morning|evening"
    r"|afternoon|one)|until|till|later|asap)\b",
    re.IGNORECASE,
)
_POLITELY: Final = rf"{_LEAD}(?:{_YOU})?+(?:(?:please|pls|plz|also|just|always)\b\W*+)*+"
_REMEMBER: Final = (
    rf"{_POLITELY}(?:remember|(?:take |make a )?note|remind (?:me|us)|(?:don['\u2019]?t|do not|never) forget"
    r"|(?:keep|bear) in mind|be aware)\b"
)
_FACT: Final = re.compile(
    rf"{_REMEMBER}(?:[^.?!\n]{{0,30}}?\bthat\b|\W*+(?:my|our|his|her|their|the|i|we|he|she|they"
    rf"|it['\u2019]?s)\b"
    r"(?=[^.?!\n]{0,60}?\b(?:is|are|am|was|were|has|have|had|[a-z]{3,20}s|can|cannot|can['\u2019]?t"
    r"|don['\u2019]?t"
    r"|do not|will|won['\u2019]?t|hate|like|love|need|live|work)\b))\W*+\w",
    re.IGNORECASE,
)
_STATES: Final = (
    r"(?:(?:i|we)(?:['\u2019]\w+)? \w|(?:my|our|his|her|their|the|he|she|they|it|there"
    r"|[a-z]+)\b(?=[^.?!\n]{0,60}?"
    r"(?:\b(?:is|are|was|were|has|have|had|can|cannot|will|[a-z]{2,20}ed|[a-z]{3,20}s)\b"
    r"|['\u2019](?:s|re|ll|ve)\b)))"
)
_HEADED: Final = re.compile(
    rf"{_REMEMBER}(?: to self)? *[:\u2013\u2014-]+ *(?=[^.?!\n]{{0,80}}?\b(?:is|are|was|were|has|have"
    rf"|had|can|will)\b)",
    re.IGNORECASE,
)
""""Remind me: bin day is Friday"."""
_PASSED_ON: Final = re.compile(
    # "tell mum that I moved", "let Jo know the key is under the pot", "write to Karin saying we quit"
    rf"{_POLITELY}(?:(?:tell|inform|remind|warn|let)(?! (?:me"
    rf"|us)\b)(?: (?!(?:what|which|who|when|where|why|how|if|to"
    rf"|about)\b)[\w'\u2019-]+){{1,3}}?(?: know)?(?: that)? "
    rf"(?={_STATES})(?:i|we|my|our|the|he|she|it|there)\b"
    rf"|(?:write|send|e-?mail|text|message|draft|reply|post)\b[^.?!\n]{{0,60}}?\b(?:saying|to say"
    rf"|telling \w+)(?: that)? {_STATES})",
    re.IGNORECASE,
)
_BESIDE: Final = re.compile(
    # "book me a table, I'm allergic to nuts"; "send it to my new email, al@foo.com"
    r"(?:[,;\u2014]| -|\b(?:because|since|cos|as)\b) *(?:and )?(?:"
    r"(?:i|we)(?:['\u2019](?:m|re|ve)| am| are| was| were| have| had| do ?n['\u2019o]?t"
    r"| can ?['\u2019no]*t| hate| love"
    r"| live| work| moved| got| lost| changed)\b(?! (?:not|sure|sorry|thinking|wondering|going to|trying"
    r"|asking|done)\b)"
    r"|(?:he|she|(?:my|our) \w+)(?:['\u2019]s| is| has| was| can ?['\u2019no]*t| does ?n['\u2019o]?t"
    r"| lives| works)\b)"
    r"|\b(?:my|our) (?:new |current |other |work |home )?(?:e-?mail|address|number|phone|account|iban|code)"
    r"(?: (?:address|number))?(?:,|:| is| =) *[^\s,]*[\d@]",
    re.IGNORECASE,
)
_REMINDER: Final = re.compile(
    rf"{_POLITELY}remind (?:me|us)(?:\b[^.?!\n]{{0,40}}?\bto [a-z]| *[:\u2013\u2014-]+ *\w)", re.IGNORECASE
)


def tells_fact(request: str) -> bool:
    """Whether a request to remember or to pass on says what holds ("remember that Sam is vegan")."""
    return any(rule.match(request) for rule in (_FACT, _HEADED, _PASSED_ON))


def tells_beside(request: str) -> bool:
    """Whether a request also tells something of its speaker ("book a table, I'm allergic to nuts")."""
    return _BESIDE.search(request) is not None


def asks_for_reminder(request: str) -> bool:
    """Whether a request for a reminder says what its speaker is going to do ("remind me to call Ana")."""
    return _REMINDER.match(request) is not None


def is_standing(request: str) -> bool:
    """Whether a sentence in the form of a request says how things have to be done until further notice.

    A request in the form of a question needs a word such as "always" ("could you always use metric units?").
    """
    if _ONCE.search(request):
        return False
    asked = _ASKED.match(request)
    if _LASTING.search(request) or _FORBIDS.match(request[asked.end() :] if asked else request):
        return True
    return asked is None and _HABITS.search(request) is not None
