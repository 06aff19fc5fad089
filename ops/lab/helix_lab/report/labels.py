"""Writes names beside the points of a chart so that they cover nothing. Called by `charts`.

Boxes and points are in pixels. Each name takes the nearest free place around its point; where all
are taken, the one that covers least.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

MARKER_PIXELS: Final = 11.0
"""Half the side of the square kept free around a marker."""
WHISKER_PIXELS: Final = 9.0
"""Half the height kept free along a whisker."""
RINGS: Final = (20.0, 34.0, 52.0, 74.0, 100.0, 130.0)
DIRECTIONS: Final = ((1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1), (0, -1), (-1, 0), (1, 0))
OUTSIDE: Final = 10.0
"""Cost of a pixel outside the frame, relative to one that covers something."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def area(self) -> float:
        """Square pixels; 0 of a rectangle turned inside out."""
        return max(0.0, self.right - self.left) * max(0.0, self.top - self.bottom)

    @property
    def centre(self) -> tuple[float, float]:
        """The middle."""
        return (self.left + self.right) / 2, (self.bottom + self.top) / 2

    def nearest(self, spot: tuple[float, float]) -> tuple[float, float]:
        """The point of the rectangle closest to `spot`."""
        x, y = spot
        return min(max(x, self.left), self.right), min(max(y, self.bottom), self.top)

    def common(self, other: Box) -> float:
        """Area both cover."""
        left, bottom = max(self.left, other.left), max(self.bottom, other.bottom)
        return Box(left, bottom, min(self.right, other.right), min(self.top, other.top)).area


@dataclass(frozen=True, slots=True)
class Place:
    """Where a name went; `ring` 0 is close enough to need no line to its point."""

    box: Box
    ring: int


def place(
    points: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    obstacles: Sequence[Box],
    frame: Box,
) -> list[Place]:
    """One place per point, for names of `sizes` (width, height), none over another."""
    taken = list(obstacles)
    places = []
    for point, size in zip(points, sizes, strict=True):
        best = min(_around(point, size), key=lambda found: _covered(found.box, taken, frame))
        places.append(best)
        taken.append(best.box)
    return places


def _around(point: tuple[float, float], size: tuple[float, float]) -> Iterator[Place]:
    (x, y), (width, height) = point, size
    for ring, gap in enumerate(RINGS):
        for right, up in DIRECTIONS:
            diagonal = 0.6 if right and up else 1.0
            centre_x = x + right * (gap * diagonal + width / 2)
            centre_y = y + up * (gap * diagonal + height / 2)
            box = Box(
                centre_x - width / 2, centre_y - height / 2, centre_x + width / 2, centre_y + height / 2
            )
            yield Place(box, ring)


def _covered(box: Box, taken: Sequence[Box], frame: Box) -> float:
    return sum(box.common(other) for other in taken) + OUTSIDE * (box.area - box.common(frame))


def name_points(
    chart: Figure, axes: Axes, names: Sequence[str], points: Sequence[tuple[float, float, float]]
) -> None:
    """Write each name near its point (x, y, end of its whisker); one further off gets a line to it.

    The layout is final afterwards: places are found in pixels.
    """
    texts = [axes.text(0, 0, name, ha="center", va="center", in_layout=False) for name in names]
    FigureCanvasAgg(chart)
    chart.draw_without_rendering()
    chart.set_layout_engine("none")
    boxes = [text.get_window_extent() for text in texts]
    spots = [_pixels(axes, x, y) for x, y, _ in points]
    ends = [_pixels(axes, end, y)[0] for _, y, end in points]
    frame = axes.get_window_extent()
    places = place(
        spots,
        [(box.width + 6, box.height + 4) for box in boxes],
        _obstacles(spots, ends),
        Box(frame.x0, frame.y0, frame.x1, frame.y1),
    )
    for text, found, spot in zip(texts, places, spots, strict=True):
        text.set_position(_data(axes, found.box.centre))
        if found.ring:
            (x, y), (to_x, to_y) = _data(axes, spot), _data(axes, found.box.nearest(spot))
            axes.plot([x, to_x], [y, to_y], color="#999999", linewidth=0.8, zorder=1)


def _obstacles(spots: Sequence[tuple[float, float]], ends: Sequence[float]) -> list[Box]:
    side, half = MARKER_PIXELS, WHISKER_PIXELS
    markers = [Box(x - side, y - side, x + side, y + side) for x, y in spots]
    return markers + [Box(x, y - half, end + 3, y + half) for (x, y), end in zip(spots, ends, strict=True)]


def _pixels(axes: Axes, x: float, y: float) -> tuple[float, float]:
    across, up = axes.transData.transform((x, y))
    return float(across), float(up)


def _data(axes: Axes, spot: tuple[float, float]) -> tuple[float, float]:
    x, y = axes.transData.inverted().transform(spot)
    return float(x), float(y)
