"""Whether a text states a decision, negated ones left out ("we have not decided")."""

from __future__ import annotations

import re
from typing import Final

from helix_ingest.extraction.acts.negation import is_asserted

_DECISION: Final = re.compile(
    r"\b(?:we|i|team|they)(?:['\u2019]ve| have)? (?:\w+ )?(?:decided|agreed|chose|settled|opted|switched"
    r"|are (?:going"
    r" with|moving to))\b"
    r"|\b(?:decision|decided|verdict)\b[^.\n:]{0,40}:|\blet['\u2019]?s (?:go with|use|switch to|move to"
    r"|stick with|drop)\b"
    r"|\bwe(?:['\u2019]ll| will) (?:go with|use|switch|move to|keep|stick|drop)\b|\bfrom now on\b"
    r"|\bstatus:\s*accepted\b|\b(?:go|going|went) with\b|\bit is(?: then)?[.!]*$|\bsettled on\b"
    r"|\b(?:final|official)(?:ly)? (?:decision|answer|call)\b",
    re.IGNORECASE,
)


def decides(text: str) -> bool:
    """Whether a text states a decision."""
    return any(is_asserted(text, _last_word(match)) for match in _DECISION.finditer(text))


def _last_word(match: re.Match[str]) -> int:
    """Where the last word of a match begins: a negation inside the match stands before it."""
    return match.start() + match[0].rfind(" ") + 1
