"""A chart for each outcome, as PNG in the look of the lab's other reports."""

from __future__ import annotations

from typing import Final

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from helix_lab.report.drawing import look, png, style
from helix_lab.simulation.scenarios import Outcome

SIZE: Final = (9.0, 4.5)
"""Inches."""
FEW: Final = 20
"""Up to so many points of a line get marks."""


def chart(outcome: Outcome) -> bytes:
    """The lines of an outcome."""
    with style():
        figure = Figure(figsize=SIZE, layout="constrained")
        axes = figure.add_subplot()
        for position, line in enumerate(outcome.lines):
            colour, mark = look(position)
            axes.plot(
                line.x, line.y, color=colour, marker=mark if len(line.x) <= FEW else "", label=line.name
            )
        heights = [value for line in outcome.lines for value in line.y]
        if max(heights) > 30 * min(heights):
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        else:
            axes.set_ylim(bottom=0)
        axes.set_title(outcome.title, loc="left")
        axes.set_xlabel(outcome.x_label)
        axes.set_ylabel(outcome.y_label)
        axes.grid(visible=True, axis="y")
        axes.legend(frameon=False)
        return png(figure)
