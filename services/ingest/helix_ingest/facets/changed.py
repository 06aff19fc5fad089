"""Patterns of statements that a home or a job is new, or holds no longer.

A profile shows what holds, so it must know what ended: such a sentence is a line of its own, and the query
service leaves out the line that it ends. Matched on lower-case text with straight apostrophes.
"""

from __future__ import annotations

import re
from typing import Final

_HAVE = r"(?:'ve| have)?"
_JUST = r"(?: (?:just|finally|recently|also|officially)){0,2}"
_NOT = r"(?:no longer|don't|do not)"

NEW: Final = re.compile(
    r"\b(?:my|our) (?:new |old )?(?:home|place) is (?:in|near|outside)\b"
    r"|\bis (?:my|our) (?:new )?home now\b|\bis home now\b|\bmy new employer is\b"
    rf"|\bi{_HAVE}{_JUST} (?:changed|switched) jobs\b"
)
ENDED: Final = re.compile(
    rf"\b(?:i|we) {_NOT} (?:really )?(?:live|work) (?:in|at|for|near|outside|with|as)\b"
    r"|\b(?:i'm|i am|we're|we are) (?:no longer|not) (?:living|working|employed|based)"
    r" (?:in|at|for|by|near)\b"
    rf"|\b(?:i|we){_HAVE}{_JUST} moved (?:out of|away from)\b"
    rf"|\bi{_HAVE}{_JUST} (?:resigned from|quit (?!it\b|this\b|that\b|the\b|a\b|an\b|my\b)\w)"
    rf"|\bi{_HAVE}{_JUST} (?:got|was|been) (?:laid off|fired|sacked|let go|made redundant)\b"
    rf"|\bi{_HAVE}{_JUST} retired\b"
)
