"""Whether a question is about what was, not about what holds: by its tense, and by words of earlier times.

The tense of the first finite verb decides, so no list of phrases has to know the question. Words such as
"originally" add certainty. A question that is misread loses little: links between memories then count less,
or more, and nothing is left out.
"""

from __future__ import annotations

import re
from typing import Final

from helix_query.profile.past import Past
from helix_query.recall.query_text import read_query
from helix_shared.timex import verbs

_TOKEN: Final = re.compile(r"[^\W_]+(?:'[^\W\d_]+)?")
_PRESENT: Final = (
    verbs.PRESENT_BE
    | verbs.HAVE
    | verbs.DO
    | verbs.FUTURE
    | {
        "can",
        "can't",
        "may",
        "might",
        "must",
        "mustn't",
        "shall",
        "should",
        "could",
        "would",
        "needs",
        "need",
    }
)
_PAST: Final = verbs.PAST_BE | {"did", "didn't", "had", "hadn't", "used"}
_IS: Final = frozenset(["what's", "who's", "where's", "when's", "how's", "which's", "that's", "it's"])
_SHORTEST_ED: Final = 4
_NOUNS_IN_ED: Final = frozenset(
    ["bed", "seed", "speed", "need", "feed", "breed", "shed", "weed", "hundred", "red"]
)
_NOW: Final = re.compile(
    r"\b(?:current(?:ly)?|now|nowadays|at the moment|these days|still|today|any ?more|any longer|at present|"
    r"presently|by now|as of (?:now|today)|up[- ]to[- ]date|latest|newest|in the end|atm)\b"
)
_CHANGES: Final = re.compile(
    r"\bhow (?:often|many times) (?:has|have|did|was|were)\b|\b(?:has|have|had) [^?]{1,80}?"
    r"\b(?:chang|mov|switch|evolv|develop|shift)\w*|\bover time\b|\bhistory of\b|"
    r"\b(?:all|every) \w+ [^?]{0,60}?\bin order\b"
)
_EARLIER: Final = re.compile(
    r"\b(?:used to|original(?:ly)?|initial(?:ly)?|formerly|former|previous(?:ly)?|prior to|earlier|at first|"
    r"to begin with|at the (?:beginning|start|outset|time)|in the (?:beginning|first)|first|back then|before|"
    r"once|until|till|ever|for a while)\b"
)


def past_of(query: str) -> Past:
    """How a question speaks of the past."""
    folded = read_query(query).lower()
    if _CHANGES.search(folded):
        return Past.SAID
    if _NOW.search(folded) or not _is_past(_TOKEN.findall(folded)):
        return Past.SAID if "used to " in folded or "originally" in folded else Past.NO
    return Past.SAID if _EARLIER.search(folded) else Past.TENSE


def _is_past(words: list[str]) -> bool:
    """Whether the first finite verb is in the past tense."""
    for word in words:
        if word in _PRESENT or word in _IS:
            return False
        if word in _PAST or word in verbs.PAST or _ends_in_ed(word):
            return True
    return False


def _ends_in_ed(word: str) -> bool:
    is_long = len(word) > _SHORTEST_ED and word.endswith("ed")
    return is_long and word not in verbs.NOT_PAST and word not in _NOUNS_IN_ED
