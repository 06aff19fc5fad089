"""Answers that pick from a list by its number or letter: "2", "option B please", "the last one"."""

from __future__ import annotations

import re
from typing import Final

ITEM_CHARACTERS: Final = 120
"""Characters of a picked item that are kept."""
_LEAST_ITEMS: Final = 2
_ITEM: Final = re.compile(
    r"^[^\S\n]{0,8}(?:[-*\u2022][^\S\n]+)?(?:\*\*)?(?:option )?\(?(?:(?P<label>\d{1,2}"
    r"|[A-Za-z])[.):](?:\*\*)?|[-*\u2022])"
    r"[^\S\n]+(?P<item>[^\n?]{1,400})$",
    re.MULTILINE | re.IGNORECASE,
)
_INLINE: Final = re.compile(
    r"(?<!\w)\(?(?P<label>\d|[a-h])\) ?(?P<item>[^,;?()\n]{1,80}?)(?=,|;|\?|\.|(?: or)? \(?[\da-h]\)|$)",
    re.IGNORECASE,
)
_PICK: Final = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|yes|then|um+|hm+|i(?:['\u2019]d| would)? (?:pick|take|choose|prefer|like"
    r"|go with|say|want)"
    r"|let['\u2019]?s (?:go with|take|do)|go (?:with|for)|we(?:['\u2019]ll)? take)\b\W*)*"
    r"(?:the )?(?:(?:option|number|no\.?|nr\.?|choice|variant|answer|#) ?)?"
    r"(?:(?P<label>\d{1,2}|[a-h])|(?P<ordinal>first|second|third|fourth|fifth|last))(?: (?:one|option"
    r"|choice))?"
    r"(?:\W+(?:please|pls|then|it is|thanks?|thank you))*\W*$",
    re.IGNORECASE,
)
_ORDINALS: Final = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}


def picked_item(asked: str, answer: str) -> str:
    """The item of a list in `asked` that `answer` picks; empty if it picks none."""
    chosen = _PICK.match(answer)
    if chosen is None:
        return ""
    items = _items(asked)
    if chosen["ordinal"]:
        at = _ORDINALS[chosen["ordinal"].lower()]
        found = items[at][1] if items and at < len(items) else ""
    else:
        found = next((item for label, item in items if label == chosen["label"].lower()), "")
    return found.strip(" .*")[:ITEM_CHARACTERS]


def without_items(asked: str) -> str:
    """A text with the items of its list blanked, so that places in it stay the same."""
    if len(_ITEM.findall(asked)) < _LEAST_ITEMS:
        return asked
    return _ITEM.sub(lambda found: " " * len(found[0]), asked)


def _items(text: str) -> list[tuple[str, str]]:
    """Labels, lower case, and items of the last list of a text."""
    for rule in (_ITEM, _INLINE):
        found = [((match["label"] or "").lower(), match["item"]) for match in rule.finditer(text)]
        if len(found) >= _LEAST_ITEMS:
            starts = [n for n, (label, _) in enumerate(found) if label in ("1", "a")]
            return found[starts[-1] :] if starts else found
    return []
