"""Which queries need no memory: a few closed forms, each of which must hold the query as a whole.

Looking is cheap and a wrongly skipped question is costly, so nothing is skipped that speaks of the
caller's own things or past, names anything, holds a path or code, or mentions a time. The forms
stand in `sums`, `chat` and `given`; here they are asked in turn, and given text is guarded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from helix_query.recall.routing.arithmetic import is_arithmetic, is_conversion
from helix_query.recall.routing.small_talk import is_small_talk, play_reason
from helix_query.recall.routing.supplied_text import SuppliedText, asks_about_word, supplied_text

LONGEST: Final = 1_000
"""A longer query carries more than one of these forms."""
LONGEST_CLOSED: Final = 160
"""The same for forms that carry no text."""

_REFERS: Final = re.compile(
    r"\b(?:remember|recall|remind(?:er)?|last|previous(?:ly)?|earlier|before|again|usual|decided|agreed|"
    r"discussed|mentioned|"
    r"talked|told|said|saved|stored|ours?|we (?:had|did|were|have|use|used|chose|made)|"
    r"(?:what|where|when|how) (?:did|does|was|were|i|we|he|she|they)|who (?:did|was|were)|did (?:i|we|he|"
    r"she|they|you))\b",
    re.IGNORECASE,
)
"""Given text that points at something to be looked up."""
_OWN: Final = re.compile(r"\b(?:my|mine|his|her|their|our)\b", re.IGNORECASE)
_CODE: Final = re.compile(
    r"[\w-]/[\w./-]|\w_\w|\w\(\)|[a-z][A-Z]|::|\b\w+\.[a-z]{1,5}\b|#\d|[A-Z]{2}-?\d|\bv\d|`|\\"
)
_PATH: Final = re.compile(
    r"\w-*/[\w-]+[./]\w|\b\w+\.(?:py|rs|go|ts|js|java|md|toml|ya?ml|json|sh|sql)\b|\b[A-Z]{2,}[-_]\d"
)
_CODE_WORDS: Final = re.compile(
    r"\b(?:python|numpy|pandas|django|javascript|java|react|sql|bash|linux)\b", re.IGNORECASE
)


def skip_reason(query: str, *, has_names: Callable[[str], bool], has_time: Callable[[str], bool]) -> str:
    """Why `query` needs no memory, or an empty string when it may need some.

    `has_names` and `has_time` tell whether a text names anything or mentions a time.
    """
    text = query.replace("\u2019", "'").strip()
    if len(text) > LONGEST:
        return ""
    if len(text) <= LONGEST_CLOSED:
        reason = _closed_reason(" ".join(text.split()))
        if reason:
            return reason
    given = supplied_text(text)
    if given is None or _may_concern_memory(given, has_names, has_time):
        return ""
    return f"supplied text, {given.kind}"


def _closed_reason(text: str) -> str:
    folded = text.lower()
    bare = folded.rstrip("?.! ")
    if is_arithmetic(folded):
        return "arithmetic"
    if is_conversion(folded):
        return "conversion"
    if is_small_talk(folded):
        return "small talk"
    if asks_about_word(text.rstrip("?.! ")) and not _CODE_WORDS.search(folded):
        return "about a word"
    return play_reason(bare)


def _may_concern_memory(
    given: SuppliedText, has_names: Callable[[str], bool], has_time: Callable[[str], bool]
) -> bool:
    """Whether given text names, points at or dates anything; code counts unless it is to be laid out."""
    text = given.material.strip("\"'`\u201c\u201d ")
    if _REFERS.search(text) or (given.kind == "data" and _OWN.search(text)):
        return True
    code = _PATH if given.kind == "code" else _CODE
    return bool(code.search(text) or has_names(text) or has_time(text))
