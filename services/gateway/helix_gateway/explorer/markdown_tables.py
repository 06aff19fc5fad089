"""Tables of Markdown within a text, shown as tables; what is around them and in their cells stays text.

The library tells where the tables are and what their cells hold; it renders nothing. A table whose cells hold
less than its lines, as where a row has more cells than the header, stays text: a page shows all of a memory.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from markdown_it import MarkdownIt
from markupsafe import Markup

from helix_gateway.explorer.shown import CUT, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from helix_memory.client.results import Memory

BEYOND: Final = 1_000
"""Characters behind the end of a shortened text in which a row that begins before it may end."""
_RULE: Final = re.compile(r"^[ \t]*[|:-][|: \t-]*\r?$", re.MULTILINE)
"""The line below a header. A text without one has no table and is not parsed."""
_BLOCKS: Final = ("table", "code", "fence", "blockquote", "list", "heading", "lheading", "hr")
"""What the library tells from a table: a table within code is code."""
_OWN: Final = ("normalize", "inline", "text_join")
"""Steps that would change characters, which `shown` tells of, or read what stays text."""
_SEPARATORS: Final = re.compile(r"[ \t|\\]+")
_SIDES: Final = {
    "text-align:right": Markup(' class="right"'),
    "text-align:center": Markup(' class="center"'),
}
_HEADER_CELL: Final = Markup('<th scope="col"{}>{}</th>')
_CELL: Final = Markup("<td{}>{}</td>")


@dataclass(frozen=True, slots=True)
class _Table:
    """Lines `start` to `end` of a text; the first row is the header. A cell is its text and its alignment."""

    start: int
    end: int
    rows: list[list[tuple[str, Markup]]] = field(default_factory=list)

    def before(self, line: int) -> _Table:
        """The header and the rows that begin before a line; the rule is the second line."""
        end = max(min(self.end, line), self.start + 2)
        return _Table(self.start, end, self.rows[: end - self.start - 1])

    def has_all_of(self, lines: Sequence[str]) -> bool:
        """Whether the cells hold what the lines of the table do, apart from the rule below the header."""
        read = "".join([lines[self.start], *lines[self.start + 2 : self.end]])
        cells = "".join(text for row in self.rows for text, _ in row)
        return _SEPARATORS.sub("", read) == _SEPARATORS.sub("", cells)

    def markup(self) -> Markup:
        """The table in a box that scrolls sideways; without a header where that is empty."""
        header, *body = self.rows
        head = _row(_HEADER_CELL, header) if any(text for text, _ in header) else Markup("")
        rows = Markup("").join(_row(_CELL, row) for row in body)
        return Markup(
            '<div class="wide"><table class="markdown"><thead>{}</thead><tbody>{}</tbody></table></div>'
        ).format(head, rows)


def with_tables(text: str, limit: int = 0) -> Markup:
    """As `shown`, with the tables of the text as elements.

    Where the text is cut after `limit` characters, so is a table, after the row that holds this place.
    """
    text = text.replace("\r\n", "\n")
    stop = min(limit or len(text), len(text))
    window = text[: stop + BEYOND]
    if "|" not in window or not _RULE.search(window):
        return shown(text, limit)
    lines = window.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    pieces: list[Markup] = []
    place = 0
    for whole in _tables(window):
        table = whole.before(bisect_left(starts, stop))
        if starts[table.start] < stop and table.has_all_of(lines):
            pieces += [_text(window[place : starts[table.start]]), table.markup()]
            place = min(starts[table.end], len(window))
    if not pieces:
        return shown(text, limit)
    end = CUT if max(place, stop) < len(text) else Markup("")
    return Markup("").join([*pieces, _text(window[place:stop]), end])


def text_of(memory: Memory, limit: int = 0) -> Markup:
    """The text of a memory with its tables; code as it was written."""
    return (shown if memory.type == "code" else with_tables)(memory.text, limit)


def _text(between: str) -> Markup:
    """What stands beside tables, which keep their distance themselves."""
    text = between.strip("\n")
    return shown(text) if text else Markup("")


def _row(cell: Markup, texts: Sequence[tuple[str, Markup]]) -> Markup:
    cells = (cell.format(side, shown(text) if text else "") for text, side in texts)
    return Markup("<tr>{}</tr>").format(Markup("").join(cells))


def _tables(text: str) -> Iterator[_Table]:
    """The tables that are part of no list and no quotation."""
    table: _Table | None = None
    side = Markup("")
    for token in _parser().parse(text):
        if token.type == "table_open" and token.level == 0 and token.map is not None:
            table = _Table(token.map[0], token.map[1])
        elif table is None:
            continue
        elif token.type == "table_close":
            yield table
            table = None
        elif token.type == "tr_open":
            table.rows.append([])
        elif token.type in {"th_open", "td_open"}:
            side = _SIDES.get(str(token.attrGet("style")), Markup(""))
        elif token.type == "inline":
            table.rows[-1].append((token.content, side))


@functools.cache
def _parser() -> MarkdownIt:
    return MarkdownIt("zero").enable(_BLOCKS).disable(_OWN)
