"""What the charts have in common: colours, fonts, legend, the axis of sets, PNG. Called by `charts`.

Figures get a canvas of their own: pyplot is never loaded and the caller's settings stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from io import BytesIO
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
"""Okabe and Ito (2008), distinguishable with any colour vision; without their yellow, too pale on white."""
MARKERS: Final = ("o", "s", "D", "^", "v", "P", "X", "<", ">")
"""A number other than that of the colours, so that 63 profiles differ in one or the other."""
WIDTH: Final = 12.0
"""Inches."""


def style() -> AbstractContextManager[None]:
    """Settings while drawing; the caller's come back after. Names are text, even with `$` inside."""
    return mpl.rc_context(
        {
            "font.family": "DejaVu Sans",
            "font.size": 10,
            "text.usetex": False,
            "text.parse_math": False,
            "text.color": "#222222",
            "axes.edgecolor": "#888888",
            "axes.linewidth": 0.8,
            "axes.axisbelow": True,
            "axes.facecolor": "white",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "figure.facecolor": "white",
            "figure.dpi": 150,
            "grid.color": "#DDDDDD",
        }
    )


def look(position: int) -> tuple[str, str]:
    """Colour and marker of the profile at `position`: the same in every chart."""
    return COLOURS[position % len(COLOURS)], MARKERS[position % len(MARKERS)]


def png(chart: Figure) -> bytes:
    """The drawn chart as a file."""
    target = BytesIO()
    FigureCanvasAgg(chart).print_figure(target, format="png", dpi=chart.dpi)
    return target.getvalue()


def short(name: str, limit: int = 30) -> str:
    """A name that fits into a chart."""
    line = "".join(c if c.isprintable() else " " for c in name)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def legend(chart: Figure, handles: Sequence[Line2D | Patch], names: Sequence[str]) -> None:
    """A legend above all panels."""
    shown = [short(name, 60) for name in names]
    columns = max(1, min(len(shown), int(10 * WIDTH / (max(map(len, shown)) + 7))))
    blank = [" "] * len(shown)  # a legend refuses labels that start with an underscore: set below
    made = chart.legend(
        handles=handles, labels=blank, loc="outside upper center", ncols=columns, frameon=False
    )
    for text, name in zip(made.get_texts(), shown, strict=True):
        text.set_text(name)


def set_axis(axes: Axes, names: Sequence[str]) -> None:
    """Sets from top to bottom, every other one on a band."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set(visible=False)
    axes.grid(visible=True, axis="x")
    for band in range(0, len(names), 2):
        axes.axhspan(band - 0.5, band + 0.5, color="#F3F4F6", zorder=0)
