"""Intents by rule: phrases and patterns for each intent. A query gets every intent that matches.

Only the beginning of a query is read, and every pattern is bounded, so hostile input costs no more than
other input. `centroids` finds intents that the words do not spell out.
"""

from __future__ import annotations

import re
from typing import Final

from helix_query.profile.intent import Intent
from helix_query.recall.query_text import read_query
from helix_query.recall.routing.current_value import asks_for_value, mentions_present
from helix_query.recall.routing.exact_lookup import is_exact_lookup
from helix_query.recall.routing.multi_hop import ASKING, MIN_LOG_ODDS, log_odds

MIN_EXAMPLE_LOG_ODDS: Final = -2.0
"""Log odds below which resemblance to examples does not make a question multi-hop."""

# Matched on the query in lower case, each as whole words.
_PHRASES: Final = {
    Intent.WHY: (
        r"why", r"how come", r"what (?:was|is|were|are) the (?:reasons?|rationale|cause)",
        r"reasons? (?:for|behind)", r"for what reason", r"what (?:made|caused|led)",
    ),
    Intent.WHEN: (
        r"when", r"(?:what|which) (?:day|date|time|year|month|week)", r"how long ago", r"since when",
    ),
    Intent.WHO: (r"who(?:m|se)?", r"which (?:person|people|colleague|team ?mate|user)"),
    Intent.HOW: (
        r"how (?:do|does|did|can|could|should|would|to|is|are|was|were)", r"steps? (?:to|for)", r"way to",
    ),
    Intent.WHAT: (r"what(?:'s)?", r"which"),
    Intent.TEMPORAL: (
        r"before", r"after", r"since", r"until", r"during", r"ago", r"recently", r"lately", r"yesterday",
        r"today", r"tomorrow", r"earlier", r"later", r"first", r"last time", r"most recent", r"how long",
        r"(?:in )?(?:what|which) order", r"(?:the )?order in which", r"in (?:chronological )?order",
        r"sequence of",
        r"timeline", r"chronolog\w+", r"how (?:many|much) (?:days?|weeks?|months?|years?|hours?|time)",
        r"passed between",
        r"(?:last|next|this|past) (?:week|weekend|month|year|night|summer|winter|spring|autumn|fall|quarter)",
        r"(?:in|on|of) (?:january|february|march|april|may|june|july|august|september|october|november)",
        r"(?:in|on|of) december",
    ),
    Intent.PREFERENCE: (
        r"prefer\w*", r"favou?rites?", r"(?<!you )recommend(?:ations?|s|ed)?",
        r"(?<!you )suggest(?:ions?|s)?",
        r"would you (?:suggest|recommend|advise)", r"do you (?:think|recommend|suggest|advise)",
        r"(?:ideas?|tips|advice) (?:for|on|about)",
        r"my taste", r"would (?:i|we|he|she|they|[a-z]+) (?:like|enjoy|want|prefer|love|be interested)",
        r"(?:do|does|did) \w+ (?:like|love|enjoy|hate|dislike)", r"(?:should|shall) (?:i|we) (?!have|be)\w+",
        r"(?:can|could|would) you (?:please )?help me", r"help me (?:plan|choose|pick|decide|find)",
    ),
    Intent.AGGREGATION: (
        r"how (?:many|often)", r"how much (?:in total|altogether)", r"how much progress",
        r"(?:list|name|show|give me|enumerate) (?:all|every|each|the (?:names|different))",
        r"summari[sz]e\w*",
        r"(?:complete|full|clear|brief|comprehensive|detailed|quick|short) (?:summary|overview|recap)",
        r"(?:summary|overview|recap|history) of", r"in total", r"altogether",
        r"total (?:number|amount|cost|hours|time|\w+)",
        r"all (?:of )?(?:the|my|our|his|her|their)", r"every time", r"each of", r"overall", r"count of",
        r"number of",
        r"what (?:are|were) (?:all|some|the (?:names|different|various))",
        r"across (?:all|my|our|the|both)", r"throughout (?:our|my|all|the)",
        r"(?:what|which) different",
        r"how (?:has|have|did) .{1,80}(?:develop|evolve|progress|change|grow)(?:ed|s)?", r"over time",
        r"(?:what|which) (?:[a-z-]+ ){0,2}[a-z]+s (?:has|have) [a-z' ]{1,40}(?:ed|en|ne|ad|ght|de|ld|ung|en)",
        r"in how many",
    ),
}  # fmt: skip
_OF_ANY_TEXT: Final = frozenset([Intent.HOW, Intent.TEMPORAL])
"""Found in notes and statements too: "how to restart", "incidents since May"."""
_PATTERNS: Final = {
    intent: re.compile(rf"\b(?:{'|'.join(phrases)})\b") for intent, phrases in _PHRASES.items()
}

