"""Tables without lines: at least three rows whose cells stand below each other.

A line of text is cut into cells at wide gaps. Lines that follow each other are a table as long as the same
gaps go through all of them. Columns of prose look alike, but most of their cells are several words, which
fill the column or begin in lower case. A list with marks in front of its items is no table either.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from helix_ingest.extraction.documents.pdf_tables.grid import Cell, Table, lines_of
from helix_ingest.extraction.documents.pdf_tables.placed import Placed, Text

LEAST_ROWS: Final = 3
_LEAST_COLUMNS: Final = 2
_MOST_COLUMNS: Final = 64
_TRIED_AGAIN: Final = 10
"""Rows of what is no table, behind the first of which another table may begin."""
_GAP: Final = 1.0
"""Between two cells, in parts of the font size; words of justified prose are nearer."""
_PITCH: Final = 2.6
"""From a line to the next, in parts of the font size; more ends a table."""
_WRAPPED_PITCH: Final = 1.4
"""From a line of a cell to its next one."""
_MOST_WORDS: Final = 3
"""Median number of words in the cells of a table."""
_LEAST_HELD: Final = 0.7
"""Part of the cells that must hold a text, without lines that continue a cell."""
_PROSE_WORDS: Final = 2.5
"""Mean number of words in the cells of a column of prose."""
_PROSE_CELLS: Final = 0.6
"""Part of these cells that fill the column, or begin in lower case."""
_FILLED: Final = 0.6
"""Part of the width of a column that a cell of prose fills."""
_MARK: Final = re.compile(r"(?:[^\w\s]|\(?\w{1,3}[.)])")
"""A mark of a list: a bullet, "1.", "(a)"."""


@dataclass(slots=True)
class _Span:
    """A cell with its extent."""

    texts: Cell
    left: float
    right: float
    words: list[str]

    def add(self, text: Text) -> None:
        """Continue the cell with the next text of its line."""
        self.texts.append(text)
        self.right = max(self.right, text.right)
        self.words += text.words.split()


_Row = list[_Span]


def aligned_tables(page: Placed, taken: set[int]) -> list[Table]:
    """The tables of a page from the top; texts with an identity in `taken` stand in another one."""
    lines = lines_of([text for text in page.texts if text.size and id(text) not in taken])
    rows = [_cells(line) for line in lines]
    tables: list[Table] = []
    at = 0
    while at < len(rows):
        end, columns = _block(rows, at)
        block = rows[at:end]
        if sum(len(row) > 1 for row in block) >= LEAST_ROWS and _is_table(block, columns):
            tables.append(_table(block, columns))
        elif end - at <= _TRIED_AGAIN:
            end = at + 1
        at = end
    return tables


def _cells(line: Sequence[Text]) -> _Row:
    cells: _Row = []
    for text in line:
        if cells and text.left - cells[-1].right < _GAP * text.size:
            cells[-1].add(text)
        else:
            cells.append(_Span([text], text.left, text.right, text.words.split()))
    return cells


def _block(rows: Sequence[_Row], start: int) -> tuple[int, list[tuple[float, float]]]:
    """The end of the rows from `start` that the same gaps go through, and their columns."""
    columns = [(cell.left, cell.right) for cell in rows[start]]
    if not _LEAST_COLUMNS <= len(columns) <= _MOST_COLUMNS:
        return start + 1, columns
    end = start + 1
    while end < len(rows):
        pitch = _pitch(rows[end - 1], rows[end])
        merged = _merged(columns, rows[end][: _MOST_COLUMNS + 1])
        is_wrapped = len(rows[end]) == 1 and len(merged) == len(columns)
        if is_wrapped and (pitch > _WRAPPED_PITCH or _place(rows[end][0], merged) == 0):
            break
        if pitch > _PITCH or not len(columns) <= len(merged) <= _MOST_COLUMNS:
            break
        columns = merged
        end += 1
    return end, columns


def _pitch(above: _Row, below: _Row) -> float:
    upper, lower = above[0].texts[0], below[0].texts[0]
    return (upper.y - lower.y) / min(upper.size, lower.size)


def _merged(columns: Sequence[tuple[float, float]], row: _Row) -> list[tuple[float, float]]:
    """The columns with the cells of one more row; those that a cell touches become one with it."""
    merged: list[tuple[float, float]] = []
    for left, right in sorted([*columns, *((cell.left, cell.right) for cell in row)]):
        if merged and left < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], right))
        else:
            merged.append((left, right))
    return merged


def _place(cell: _Span, columns: Sequence[tuple[float, float]]) -> int:
    """The column of a cell."""
    return next(place for place, (left, right) in enumerate(columns) if left <= cell.left <= right)


def _is_table(rows: Sequence[_Row], columns: Sequence[tuple[float, float]]) -> bool:
    if len(columns) < _LEAST_COLUMNS:
        return False
    held: list[list[_Span]] = [[] for _ in columns]
    for row in rows:
        for cell in row:
            held[_place(cell, columns)].append(cell)
    whole = [row for row in rows if len(row) > 1]
    if sum(map(len, whole)) < _LEAST_HELD * len(whole) * len(columns):
        return False
    words = sorted(len(cell.words) for cells in held for cell in cells)
    is_list = all(_MARK.fullmatch(" ".join(cell.words)) for cell in held[0])
    prose = sum(map(_is_prose, held))
    return not is_list and prose < len(columns) - 1 and words[len(words) // 2] <= _MOST_WORDS


def _is_prose(cells: Sequence[_Span]) -> bool:
    """Whether the cells of a column are lines of prose."""
    if sum(len(cell.words) for cell in cells) < _PROSE_WORDS * len(cells):
        return False
    width = max(cell.right - cell.left for cell in cells)
    filling = sum(cell.right - cell.left >= _FILLED * width for cell in cells)
    lower = sum(cell.words[0][0].islower() for cell in cells)
    return max(filling, lower) >= _PROSE_CELLS * len(cells)


def _table(rows: Sequence[_Row], columns: Sequence[tuple[float, float]]) -> Table:
    """The table; a line with one cell continues that cell of the row above."""
    made: list[list[Cell]] = []
    for row in rows:
        if len(row) > 1 or not made:
            made.append([[] for _ in columns])
        for cell in row:
            made[-1][_place(cell, columns)] += cell.texts
    return Table(made)
