"""A table as rows of cells, each with the texts that it holds, and its form as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from helix_ingest.extraction.documents.pdf_tables.placed import Text

SAME_LINE: Final = 0.2
"""Texts whose base lines are nearer than this part of the font size stand in one line."""

Cell = list[Text]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows from the top, each with one cell for each column."""

    rows: list[list[Cell]]

    def texts(self) -> list[Text]:
        """All texts of the table."""
        return [text for row in self.rows for cell in row for text in cell]

    def markdown(self) -> str:
        """The table in Markdown; the first row is its header if each of its cells names something."""
        rows = [[cell_text(cell) for cell in row] for row in self.rows]
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        if len(rows) > 1 and all(any(map(str.isalpha, cell)) for cell in rows[0]):
            lines.insert(1, "|" + "---|" * len(rows[0]))
        return "\n".join(lines)


def cell_text(cell: Cell) -> str:
    """The texts of a cell in reading order, in one line; `|` is escaped."""
    words = [text.words for line in lines_of(cell) for text in line]
    return " ".join(words).replace("|", "\\|")


def lines_of(texts: Sequence[Text]) -> list[list[Text]]:
    """The lines that texts stand in, from the top; each from left to right."""
    lines: list[list[Text]] = []
    for text in sorted(texts, key=lambda one: -one.y):
        if lines and lines[-1][0].y - text.y <= SAME_LINE * min(text.size, lines[-1][0].size):
            lines[-1].append(text)
        else:
            lines.append([text])
    return [sorted(line, key=lambda one: one.left) for line in lines]
