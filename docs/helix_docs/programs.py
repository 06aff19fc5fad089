"""What the pages show to be run: each block of code after `<!-- run -->`.

    <!-- run -->                    the next block is run
    <!-- run: needs go -->          the same where the program is installed; otherwise the report says so
    <!-- prints -->                 the next block is what the one before prints; dates and numbers may differ

`running` runs them. Standard library only, because a contract test reads the pages with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from helix_docs.pages import Page

_RUN: Final = re.compile(r"^<!-- run(?:: needs (?P<needs>[\w ]+))? -->$")
_PRINTS: Final = "<!-- prints -->"
LANGUAGES: Final = ("sh", "python")
"""Of blocks that can be run."""


@dataclass(frozen=True, slots=True)
class Program:
    """A block to run, what it needs, and what it prints where the page says so."""

    page: str
    language: str
    text: str
    needs: tuple[str, ...] = ()
    prints: str | None = None

    @property
    def name(self) -> str:
        """Its page and first line."""
        return f"{self.page}: {self.text.strip().splitlines()[0][:70]}"


def programs(page: Page) -> Iterator[Program]:
    """The programs of a page.

    Raises:
        ValueError: a mark has no block of code after it.
    """
    lines = page.texts
    starts = [number for number, line in enumerate(lines) if _RUN.match(line)]
    for start, end in pairwise([*starts, len(lines)]):
        match = _RUN.match(lines[start])
        language, text = _block(lines, start, page.name)
        if match is None or language not in LANGUAGES:
            raise ValueError(f"{page.name}: {language!r} after {lines[start]} cannot be run")
        marks = [number for number in range(start, end) if lines[number] == _PRINTS]
        prints = _block(lines, marks[0], page.name)[1] if marks else None
        yield Program(page.name, language, text, tuple((match["needs"] or "").split()), prints)


def _block(lines: Sequence[str], mark: int, page: str) -> tuple[str, str]:
    """Language and text of the block that follows a mark directly, except for other marks."""
    start = mark + 1
    while start < len(lines) and (not lines[start].strip() or lines[start].startswith("<!--")):
        start += 1
    if start == len(lines) or not lines[start].startswith("```"):
        raise ValueError(f"{page}: no block of code follows {lines[mark]}")
    end = next(number for number in range(start + 1, len(lines)) if lines[number].startswith("```"))
    return lines[start].strip("`").strip(), "\n".join(lines[start + 1 : end]) + "\n"
