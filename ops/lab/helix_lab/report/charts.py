"""The charts of a report as PNG: quality with intervals, latency against quality, stage times.

`write` stores them, `markdown` links them; `drawing` has what they share, `labels` puts names beside
points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from helix_lab.report.drawing import WIDTH, legend, look, png, set_axis, short, style
from helix_lab.report.figures import (
    Figures,
    Report,
    figure,
    headline_of,
    interval,
    mean_over,
    part,
    profiles_of,
    questions_of,
    sets_of,
    shared_sets,
    stages_of,
)
from helix_lab.report.labels import name_points

STAGE_COLOURS: Final = (
    *("#332288", "#88CCEE", "#44AA99", "#117733", "#999933"),
    *("#DDCC77", "#CC6677", "#882255", "#AA4499"),
)
"""Paul Tol's muted scheme: neighbours in a stack differ with any colour vision."""
REST_COLOUR: Final = "#BBBBBB"
SMALL: Final = 0.02
"""A stage below this share of the time on every set is drawn with the rest."""
LOG_FROM: Final = 12.0
"""Times that differ by more than this factor get a logarithmic axis."""


def draw_charts(report: Report) -> dict[str, bytes]:
    """PNG files by name; a chart without anything to show is left out."""
    with style():
        drawn = {
            "quality.png": _quality(report),
            "latency.png": _latency(report),
            "stages.png": _stages(report),
        }
        return {name: png(chart) for name, chart in drawn.items() if chart is not None}


def _quality(report: Report) -> Figure | None:
    """Sets by headline metrics: a point per profile, its 95 % interval as a line."""
    metrics, profiles, sets = headline_of(report), profiles_of(report), sets_of(report)
    if not metrics:
        return None
    height = 1.3 + len(sets) * max(0.42, 0.14 * len(profiles) + 0.1)
    chart = Figure(figsize=(WIDTH, height), layout="constrained")
    panels = chart.subplots(1, len(metrics), sharex=True, sharey=True, squeeze=False)[0]
    for axes, metric in zip(panels, metrics, strict=True):
        set_axis(axes, [_with_size(name, found) for name, found in sets.items()])
        axes.set_xlabel(f"{short(metric)}, percent, 95 % interval")
        for position, profile in enumerate(profiles):
            shift = 0.8 * ((position + 0.5) / len(profiles) - 0.5)
            for row, found in enumerate(sets.values()):
                _point(axes, part(found, profile), metric, position=position, height=row + shift)
    legend(chart, [_handle(position) for position in range(len(profiles))], profiles)
    return chart


def _with_size(name: str, profiles: Mapping[str, Figures]) -> str:
    size = questions_of(profiles)
    return short(name) if size is None else f"{short(name)} ({size:,.0f})"


def _handle(position: int) -> Line2D:
    colour, marker = look(position)
    return Line2D([], [], color=colour, marker=marker, markersize=6, linewidth=1.6)


def _point(axes: Axes, figures: Figures, metric: str, *, position: int, height: float) -> None:
    colour, marker = look(position)
    value, bounds = figure(figures, metric), interval(figures, metric)
    if value is None:
        return
    if bounds is not None:
        axes.plot(bounds, [height, height], color=colour, linewidth=1.6, solid_capstyle="butt")
    axes.plot(value, height, marker=marker, color=colour, markersize=5, linestyle="none")


def _latency(report: Report) -> Figure | None:
    """One marker per profile, over the sets on which all profiles have both figures."""
    for metric in headline_of(report):
        if shared := shared_sets(report, (metric,), ("recall_ms", "p50"), ("recall_ms", "p95")):
            return _latency_over(report, shared, metric)
    return None


