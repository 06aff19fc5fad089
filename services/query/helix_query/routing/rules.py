"""Intents a question shows in its words: a few phrases per intent, all intents that match apply.

Rules see what is spelt out; `centroids` sees what is meant. Only the beginning of a query is read and
every pattern is bounded, so hostile input costs no more than other input.
"""

from __future__ import annotations

import re
from typing import Final

LOOKED_AT: Final = 600
"""Characters; a question that is longer carries its kind in its beginning."""

# Matched on the folded query, each as whole words.
_PHRASES: Final = {
    "why": (
        r"why", r"how come", r"what (?:was|is|were|are) the (?:reasons?|rationale|cause)",
        r"reasons? (?:for|behind)", r"for what reason", r"what (?:made|caused|led)",
    ),
    "when": (
        r"when", r"(?:what|which) (?:day|date|time|year|month|week)", r"how long ago", r"since when",
    ),
    "who": (r"who(?:m|se)?", r"which (?:person|people|colleague|team ?mate|user)"),
    "how": (
        r"how (?:do|does|did|can|could|should|would|to|is|are|was|were)", r"steps? (?:to|for)", r"way to",
    ),
    "what": (r"what(?:'s)?", r"which"),
    "temporal": (
        r"before", r"after", r"since", r"until", r"during", r"ago", r"recently", r"lately", r"yesterday",
        r"today", r"tomorrow", r"earlier", r"later", r"first", r"last time", r"most recent", r"how long",
        r"in what order", r"timeline", r"chronological",
    ),
    "preference": (
        r"prefer\w*", r"favou?rites?", r"recommend\w*", r"suggest\w*", r"ideas? for", r"my taste",
        r"would (?:i|we|he|she|they) (?:like|enjoy|want)",
        r"(?:do|does|did) \w+ (?:like|love|enjoy|hate|dislike)",
        r"should i (?:get|buy|watch|read|try|cook|visit)",
    ),
    "aggregation": (
        r"how (?:many|often)", r"how much (?:in total|altogether)",
        r"(?:list|name|show|give me) (?:all|every)",
        r"summari[sz]e (?:all|every|each)\w*", r"in total", r"altogether", r"total (?:number|amount|cost)",
        r"all (?:of )?(?:the|my|our)", r"every time", r"each of", r"overall", r"count of", r"number of",
        r"what (?:are|were) all",
    ),
    "current_value": (
        r"current(?:ly)?", r"latest", r"now(?:adays)?", r"at the moment", r"these days", r"up[- ]to[- ]date",
        r"still", r"as of (?:now|today)", r"most recent", r"newest", r"today's", r"present(?:ly)?",
        r"any ?more", r"any longer",
        r"(?:which|what) [\w -]{1,40} (?:do|does) (?:we|i|they|it|he|she|you) (?:use|run|have|need|want)",
        r"how (?:long|big|large|high|far|often) (?:is|are|do|does) (?:an? |the |our |my )?[\w -]{1,40}",
    ),
}  # fmt: skip
_PATTERNS: Final = {
    intent: re.compile(rf"\b(?:{'|'.join(phrases)})\b") for intent, phrases in _PHRASES.items()
}

_VALUE_NOUNS = (
    "ports?|urls?|address|number|version|limits?|timeouts?|passwords?|branch|schedule|budget|deadline|price|job|"
    "phone|email|size|rate|thresholds?|interval|default|setting|value|name|host|region|plan|status|count"
)
_VALUE: Final = re.compile(
    rf"^(?:what(?:'s| is| are)|which) (?:my |our |the |his |her |their )?"
    rf"[\w' -]{{0,40}}?\b(?:{_VALUE_NOUNS})\b"
)
"""Asks for one value, of which the latest holds."""

