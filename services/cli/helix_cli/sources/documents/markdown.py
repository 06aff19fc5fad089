"""Reads Markdown: a file within the limit of a text stays whole.

A larger one is split at its headings of the first two levels into parts, and into more documents if the
parts exceed one event.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from helix_cli.sources.documents.document import Content, decoded, packed
from helix_memory import limits
from helix_shared.sources.fitting import fits, pieces
from helix_shared.text.fences import lines_in_fences

_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*)$")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title[ \t]*:[ \t]*(\S.*)$", re.MULTILINE | re.IGNORECASE)
_TOP_LEVELS: Final = 2


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the text below it; the text before the first heading has none."""

    level: int
    heading: str
    text: str


def markdown_content(path: Path, source: bytes) -> Content:
    """A Markdown file; its title is that of the front matter, else of the headings, else its name.

    Raises:
        InvalidInputError: it is not UTF-8.
    """
    text = decoded(source)
    return Content(title_of(text, path.stem), "text/markdown", contents(text))


def title_of(text: str, fallback: str) -> str:
    """Title from the front matter, else the first heading of the highest level, else `fallback`."""
    front = _FRONT_MATTER.match(text)
    named = _FRONT_TITLE.search(front.group(1)) if front else None
    if named:
        return named.group(1).strip().strip("\"'")[: limits.TITLE_CHARACTERS]
    headings = [section for section in sections(text, levels=6) if section.heading]
    best = min(headings, key=lambda section: section.level, default=None)
    return (best.heading if best else fallback)[: limits.TITLE_CHARACTERS]


def contents(text: str) -> list[dict[str, Any]]:
    """Fields `body` or `parts` of each document that a text becomes."""
    if fits(text):
        return [{"body": text}]
    return packed(_parts(sections(text, levels=_TOP_LEVELS)))


def sections(text: str, *, levels: int) -> list[Section]:
    """Split a text at its headings of the first `levels` levels; a `#` in a code block is no heading."""
    found = [Section(0, "", "")]
    lines: list[str] = []

    def close() -> None:
        last = found[-1]
        found[-1] = Section(last.level, last.heading, "".join(lines))
        lines.clear()

    for line, in_fence in lines_in_fences(text):
        heading = None if in_fence else _HEADING.match(line.rstrip("\r\n"))
        if heading and len(heading.group(1)) <= levels:
            close()
            found.append(Section(len(heading.group(1)), _without_closing(heading.group(2)), ""))
        else:
            lines.append(line)
    close()
    return [section for section in found if section.heading or section.text.strip()]


def _without_closing(heading: str) -> str:
    """Text of a heading without closing `#`: "Setup ##" gives "Setup"."""
    text = heading.rstrip(" \t")
    open_end = text.rstrip("#")
    return (open_end if open_end.endswith((" ", "\t")) else text).strip()


def _parts(found: Sequence[Section]) -> Iterator[dict[str, str]]:
    for section in found:
        heading = section.heading[: limits.TITLE_CHARACTERS]
        whole = section.text if heading == section.heading else f"{section.heading}\n{section.text}"
        for piece in pieces(whole if whole.strip() else section.heading):
            if piece.strip():
                yield {"heading": heading, "text": piece}
