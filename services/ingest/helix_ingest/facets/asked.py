"""Questions to which any answer states a facet: "What are you working on?", "What's your sister's name?".

The answer alone says too little ("beth"), so its facet is that of the question and the answer together.
Matched on text as `spelling.as_read` gives it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from helix_ingest.facets.static_part import RELATIVE
from helix_shared.text.questions import SCHEDULE_ASKED

if TYPE_CHECKING:
    from helix_memory.vocabulary.facets import Facet

_IS: Final = r"(?:'s| is| are)"
_QUESTIONS: Final[tuple[tuple[Facet, re.Pattern[str]], ...]] = (
    (
        "identity",
        re.compile(
            rf"\bwhat{_IS} your (?:full |first |last )?name\b|\bwhat should i call you\b"
            r"|\bwhat do you do (?:for (?:a living|work))?\W*$|\bwhat do you do for\b"
            r"|\bwhere (?:do you (?:live|work)|are you based)\b|\bhow old are you\b"
            rf"|\bwhere{_IS} your (?:office|school)\W*$|\bwhen{_IS} your birthday\b"
            rf"|\b(?:what|which){_IS} your (?:(?:current|new|usual|work|home) ){{0,2}}"
            r"(?:job|role|address|time ?zone)(?: now)?\W*$"
            rf"|{SCHEDULE_ASKED}"
        ),
    ),
    (
        "relationship",
        re.compile(
            rf"\byour (?:\w+ )?{RELATIVE}(?:'s name|(?:'s| is)? called)\b"
            rf"|\bwho{_IS} your (?:\w+ )?{RELATIVE}\W*$"
        ),
    ),
    (
        "constraint",
        re.compile(
            r"\b(?:are you allergic|do you have any (?:\w+ )?(?:allergies|restrictions|requirements))\b"
            r"|\b(?:anything|what) (?:that )?you (?:don't|can't|cannot|won't) (?:eat|drink)\b"
            rf"|\bwhat{_IS} your (?:\w+ )?(?:budget|limit|deadline|maximum|max)\W*$"
            r"|\banything i should avoid\b"
        ),
    ),
    (
        "preference",
        re.compile(
            rf"\b(?:what|who|which){_IS} your favou?rite\b|\bwhat (?:\w+ ){{1,3}}do you (?:like|prefer)\b"
            r"|\bhow (?:do |would )?you (?:like|want|prefer) (?:me |us )?to (?:work|write|code|format|name"
            r"|answer|reply|communicate|be (?:called|addressed|contacted|reminded))\b"
            r"|\bdo you (?:usually |generally )?prefer"
            r" (?!options?\b|that\b|this\b|it\b|the\b|to\b|i\b|[a-z]\b)"
        ),
    ),
    ("project", re.compile(r"\bwhat are you (?:\w+ )?(?:working on|building|writing|making|learning)\b")),
    ("plan", re.compile(r"\bwhat(?: are|'re) your plans\b|\bwhat are you planning\b")),
)


_DENIAL: Final = re.compile(
    r"\W*(?:(?:hm+|um+|uh|er|well|tbh|honestly|oh)\b\W*)?(?:no|none|nothing|nope|nah|never|not|n/?a|same"
    r"|depends|idk|dunno|tbd|tba|whatever|skip|why|let me|(?:i )?(?:don't|can't|haven't|have no)|me neither"
    r"|good question|(?:could|can|would) you|i'll)\b"
)
"""Matched on the answer as it is read: it states nothing."""


def asked_facet(question: str, answer: str) -> Facet | None:
    """The facet that `answer` to `question` states, both as read; None for most, and for a denial."""
    if _DENIAL.match(answer):
        return None
    return next((facet for facet, pattern in _QUESTIONS if pattern.search(question)), None)
