"""Which queries need no memory: a few patterns, each of which must match the whole query.

A recall is cheap and a wrongly skipped question is costly. So a query is not skipped if it refers to the
caller's own things or past, contains a name, a path or code, or mentions a time. The patterns are those
of `arithmetic`, `small_talk` and `supplied_text`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from helix_query.recall.routing.arithmetic import is_arithmetic, is_conversion
from helix_query.recall.routing.small_talk import is_small_talk, play_reason
from helix_query.recall.routing.supplied_text import SuppliedText, asks_about_word, supplied_text

MAX_CHARACTERS: Final = 1_000
"""A longer query is never skipped."""
MAX_CHARACTERS_WITHOUT_TEXT: Final = 160
"""The same for patterns without supplied text."""

_REFERS: Final = re.compile(
    r"\b(?:remember|recall|remind(?:er)?|last|previous(?:ly)?|earlier|before|again|usual|decided|agreed|"
    r"discussed|mentioned|"
    r"talked|told|said|saved|stored|ours?|we (?:had|did|were|have|use|used|chose|made)|"
    r"(?:what|where|when|how) (?:did|does|was|were|i|we|he|she|they)|who (?:did|was|were)|did (?:i|we|he|"
    r"she|they|you))\b",
    re.IGNORECASE,
)
"""Words in supplied text that refer to something in memory."""
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
    """Why `query` needs no memory; an empty string if it may need some.

    `has_names` and `has_time` tell whether a text contains a name or mentions a time.
    """
    text = query.replace("\u2019", "'").strip()
    if len(text) > MAX_CHARACTERS:
        return ""
    if len(text) <= MAX_CHARACTERS_WITHOUT_TEXT:
        reason = _reason_without_text(" ".join(text.split()))
        if reason:
            return reason
    supplied = supplied_text(text)
    if supplied is None or _may_concern_memory(supplied, has_names, has_time):
        return ""
    return f"supplied text, {supplied.kind}"


def _reason_without_text(text: str) -> str:
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
    supplied: SuppliedText, has_names: Callable[[str], bool], has_time: Callable[[str], bool]
) -> bool:
    """Whether supplied text has a name, time, reference to memory, or code (a path if code is formatted)."""
    text = supplied.text.strip("\"'`\u201c\u201d ")
    if _REFERS.search(text) or (supplied.kind == "data" and _OWN.search(text)):
        return True
    code = _PATH if supplied.kind == "code" else _CODE
    return bool(code.search(text) or has_names(text) or has_time(text))
