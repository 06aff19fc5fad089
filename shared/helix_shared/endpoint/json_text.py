"""Finds the JSON object of an answer in what a model wrote.

Models put prose and code fences around it, think aloud before it, or are cut off in the middle. Of a cut
answer the complete items of its lists are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

MOST_STARTS: Final = 64
"""Braces tried as the beginning of the answer."""
MOST_ITEMS: Final = 256
"""Items of one list that are read."""

_KINDS_OF_THOUGHTS: Final = "think|thinking|reasoning"
_THOUGHTS: Final = re.compile(f"<({_KINDS_OF_THOUGHTS})>")
_THOUGHTS_TAG: Final = re.compile(f"</?(?:{_KINDS_OF_THOUGHTS})>")
_DECODER: Final = json.JSONDecoder()
_LIST: Final = re.compile(r"\"([a-z_]{1,40})\"\s{0,16}:\s{0,16}\[")
"""The beginning of a named list."""


def object_in(text: str, lists: Sequence[str]) -> tuple[dict[str, Any] | None, bool]:
    """The answer in `text`, and whether it was cut off; None if there is nothing of it.

    `lists` are the names of its lists; an answer has at least one of them.
    """
    text = _without_thoughts(_behind_unopened(text))
    begins = {found.end() for found in _LIST.finditer(text) if found[1] in lists}
    at = -1
    for _ in range(MOST_STARTS):
        at = text.find("{", at + 1)
        if at < 0:
            break
        value = _decoded(text, at)
        if value is not None and isinstance(value[0], dict) and any(name in value[0] for name in lists):
            if len(text[:at].rstrip()) in begins:
                break  # the first item of a list, with a list of the same name: the answer around it is cut
            return value[0], False
    salvaged = {name: items for name in lists if (items := _items_of(text, name)) is not None}
    return (salvaged, True) if salvaged else (None, False)


def items_of(answer: Mapping[str, Any], name: str) -> list[Any]:
    """The first `MOST_ITEMS` items of a list of the answer; none if it has no such list."""
    items = answer.get(name)
    return items[:MOST_ITEMS] if isinstance(items, list) else []


def _behind_unopened(text: str) -> str:
    """`text` behind a passage of thinking that has its end alone, because the chat template began it."""
    first = None if text.lstrip().startswith("{") else _THOUGHTS_TAG.search(text)
    return text if first is None or not first[0].startswith("</") else text[first.end() :]


def _without_thoughts(text: str) -> str:
    """`text` without passages of thinking; an unfinished one leaves nothing behind it."""
    parts, at = [], 0
    for _ in range(MOST_STARTS):
        begin = _THOUGHTS.search(text, at)
        if begin is None:
            break
        parts.append(text[at : begin.start()])
        closing = f"</{begin[1]}>"
        end = text.find(closing, begin.end())
        if end < 0:
            return "".join(parts)
        at = end + len(closing)
    return "".join((*parts, text[at:]))


def _items_of(text: str, name: str) -> list[Any] | None:
    """The complete items of the list `name`; None where it does not begin."""
    begin = next((found for found in _LIST.finditer(text) if found[1] == name), None)
    if begin is None:
        return None
    items: list[Any] = []
    at = begin.end()
    while len(items) < MOST_ITEMS:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if at >= len(text) or text[at] == "]" or (found := _decoded(text, at)) is None:
            break
        items.append(found[0])
        at = found[1]
    return items


def _decoded(text: str, at: int) -> tuple[Any, int] | None:
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
