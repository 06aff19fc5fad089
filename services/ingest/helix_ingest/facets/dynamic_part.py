"""Patterns of the dynamic part of a profile: what somebody works on and plans.

`tasks` tells what they have to do. All are matched on lower-case text with straight apostrophes. Every
repetition is bounded.
"""

from __future__ import annotations

import re
from typing import Final

from helix_ingest.facets.static_part import MOVED_HOME

_WE_ARE = r"(?:i'm|i am|we're|we are|i've been|i have been|we've been|we have been)"
_NOW = r"(?:(?:currently|still|now|also|busy|finally|just|always|slowly|already) ){0,2}"
_WORKS = (
    r"(?:working on|(?:re-?)?(?:building|doing (?:up|the|my|our))|writing|making|migrating|rewriting"
    r"|developing|preparing|organi[sz]ing|renovating"
    r"|learning|studying|training for|restoring|designing|translating|editing|setting up|refactoring|porting"
    r"|researching|saving (?:up )?for|looking for|applying for|rehearsing|recording|planting|knitting|sewing"
    r"|practi[sc]ing|reading (?:through|up on)|trying to|fixing up|decorating|hiring)"
)
_OWN_WORK = (
    r"(?:thesis|dissertation|novel|book|memoir|phd|start-?up|side project|project|paper|grant|exam|course"
    r"|garden|allotment|renovation|extension|shop|restaurant|app|blog|podcast|album|choir|portfolio)"
)

PROJECT: Final = re.compile(
    rf"\b{_WE_ARE} {_NOW}{_WORKS}\b|\b(?:my|our) (?:new |current |own |third |second "
    rf"|first )?{_OWN_WORK} (?:is|needs|about|on)\b"
    r"|\b(?:i|we) (?:started|began|joined|took over|took up|signed up for) (?:a |an |the |my |our "
    r"|work on |learning )"
    r"|\bthe project (?:is|aims|needs|will)\b|\b(?:we|team) (?:decided|agreed|chose|settled|switched"
    rf"|are going with|moved(?!{MOVED_HOME}\b| (?:out of|away from)\b))\b"
    r"|\b(?:my|our) (?:goal|aim|focus|priority)\b"
)  # fmt: skip
_TRAVELS = (
    r"(?:going to|gonna|planning|moving|flying|travell?ing|getting married|leaving|starting|hoping to"
    r"|thinking of|driving to|visiting|expecting|retiring|quitting|switching|staying)"
)
PLAN: Final = re.compile(
    rf"\b(?:i'm|i am|we're|we are) {_NOW}{_TRAVELS}\b"
    r"|\b(?:i|we) (?:plan|intend|hope|want|aim|mean)(?: to)\b|\b(?:i|we)(?:'d| would) (?:like|love) to\b"
    r"|\b(?:i|we)(?:'ve| have)? (?:booked|reserved|signed up)\b|\bmy plan is\b|\bthe plan is\b"
)  # fmt: skip
FUTURE: Final = re.compile(
    r"\b(?:i'll|we'll|i will|we will|i'm \w+ing|we're \w+ing|i am \w+ing|we are \w+ing)\b"
)
"""A plan where the text also names a time to come."""
FRAGMENT: Final = re.compile(
    r"^\W*(?:till?|until|by|from|on|in|at|before|after|since|next|the \d{1,2}(?:st|nd|rd|th)|around|maybe)\b"
    r"(?!.*\b(?:i|we|my|our)\b)"
)
"""The beginning of a sentence that says when something is, but not what ("till Christmas")."""
