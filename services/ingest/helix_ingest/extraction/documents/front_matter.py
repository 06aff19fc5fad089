"""The front matter of a Markdown document: lines "key: value" between "---" at its start."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

READ_CHARACTERS: Final = 20_000
"""Front matter that does not end within these first characters is text."""
_START: Final = re.compile(r"\ufeff?---[ \t]*\r?\n")
_END: Final = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_LINE: Final = re.compile(r"[A-Za-z_][\w .-]{0,60}:(?:\s|$)|[ \t]|[-#]|\r?$")
"""Beginning of a key with its value, of a part of a value, of an entry of a list, or an empty line."""
_BARE: Final = re.compile(r"^\s*-?\s*|[\[\]{}\"']")


class FrontMatter(NamedTuple):
    """What stands in front of the text of a document; empty where there is none."""

    end: int = 0
    """Where the text begins."""
    lines: str = ""
    """Its keys and values, one a line, without marks."""


def front_matter(text: str) -> FrontMatter:
    """The front matter of a text; a horizontal rule at its start is none."""
    start = _START.match(text)
    end = _END.search(text[:READ_CHARACTERS], start.end()) if start else None
    if start is None or end is None:
        return FrontMatter()
    lines = text[start.end() : end.start()].splitlines()
    if not lines or ":" not in lines[0] or not all(_LINE.match(line) for line in lines):
        return FrontMatter()
    bare = (_BARE.sub("", line).strip() for line in lines if not line.startswith("#"))
    return FrontMatter(end.end(), "\n".join(line for line in bare if line))
