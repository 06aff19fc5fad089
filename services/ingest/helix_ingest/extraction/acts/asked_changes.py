"""Tells a request that says what is to hold from then on ("set the timeout to 30 s") from a request for work.

"Move the dentist to the 14th", "add Jean to the key holders" and "cancel the gym membership" are how people
decide when they talk to an assistant. What they name holds afterwards, so such a request is a decision. "Run
the tests" and "show me the diff" leave nothing behind.
"""

from __future__ import annotations

import re
from typing import Final

from helix_ingest.extraction.acts.instructions import OPENERS

_ASKED: Final = (
    rf"^\W*+(?:(?:{OPENERS}|btw|please|pls|plz|just)\b\W*+)*+"
    r"(?:(?:can|could|would|will) (?:you|u)\b\W*+(?:(?:please|pls|plz|just)\b\W*+)?)?"
)
_OBJECT: Final = r"(?!(?:to|at|from|on|up|down|back)\b)[^.,;:?!\n]{1,60}?"
_NO_VALUE: Final = (
    r"(?!(?:me|us|him|them|you|do|see|be|check|know|make sure|match|use|mention|handle|support|include|return"
    r"|accept|show|run|work|allow|have|take|avoid|say|read|print|add)\b)[\w$\u20ac\u00a3#@/]"
)
_NOT_A_THING: Final = r"(?!(?:it|that|this|them|those|these|him|her|all|everything|me|us)\b(?! \w))"
_CHANGE: Final = re.compile(
    rf"{_ASKED}(?:"
    # bump go to 1.23; move the dentist to the 14th; cap the pool at 20
    r"(?:set|change|bump|raise|lower|increase|reduce|cut|move|rename|switch|upgrade|downgrade|update|push|shift"
    rf"|extend|shorten|cap|limit|pin|drop|put|bring|turn) {_OBJECT} (?:(?:back|up|down|over) )?"
    rf"(?:to|at|until|till) {_NO_VALUE}"
    rf"|(?:go back|revert|switch|upgrade|downgrade|roll) (?:(?:it|that|this) )?(?:back )?to {_NO_VALUE}"
    # make the deposit 300
    r"|make (?:it|that|the|my|our)\b[^.,;:?!\n]{0,30}? [$\u20ac\u00a3]?\d[\w.:,%]*(?: \w+)?\W*$"
    # add Jean to the key holders; take Tomasz off billing; put Malte down for the telescope
    r"|(?:add|put|invite|assign) (?:\w[\w'\u2019-]* ){1,4}(?:to|on|into|down for|in charge of) \w"
    r"|(?:remove|take|strike|delete|drop) (?:\w[\w'\u2019-]* ){1,4}(?:from|off) \w"
    # cancel the gym membership; turn off the alerts for staging
    rf"|(?:cancel|scrap|disable|enable|delete|remove|drop|ditch|retire|unsubscribe from) {_NOT_A_THING}\w"
    rf"|turn (?:on|off) {_NOT_A_THING}\w"
    # go with the green one; stick with Postgres
    r"|(?:go|stick) with \w"
    r")",
    re.IGNORECASE,
)
_TASK: Final = re.compile(
    r"\b(?:tests?|logs?|logging|comments?|docs?|docstrings?|typos?|files?|imports?|functions?|class(?:es)?|methods?"
    r"|branch(?:es)?|commits?|lines?|code|todos?|warnings?|whitespace|screenshots?|paragraphs?|sentences?|words?"
    r"|headers?|parsers?|regex(?:es)?|variables?|director(?:y|ies)|folders?|columns?|scripts?)\b",
    re.IGNORECASE,
)
"""Things of which there are many, and which a worker adds and removes as part of the work."""


def asks_for_change(request: str) -> bool:
    """Whether a sentence in the form of a request names what is to hold from then on."""
    found = _CHANGE.match(request)
    return found is not None and not _TASK.search(request)
