"""Passages that somebody marked as private: `<private>...</private>`.

They are taken out of what people and agents say before an event is published, so that neither the log nor a
memory has them (ops/decisions/0114). Ingest reads events of other publishers by the same models, so no memory
is made of such a passage there, either.
"""

from __future__ import annotations

import re
from typing import Final

_PRIVATE: Final = re.compile(r"<(?P<slash>/?)private(?:\s[^<>]*)?>", re.IGNORECASE)
_SPACE: Final = " \t"
_SPACES: Final = tuple(_SPACE)
_CLOSING: Final = (".", ",", ";", ":", "!", "?", ")", "]", "}", "%", "\N{HORIZONTAL ELLIPSIS}")
"""What stands directly behind a word."""
ALL_PRIVATE: Final = "is all private (<private>), so there is nothing to remember"


def without_private(text: str) -> str:
    """The text without `<private>...</private>`, which lacks a tag where it was cut: then up to that end.

    Where a passage was, no space stands before a full stop and no two spaces stand together.
    """
    kept: list[str] = []
    at = depth = 0
    for tag in _PRIVATE.finditer(text):
        if tag["slash"]:
            depth = max(0, depth - 1)
            at = tag.end() if depth == 0 else at
        else:
            if depth == 0:
                kept.append(text[at : tag.start()])
            depth += 1
    return "".join(_closed(kept if depth else [*kept, text[at:]]))


def _closed(parts: list[str]) -> list[str]:
    """The parts between which passages were, without the spaces that these leave."""
    closed: list[str] = []
    for part in parts:
        after = part
        if closed and closed[-1].endswith(_SPACES):
            if after.startswith(_CLOSING):
                closed[-1] = closed[-1].rstrip(_SPACE)
            elif after.startswith(_SPACES):
                after = after.lstrip(_SPACE)
        if after:
            closed.append(after)
    return closed


def what_may_be_kept(value: object) -> object:
    """The text of an event without private passages; what is no text, or has none, as it is.

    Raises:
        ValueError: nothing is left.
    """
    if not isinstance(value, str) or not _PRIVATE.search(value):
        return value
    kept = without_private(value).strip()
    if not kept:
        raise ValueError(ALL_PRIVATE)
    return kept
