"""Intent `exact_lookup`: a query for one exact thing: a symbol, path, option, error or code.

The thing must be spelt like one (case matters), and the query must be about it: it asks for a definition,
quotes an error, or is short. A long sentence that mentions a symbol does not count.
"""

from __future__ import annotations

import re
from typing import Final

_SPELT_EXACTLY = (
    r"\w/\w", r"(?:^|\s)[~.]?/\w",
    r"\w\.(?:py|rs|go|tsx?|js|java|kt|rb|cpp|hpp|c|h|md|rst|toml|ya?ml|json|sh|sql|cfg|ini|txt|proto|lock|log|env)\b",
    r"[A-Za-z0-9]_[A-Za-z0-9]", r"(?:^|\W)__?[A-Za-z]\w", r"\b[a-z]{2,}[A-Z][a-z]",
    r"\b[A-Z]\w*[a-z][A-Z][a-z]", r"\w::\w",
    r"\w\(\)", r"`[^`]+`",
    r"\b[A-Z]{2,10}-\d{3,}\b", r"\b[A-Z]{3,10}-\d{2,}\b", r"\b[EWCF]-?\d{3,5}\b", r"\bHTTP \d{3}\b",
    r"\bE[A-Z]{4,}\b", r"\b0x[0-9a-fA-F]+\b", r"(?:^|\s)#\d",
    r"\bv?\d+\.\d+\.\d+\b", r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b",
    r"\b[A-Z]\w+(?:Error|Exception|Warning)\b", r"(?:^|[\s'\"`])--?[a-z][\w-]*(?=[\s=?'\"`.,]|$)",
)  # fmt: skip
_SIGNS: Final = re.compile("|".join(_SPELT_EXACTLY))
_ERROR: Final = re.compile(
    r"\b(?:[A-Z]\w*)?(?:Error|Exception|Warning|Failure|Exit|Interrupt|Timeout)\b ?:|\b(?:error|exception|"
    r"traceback|panic|fatal|errno)\b ?[:\[(\"']|"
    r"\b(?:raises?|throws?|logs?|prints?|says?|error|message|exception|getting|get|see|"
    r"saw)\b[^\"'`]{0,40}[\"'`][^\"'`]{8,}",
)
_LOOKS_UP: Final = re.compile(
    r"^(?:(?:please|can you|could you|i need|find|show|give|open|go to|jump to|see|get|look up|print|list|"
    r"grep|search)(?: for)?(?: me)? )*"
    r"(?:the )?(?:definition|signature|source|source code|code|implementation|docstring|declaration|"
    r"usages?|uses|callers?|"
    r"references|body|type|docs?|documentation|file|class|function|method|module|symbol|option|flag|"
    r"setting|variable|constant|path)"
    r"(?: code)? (?:(?:of|for|named|called) )?(?:the )?[`'\"]?[\w.:/-]+(?:\(\))?[`'\"]?\??$"
    r"|^(?:where|in which file|which file|what file|who)(?:'s| is| are| does| do)? .{1,80}(?:defined|"
    r"declared|implemented|"
    r"located|set|raised|thrown|called|calls|imported|imports|used)\??$",
    re.IGNORECASE,
)
_TOKEN: Final = re.compile(r"[\w.:/@#$%-]{2,120}(?:\(\))?\??")
_PLAIN_TOKENS: Final = frozenset([
    "hi", "hello", "hey", "help", "thanks", "yes", "no", "ok", "okay", "why", "what", "who", "when", "how",
    "where", "bye",
])  # fmt: skip
_MAX_SPACES: Final = 14
"""A query with as many spaces only mentions the thing."""
_MAX_LOOKUP_SPACES: Final = 4
"""Below it a plain word may be the thing ("definition of register")."""


def is_exact_lookup(text: str) -> bool:
    """Whether a query (single spaces) is for one exact thing."""
    if " " not in text:
        return _TOKEN.fullmatch(text) is not None and text.lower().rstrip("?") not in _PLAIN_TOKENS
    if _LOOKS_UP.search(text) and (_SIGNS.search(text) or text.count(" ") < _MAX_LOOKUP_SPACES):
        return True
    if _ERROR.search(text):
        return True
    return text.count(" ") < _MAX_SPACES and _SIGNS.search(text) is not None
