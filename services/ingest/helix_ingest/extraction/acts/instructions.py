"""Tells a standing instruction from a request for one act.

"Please never call me Bob" and "please use pnpm, not npm" hold until they are taken back: they state how
something has to be done. "Please send the invoice tomorrow" is over when it is done.
"""

from __future__ import annotations

import re
from typing import Final

OPENERS: Final = "okay|ok|so|and|but|hey|now|then|also|great|good|cool|thanks"
"""Words in front of what is asked for."""
_LEAD: Final = rf"^\W*+(?:(?:{OPENERS}|btw|please|pls|plz)\b\W*+)*+"
_ASKED: Final = re.compile(
    rf"{_LEAD}(?:can|could|would|will) (?:you|u)\b\W*+(?:(?:please|pls|plz)\b\W*+)?+", re.IGNORECASE
)
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
_HABITS: Final = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days|weekends|weekdays|mornings|evenings|afternoons)\b"
    rf"|{_LEAD}(?:use|prefer|write|answer|reply|respond|format|speak|name|say)\b[^.?!\n]{{0,80}}"
    r"(?:\b(?:instead of|rather than)\b|, not \w)"
    rf"|{_LEAD}keep\b[^.?!\n]{{0,40}}\b(?:short|brief|concise|simple|small|private|clean|formal|informal|casual|polite"
    r"|plain)\b"
    rf"|{_LEAD}(?:call|address) me (?!(?:back|when|if|at|on|in|later|tomorrow|asap|now|after|before)\b)\w",
    re.IGNORECASE,
)
_ONCE: Final = re.compile(
    r"\b(?:yet|today|tonight|tomorrow|right now|for now|just now|this (?:time|once|week|morning|evening"
    r"|afternoon|one)|until|till|later|asap)\b",
    re.IGNORECASE,
)


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