def _latency_over(report: Report, shared: Sequence[str], metric: str) -> Figure:
    """Mean p50 against mean quality, whisker to the mean p95."""
    profiles = profiles_of(report)
    points = [
        (
            mean_over(report, shared, name, "recall_ms", "p50"),
            mean_over(report, shared, name, metric),
            mean_over(report, shared, name, "recall_ms", "p95"),
        )
        for name in profiles
    ]
    chart = Figure(figsize=(9.0, 5.4), layout="constrained")
    axes = chart.subplots()
    for position, (x, y, slow) in enumerate(points):
        colour, marker = look(position)
        axes.plot([x, slow], [y, y], color=colour, linewidth=1.6, marker="|", markevery=[1], markersize=9)
        axes.plot(x, y, color=colour, marker=marker, markersize=9, linestyle="none", zorder=3)
    axes.grid(visible=True)
    _time_axis(axes, min(x for x, _, _ in points), max(slow for _, _, slow in points))
    _quality_axis(axes, [y for _, y, _ in points])
    where = f"mean over {len(shared)} sets" if len(shared) > 1 else short(shared[0])
    axes.set_xlabel(f"recall p50 with whisker to p95, ms ({where}; left is faster)")
    axes.set_ylabel(f"{short(metric)}, percent ({where}; up is better)")
    name_points(chart, axes, [short(name) for name in profiles], points)
    return chart


def _time_axis(axes: Axes, low: float, high: float) -> None:
    if low > 0 and high / low > LOG_FROM:
        axes.set_xscale("log")
        axes.set_xlim(low / 1.8, high * 1.8)
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.set_xlim(0, (high or 1.0) * 1.15)


def _quality_axis(axes: Axes, values: Sequence[float]) -> None:
    room = max(2.0, 0.25 * (max(values) - min(values)))
    axes.set_ylim(min(values) - room, max(values) + room)


def _stages(report: Report) -> Figure | None:
    """p50 of each stage, stacked per set, of the first profile that has them; a tick at the recall's p50."""
    sets = sets_of(report)
    told = [name for name in profiles_of(report) if stages_of(part(found, name) for found in sets.values())]
    if not told:
        return None
    figures = {
        name: part(found, told[0]) for name, found in sets.items() if part(found, told[0], "stages_ms")
    }
    stacks = _stacks(list(figures.values()))
    chart = Figure(figsize=(WIDTH, 1.4 + 0.42 * len(figures)), layout="constrained")
    axes = chart.subplots()
    set_axis(axes, [short(name) for name in figures])
    ends = [0.0] * len(figures)
    colours = _stage_colours(list(stacks))
    for times, colour in zip(stacks.values(), colours, strict=True):
        axes.barh(range(len(ends)), times, 0.62, left=ends, color=colour, edgecolor="white", linewidth=0.4)
        ends = [end + time for end, time in zip(ends, times, strict=True)]
    _totals(axes, list(figures.values()), ends)
    axes.set_xlabel(
        f"profile {short(told[0])}: p50 of each stage, ms; black tick and number: p50 of the recall"
    )
    legend(chart, [Patch(color=colour) for colour in colours], list(stacks))
    return chart


def _stacks(found: Sequence[Figures]) -> dict[str, list[float]]:
    """Times of each stage by set; stages that are small everywhere summed up as the last."""
    times = {
        name: [figure(figures, "stages_ms", name, "p50") or 0.0 for figures in found]
        for name in stages_of(found)
    }
    totals = [sum(column) or 1.0 for column in zip(*times.values(), strict=True)]
    small = [
        name for name, row in times.items() if all(t < SMALL * s for t, s in zip(row, totals, strict=True))
    ]
    if len(small) < 2:  # noqa: PLR2004 - one alone keeps its name
        return times
    rest = [sum(column) for column in zip(*(times[name] for name in small), strict=True)]
    return {name: row for name, row in times.items() if name not in small} | {", ".join(small): rest}


def _stage_colours(names: Sequence[str]) -> list[str]:
    colours = [STAGE_COLOURS[position % len(STAGE_COLOURS)] for position in range(len(names))]
    return [REST_COLOUR if ", " in name else colour for name, colour in zip(names, colours, strict=True)]


def _totals(axes: Axes, found: Sequence[Figures], ends: Sequence[float]) -> None:
    totals = [figure(figures, "recall_ms", "p50") for figures in found]
    furthest = max([*ends, *(total or 0.0 for total in totals)]) or 1.0
    for row, (total, end) in enumerate(zip(totals, ends, strict=True)):
        if total is not None:
            axes.plot([total, total], [row - 0.4, row + 0.4], color="black", linewidth=1.8)
            axes.text(max(total, end) + 0.012 * furthest, row, f"{total:.1f}", va="center")
    axes.set_xlim(0, furthest * 1.1)
