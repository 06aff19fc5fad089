"""A sentence as the patterns of facets read it: lower case, straight apostrophes, its first subject put back.

People who type quickly leave "I" out ("need to renew the passport", "booked the flights", "doing the 10k on
23 may"). Only the text that is matched gets it; a profile keeps the text as it was written.
"""

from __future__ import annotations

import re
from typing import Final

from helix_shared.text.apostrophes import with_apostrophes

_LEAD: Final = r"^(?:(?:and|also|so|just|finally|btw|ok|well|oh|then)\b\W*){0,3}"
_LEFT_OUT: Final = re.compile(
    rf"{_LEAD}(?=(?:need to|have to|gotta|got (?:an? (?:new )?job|the job|married|engaged|promoted|laid off)"
    r"|got (?:an? |two )(?:\w+ )?(?:dogs?|pupp(?:y|ies)|cats?|kittens?|horse|baby)|adopted an?"
    r"|switched (?:from|to|back)"
    r"|joined (?!\w+ (?:is|was|are|were|has)\b)"
    r"|signed up|booked|reserved|started|began|quit|studied|grew up|used to|prefer|love|hate|loathe"
    r"|can't (?:stand|eat|drink)|don't (?:eat|drink|like)|hope to|want to|plan to)\b)"
)
_DOING: Final = re.compile(
    rf"{_LEAD}(?=(?!(?:according|including|regarding|during|nothing|something|anything|everything)\b)[a-z]{{2,16}}ing"
    r" (?:an?|the|my|our|to|for|with|at|up|out|back|in|on|off|round|over|home)\b"
    # "building on the corner is closed"
    r"(?![^.]{0,60}\b(?:is|was|are|were|has|had)\b))"
)


def as_read(sentence: str) -> str:
    """The sentence in lower case, with its apostrophes and its first subject."""
    folded = with_apostrophes(sentence.replace("\u2019", "'")).lower()
    if _LEFT_OUT.match(folded):
        return _LEFT_OUT.sub("i ", folded, count=1)
    return _DOING.sub("i'm ", folded, count=1)
