"""Fits texts into the limits of an event: splits a text into pieces, or shortens it with a mark.

A limit counts characters (`limits.TEXT_CHARACTERS`) and bytes of JSON (one event), because a
character may need four bytes, or six where JSON escapes it.
"""

from __future__ import annotations

import json
from typing import Final

from helix_memory import limits

TEXT_BYTES: Final = 200 * 1024
"""Limit of the JSON bytes of all texts of one event; other fields have the rest of `EVENT_BYTES`."""
LEAST_CHARACTERS: Final = 200
_BOUNDARIES: Final = ("\n\n", "\n", " ")


def json_bytes(text: str) -> int:
    """Bytes of a text inside a JSON body."""
    return len(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace"))


def fits(text: str) -> bool:
    """Whether the text is within both limits."""
    return len(text) <= limits.TEXT_CHARACTERS and json_bytes(text) <= TEXT_BYTES


def pieces(text: str) -> list[str]:
    """Split `text` after a paragraph, a line or a word into pieces within the limits; nothing is lost."""
    found, at = [], 0
    # the rest is copied only when it is short: a line of a transcript may have 64 MiB
    while len(text) - at > limits.TEXT_CHARACTERS or not fits(text[at:]):
        end = at + _cut(text[at : at + limits.TEXT_CHARACTERS])
        found.append(text[at:end])
        at = end
    return [*found, text[at:]] if at < len(text) else found


def shortened(text: str, characters: int) -> str:
    """Head and tail of a text, and between them the number of characters left out."""
    if len(text) <= characters:
        return text
    half = characters // 2
    missing = len(text) - 2 * half
    return f"{text[:half]}\n[... {missing} characters left out by helix import ...]\n{text[-half:]}"


def fitted(texts: dict[str, str]) -> dict[str, str]:
    """The texts of one event, the largest of them shortened until all are within the limits together."""
    room = limits.TEXT_CHARACTERS - LEAST_CHARACTERS
    kept = {name: len(text) if len(text) <= limits.TEXT_CHARACTERS else room for name, text in texts.items()}
    while True:
        fitting = {name: shortened(text, kept[name]) for name, text in texts.items()}
        if sum(map(json_bytes, fitting.values())) <= TEXT_BYTES:
            return fitting
        largest = max(fitting, key=lambda name: json_bytes(fitting[name]))
        kept[largest] = max(LEAST_CHARACTERS, kept[largest] * 3 // 4)


def _cut(text: str) -> int:
    """Position at which to cut a text of at most `limits.TEXT_CHARACTERS`.

    It is after the last boundary in the second half of the longest piece that fits.
    """
    longest = len(text)
    while not fits(text[:longest]):
        longest = longest * 3 // 4
    for boundary in _BOUNDARIES:
        at = text.rfind(boundary, longest // 2, longest)
        if at >= 0:
            return at + len(boundary)
    return longest
