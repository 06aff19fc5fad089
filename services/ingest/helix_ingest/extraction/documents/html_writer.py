"""Lines and blocks of a page that becomes Markdown, and the places of items in their lists."""

from __future__ import annotations

import re
from typing import Final

from helix_memory import limits
from helix_shared.errors import InvalidInputError

SPACE: Final = re.compile(r"\s+")
_INDENT: Final = "    "
"""Of a list in a list: enough for bullets and for numbers of two digits (CommonMark 0.31, 5.2)."""
_DEEPEST: Final = 8
"""Lists that indent the ones within them: the text of a page must not grow with the square of its length."""


class Writer:
    """Collects lines and blocks; refuses a page whose text is too long."""

    def __init__(self, field: str) -> None:
        self._field = field
        self._blocks: list[str] = []
        self._line: list[str] = []
        self._prefix = ""
        self._joined = False
        self._characters = 0
        self._lists = 0
        self.numbers: dict[int, int] = {}
        """Of the items of ordered lists that are still to come, by the id of their node."""

    def inline(self, text: str) -> None:
        """Text of the current line."""
        if text:
            self._count(len(text))
            self._line.append(text)

    @property
    def last(self) -> str:
        """The last character of the current line; empty where it has none yet."""
        return self._line[-1][-1] if self._line else ""

    def end_line(self, *, block: bool = False) -> None:
        """End the current line; the next is in a new block, unless an item begins with it."""
        line = SPACE.sub(" ", "".join(self._line)).strip()
        self._line = []
        if line:
            self._add(self._prefix + line, joined=self._joined)
            self._prefix, self._joined = "", True
        if block and not self._prefix:
            self._joined = False

    def begin_heading(self, marker: str) -> None:
        """The next line is a heading, also within a list."""
        self.end_line()
        self._joined, self._prefix = False, marker

    def begin_list(self) -> None:
        """What follows are items of a list, which may be within another one."""
        self.end_line(block=not self._lists)
        self._lists += 1

    def begin_item(self, marker: str) -> None:
        """The next line is an item; where an item begins with a list, that list begins on the same line."""
        self.end_line()
        self._prefix = (self._prefix or _INDENT * min(self._lists - 1, _DEEPEST)) + marker

    def end(self, what: str) -> None:
        """The end of what `_open` has begun: a line, a block, a heading, an item or a list."""
        self._lists -= what == "list"
        self.end_line()
        if what in {"heading", "item"}:
            self._prefix = ""  # of one without text
        self.end_line(block=what in {"block", "heading"} or (what == "list" and not self._lists))

    def block(self, text: str) -> None:
        """A block with its own lines."""
        self.end_line()
        if text.strip():
            self._count(len(text))
            self._add(text, joined=False)
            self._prefix, self._joined = "", False

    def text(self) -> str:
        """All of it."""
        self.end_line()
        return "".join(self._blocks)

    def _add(self, text: str, *, joined: bool) -> None:
        if self._blocks:
            self._blocks.append("\n" if joined else "\n\n")
        self._blocks.append(text)

    def _count(self, characters: int) -> None:
        self._characters += characters
        if self._characters > limits.EXTRACTED_CHARACTERS:
            raise InvalidInputError(
                self._field, f"gives more than {limits.EXTRACTED_CHARACTERS} characters of text"
            )