_IDENTIFIER_SIGNS = (
    r"\w/\w", r"(?:^|\s)[~.]?/\w",
    r"\w\.(?:py|rs|go|tsx?|js|java|md|toml|ya?ml|json|sh|sql|cfg|ini|txt|proto|lock)\b",
    r"[A-Za-z0-9]_[A-Za-z0-9]", r"\b[a-z]+[A-Z]", r"\w::\w", r"\w\(\)", r"`[^`]+`",
    r"\b[A-Z]{1,6}-?\d{2,}\b", r"\bE[A-Z]{4,}\b", r"\b0x[0-9a-fA-F]+\b", r"#\d",
    r"\bv?\d+\.\d+\.\d+\b", r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b",
    r"\b[A-Z]\w+(?:Error|Exception)\b", r"(?:^|\s)--\w",
)  # fmt: skip
_EXACT: Final = re.compile("|".join(_IDENTIFIER_SIGNS))
"""Case matters."""

_WORD = r"[\w'.-]{1,40}"
_NAME = rf"[A-Z]{_WORD}(?: (?:(?:of|the|and|de|von|van|in|on|for|to|a) )?[A-Z0-9]{_WORD}){{0,7}}"
_RELATION = (
    "father|mother|parent|son|daughter|child|brother|sister|sibling|spouse|wife|husband|grandfather|"
    "grandmother|uncle|aunt|(?:father|mother)-in-law|step(?:mother|father)|director|author|writer|composer|"
    "performer|singer|producer|founder|owner|creator|editor|actor|actress|star|birthplace|nationality|capital|"
    "headquarters|country|city|manager|boss|lead|maintainer|team|company|employer|band|album|film|movie|book|"
    "song|university|school"
)
_COMPARED = "same|both|older|younger|earlier|later|first|more|longer|larger|born"
_MULTI_HOP: Final = (
    # a relation of a relation: "the mother of the director of X", "the director's wife"
    re.compile(rf"(?i:\b(?:{_RELATION})s? of (?:the |a )?(?:[\w-]{{1,40}} )?(?:{_RELATION})s?\b)"),
    re.compile(rf"(?i:\b(?:{_RELATION})'s (?:[\w-]{{1,40}} )?(?:{_RELATION})\b)"),
    # a property that is a relation, of a relation: "which team does the author of X belong to"
    re.compile(
        rf"(?i:\b(?:which|what|whose) (?:{_RELATION})s?\b[^?]{{0,60}}?"
        rf"\bthe (?:{_RELATION})s? (?:of|behind)\b)"
    ),
    # a thing told by a clause about a name: "the woman who portrayed X", "the film that Y directed"
    re.compile(
        rf"\b(?:the|an?) {_WORD}(?: {_WORD})? (?:who|that|which|whose|where|in which) [\w' -]{{0,60}}\b[A-Z]"
    ),
    # the same relation of two names: "which film has the director born later, X or Y"
    re.compile(rf"\b(?:{_COMPARED})\b[^?]{{0,80}}?\b{_NAME},? (?:or|and) [A-Z]"),
    re.compile(rf"^(?:Are|Were|Do|Did|Does|Is|Was) (?:both )?{_NAME} and [A-Z].{{0,120}}\b(?:same|both)\b"),
    # a property of a relation of a name: "where was the director of X born"
    re.compile(
        rf"^(?i:who|what|where|when|which|why)\b.{{0,80}}?\b(?:{_RELATION})s? of "
        rf"(?:(?:the |a )?(?:film|movie|song|album|book|novel) )?[A-Z]"
    ),
)


def intents_by_rule(query: str) -> tuple[str, ...]:
    """Intents whose pattern matches, in a fixed order; reads the first `LOOKED_AT` characters."""
    text = " ".join(query[:LOOKED_AT].replace("\u2019", "'").split())
    folded = text.lower()
    found = [intent for intent, pattern in _PATTERNS.items() if pattern.search(folded)]
    if "current_value" not in found and _VALUE.search(folded):
        found.append("current_value")
    if any(pattern.search(text) for pattern in _MULTI_HOP):
        found.append("multi_hop")
    if _EXACT.search(text):
        found.append("exact_lookup")
    return tuple(found)