_RELATION = (
    "father|mother|parent|son|daughter|child|brother|sister|sibling|spouse|wife|husband|grandfather|"
    "grandmother|uncle|aunt|(?:father|mother)-in-law|step(?:mother|father)|director|author|writer|composer|"
    "performer|singer|producer|founder|owner|creator|editor|actor|actress|star|birthplace|nationality|"
    "capital|"
    "headquarters|country|city|manager|boss|lead|maintainer|team|company|employer|band|album|film|movie|book|"
    "song|university|school"
)
_OF_RELATIONS: Final = (
    # a relation of a relation: "the mother of the director of X", "the director's wife"
    re.compile(rf"(?i:\b(?:{_RELATION})s? of (?:the |a )?(?:[\w-]{{1,40}} )?(?:{_RELATION})s?\b)"),
    re.compile(rf"(?i:\b(?:{_RELATION})'s (?:[\w-]{{1,40}} )?(?:{_RELATION})\b)"),
    # a property that is a relation, of a relation: "which team does the author of X belong to"
    re.compile(
        rf"(?i:\b(?:which|what|whose) (?:{_RELATION})s?\b[^?]{{0,60}}?"
        rf"\bthe (?:{_RELATION})s? (?:of|behind)\b)"
    ),
    # a property of a relation of a name: "where was the director of X born"
    re.compile(
        rf"^(?i:who|what|where|when|which|why)\b.{{0,80}}?\b(?:{_RELATION})s? of "
        rf"(?:(?:the |a )?(?:film|movie|song|album|book|novel) )?[A-Z]"
    ),
)
"""Relations of relations, which need several hops."""

REQUESTS: Final = (
    "list|name|show|tell|give|recommend|suggest|summari[sz]e|plan|help|pick|find|count|describe|explain|"
    "remind|compare|walk"
)
"""Verbs that begin a request."""
_REQUEST: Final = re.compile(
    rf"(?:(?:and|so|ok|hey|please|also|but),? )*(?:{ASKING.pattern}|"
    rf"(?:{REQUESTS}|based on|according to)\b"
    r"|(?:by|on|in|at|from|since|until|for|with|to|of|under|after|before)"
    r" (?:what|which|whom?|whose|when|where)\b"
    # "for what it's worth", "from what I heard" open statements
    r"(?! (?:it's worth|it may|(?:i|we|you) (?:remember|recall|hear|heard|know|knew|see|saw|gather|understand"
    r"|read)\b)))",
    re.IGNORECASE,
)
_ASKED_LAST: Final = re.compile(
    r"[,:] (?:what|which|who|whom|how|where|why|when)"
    r" (?:one\W*$|(?:do|does|did|is|are|was|were|can|could|should|shall|will|would|must) )",
    re.IGNORECASE,
)
"""As in "they ask again, what do I tell them"."""


def is_question(text: str) -> bool:
    """Whether a query is a question or a request, not a statement or note."""
    return text.rstrip().endswith("?") or bool(_REQUEST.match(text) or _ASKED_LAST.search(text))


def allows_intent(intent: Intent, query: str) -> bool:
    """Whether a query that resembles an intent's examples may have that intent.

    A statement may not, and a question about people the caller knows is not multi-hop.
    """
    text = read_query(query)
    return is_question(text) and (intent is not Intent.MULTI_HOP or log_odds(text) > MIN_EXAMPLE_LOG_ODDS)


def chains_relations(query: str) -> bool:
    """Whether a query asks for a relation of a relation: "the team of the author of"."""
    text = read_query(query)
    return any(pattern.search(text) for pattern in _OF_RELATIONS)


def intents_by_rule(query: str) -> tuple[Intent, ...]:
    """Intents whose pattern matches, in a fixed order.

    Takes about half a millisecond, so a recall calls it once.
    """
    text = read_query(query)
    folded, asks = text.lower(), is_question(text)
    found = [
        intent
        for intent, pattern in _PATTERNS.items()
        if (asks or intent in _OF_ANY_TEXT) and pattern.search(folded)
    ]
    multi_hop = asks and (log_odds(text) > MIN_LOG_ODDS or chains_relations(text))
    # A multi-hop question asks for a fact, not for the latest statement, unless it mentions the present.
    if asks_for_value(folded, is_question=asks) and (not multi_hop or mentions_present(folded)):
        found.append(Intent.CURRENT_VALUE)
    if multi_hop:
        found.append(Intent.MULTI_HOP)
    if is_exact_lookup(text):
        found.append(Intent.EXACT_LOOKUP)
    return tuple(found)
