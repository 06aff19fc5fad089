"""Where the texts and the lines of a PDF page stand, in points; y grows upwards.

pypdf tells a visitor the place of a text when it is flushed. A `cm` that changes nothing, put in front of
each text that was moved to a new place, flushes the text before, so every text is told with its own place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from pypdf import PageObject
from pypdf.generic import ContentStream, FloatObject

MOST_LINES: Final = 2_000
"""Lines of one page that are looked at; a page with more is a drawing."""

_UNCHANGED: Final = [FloatObject(value) for value in (1, 0, 0, 1, 0, 0)]
_MOVES: Final = frozenset({b"Td", b"TD", b"Tm", b"T*"})
_SHOWS: Final = frozenset({b"Tj", b"TJ", b"'", b'"'})
_PAINTS: Final = frozenset({b"S", b"s", b"f", b"F", b"f*", b"B", b"B*", b"b", b"b*"})
_THIN: Final = 3.0
"""A rectangle of at most this width is a line."""
_STRAIGHT: Final = 0.5
_CHARACTER: Final = 0.5
"""Width of a character in parts of the font size where the font does not tell."""

Matrix = Sequence[float]


@dataclass(frozen=True, slots=True)
class Text:
    """A text in the order of the content; `raw` is as pypdf writes it, with white space and ends of lines."""

    raw: str
    left: float
    right: float
    """Estimated."""
    y: float
    """Height of the base line."""
    size: float
    """Size of the font; 0: the text is turned, mirrored or empty, and belongs to no table."""

    @property
    def words(self) -> str:
        """The text in one line."""
        return " ".join(self.raw.split())


@dataclass(frozen=True, slots=True)
class Line:
    """A line, upright or level: `at` is its x or y, `start` to `end` where it goes."""

    at: float
    start: float
    end: float


@dataclass(slots=True)
class Placed:
    """Texts and lines of a page."""

    texts: list[Text] = field(default_factory=list)
    level: list[Line] = field(default_factory=list)
    upright: list[Line] = field(default_factory=list)


def placed(page: PageObject, content: ContentStream) -> Placed:
    """What stands on a page whose content is `content`, which is changed; no lines of a drawing."""
    content.operations = _flushing(content.operations)
    reading = _Reading()
    page.extract_text(visitor_operand_before=reading.see_operation, visitor_text=reading.see_text)
    found = reading.placed
    if len(found.level) + len(found.upright) > MOST_LINES:
        return Placed(found.texts)
    return found


def _flushing(operations: list[tuple[Any, bytes]]) -> list[tuple[Any, bytes]]:
    changed: list[tuple[Any, bytes]] = []
    is_moved = False
    for operands, operator in operations:
        if operator in _MOVES:
            is_moved = True
        elif operator in _SHOWS and is_moved:
            changed.append((_UNCHANGED, b"cm"))
            is_moved = False
        changed.append((operands, operator))
    return changed


class _Reading:
    """The visitors of one page."""

    def __init__(self) -> None:
        self.placed = Placed()
        self._path: list[tuple[float, float, float, float]] = []
        self._at = (0.0, 0.0)
        self._widths: dict[int, tuple[Any, float]] = {}
        """Fonts by identity, kept so that no other takes it."""

    def see_text(self, text: str, cm: Matrix, tm: Matrix, font: Any, size: float) -> None:
        """Keep a text with its place."""
        a, b, c, d, x, y = _product(tm, cm)
        is_upright = a > 0 and d > 0 and abs(b) + abs(c) < 0.01 * (a + d)
        shown = " ".join(text.split())
        points = size * d if is_upright and shown else 0.0
        right = x + len(shown) * self._width(font) * size * a if points else x
        self.placed.texts.append(Text(text, x, right, y, max(points, 0.0)))

    def see_operation(self, operator: bytes, operands: Any, cm: Matrix, tm: Matrix) -> None:
        """Keep the lines of paths that are painted; a path that only clips is none."""
        del tm
        if operator == b"re":
            self._add_rectangle([float(operand) for operand in operands[:4]], cm)
        elif operator == b"m":
            self._at = _point(operands, cm)
        elif operator == b"l":
            end = _point(operands, cm)
            self._path.append((*self._at, *end))
            self._at = end
        elif operator in _PAINTS:
            for segment in self._path:
                self._add_line(*segment)
            self._path = []
        elif operator == b"n":
            self._path = []

    def _add_rectangle(self, sides: list[float], cm: Matrix) -> None:
        x, y, width, height = sides
        left, bottom = _point((x, y), cm)
        right, top = _point((x + width, y + height), cm)
        if abs(top - bottom) <= _THIN:
            middle = (top + bottom) / 2
            self._path.append((left, middle, right, middle))
        elif abs(right - left) <= _THIN:
            middle = (left + right) / 2
            self._path.append((middle, bottom, middle, top))
        else:
            corners = ((left, bottom), (right, bottom), (right, top), (left, top), (left, bottom))
            self._path += [(*one, *other) for one, other in pairwise(corners)]

    def _add_line(self, x: float, y: float, other_x: float, other_y: float) -> None:
        if abs(y - other_y) <= _STRAIGHT < abs(x - other_x):
            self.placed.level.append(Line((y + other_y) / 2, min(x, other_x), max(x, other_x)))
        elif abs(x - other_x) <= _STRAIGHT < abs(y - other_y):
            self.placed.upright.append(Line((x + other_x) / 2, min(y, other_y), max(y, other_y)))

    def _width(self, font: Any) -> float:
        """Mean width of the characters of a font, in parts of its size."""
        if id(font) not in self._widths:
            self._widths[id(font)] = (font, _mean_width(font))
        return self._widths[id(font)][1]


def _mean_width(font: Any) -> float:
    try:
        widths = [float(width) for width in font["/Widths"].get_object() if float(width) > 0]
    except (AttributeError, KeyError, TypeError, ValueError):
        return _CHARACTER
    return min(1.0, sum(widths) / len(widths) / 1000) if widths else _CHARACTER


def _point(operands: Any, cm: Matrix) -> tuple[float, float]:
    x, y = float(operands[0]), float(operands[1])
    return x * cm[0] + y * cm[2] + cm[4], x * cm[1] + y * cm[3] + cm[5]


def _product(m: Matrix, n: Matrix) -> tuple[float, float, float, float, float, float]:
    """The text matrix `m`, then the matrix `n` of the page (PDF 32000-1, 8.3.4)."""
    return (
        m[0] * n[0] + m[1] * n[2],
        m[0] * n[1] + m[1] * n[3],
        m[2] * n[0] + m[3] * n[2],
        m[2] * n[1] + m[3] * n[3],
        m[4] * n[0] + m[5] * n[2] + n[4],
        m[4] * n[1] + m[5] * n[3] + n[5],
    )
