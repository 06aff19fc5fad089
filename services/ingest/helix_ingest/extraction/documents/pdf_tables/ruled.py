"""Tables that lines divide into cells.

Level and upright lines that meet belong to one grid. Its rows lie between the level lines, its columns
between the upright ones. A grid with few texts is a drawing, one with a single row or column a frame.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from helix_ingest.extraction.documents.pdf_tables.grid import Cell, Table
from helix_ingest.extraction.documents.pdf_tables.placed import Line, Placed, Text

MOST_MEETINGS: Final = 250_000
"""Pairs of a level and an upright line that are compared; a page with more has no ruled table."""
_NEAR: Final = 2.0
"""Points within which lines meet, and within which two lines are one."""
_FILLED: Final = 0.4
"""Part of the cells that must hold a text."""
_LEAST: Final = 2


def ruled_tables(page: Placed) -> list[Table]:
    """The tables of a page, in no order; a text stands in at most one."""
    texts = [text for text in page.texts if text.size]
    tables = []
    for level, upright in _grids(_joined(page.level), _joined(page.upright)):
        ys, xs = _places(level)[::-1], _places(upright)
        if len(xs) <= _LEAST or len(ys) <= _LEAST:
            continue
        inside = [text for text in texts if xs[0] <= text.left < xs[-1] and ys[-1] <= _middle(text) < ys[0]]
        if (table := _table(inside, xs, ys)) is not None:
            tables.append(table)
            taken = set(map(id, inside))
            texts = [text for text in texts if id(text) not in taken]
    return tables


def _table(texts: Sequence[Text], xs: list[float], ys: list[float]) -> Table | None:
    rows: list[list[Cell]] = [[[] for _ in xs[1:]] for _ in ys[1:]]
    upwards = ys[::-1]
    for text in texts:
        row = len(ys) - 1 - bisect_right(upwards, _middle(text))
        rows[row][bisect_right(xs, text.left) - 1].append(text)
    filled = [row for row in rows if any(row)]
    columns = [place for place in range(len(xs) - 1) if any(row[place] for row in filled)]
    cells = [[row[place] for place in columns] for row in filled]
    if len(cells) < _LEAST or len(columns) < _LEAST:
        return None
    held = sum(bool(cell) for row in cells for cell in row)
    return Table(cells) if held >= _FILLED * len(cells) * len(columns) else None


def _middle(text: Text) -> float:
    return text.y + text.size / 4


def _grids(level: list[Line], upright: list[Line]) -> Iterable[tuple[list[Line], list[Line]]]:
    """Lines that are connected by meeting each other."""
    if len(level) * len(upright) > MOST_MEETINGS:
        return []
    parent = list(range(len(level) + len(upright)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    for one, line in enumerate(level):
        for other, across in enumerate(upright, start=len(level)):
            meets = across.start - _NEAR <= line.at <= across.end + _NEAR
            if meets and line.start - _NEAR <= across.at <= line.end + _NEAR:
                parent[root(other)] = root(one)
    grids: dict[int, tuple[list[Line], list[Line]]] = defaultdict(lambda: ([], []))
    for place in range(len(parent)):
        is_upright = place >= len(level)
        grids[root(place)][is_upright].append(upright[place - len(level)] if is_upright else level[place])
    return [grid for grid in grids.values() if all(grid)]


def _joined(lines: Sequence[Line]) -> list[Line]:
    """Lines of which those that continue or cover each other are one."""
    joined: list[Line] = []
    for line in sorted(lines, key=lambda one: (round(one.at / _NEAR), one.start)):
        last = joined[-1] if joined else None
        if last is not None and abs(last.at - line.at) <= _NEAR and line.start <= last.end + _NEAR:
            joined[-1] = Line(last.at, last.start, max(last.end, line.end))
        else:
            joined.append(line)
    return joined


def _places(lines: Sequence[Line]) -> list[float]:
    """Where lines stand, ascending; two that are near each other are one."""
    places: list[float] = []
    for at in sorted(line.at for line in lines):
        if not places or at - places[-1] > _NEAR:
            places.append(at)
    return places
