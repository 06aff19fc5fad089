"""The report on disk: its JSON, and a Markdown page with a chart over all sizes in its folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure

from helix_lab.bench.reading.vector_indices import index_page
from helix_lab.bench.table import over_floor, plain_lines, ratios, time_rows
from helix_lab.report.charts import REST_COLOUR, STAGE_COLOURS
from helix_lab.report.drawing import WIDTH, png, style
from helix_shared.machine.whole_file import write_whole

PAGE: Final = "bench.md"
CHART: Final = "bench-stages.png"
SHOWN_STAGES: Final = len(STAGE_COLOURS)


def write_bench(report: Mapping[str, Any], out: Path) -> list[Path]:
    """Write `report` to `out`, and the page of all reports in that folder; returns the files written.

    Sections that an earlier report of the same size has and this one lacks are kept.
    """
    earlier = _read(out)
    whole = (earlier if earlier.get("n") == report["n"] else {}) | dict(report)
    if "reference_ms" in earlier and earlier.get("n") == report["n"]:
        whole["reference_ms"] = earlier["reference_ms"] | report.get("reference_ms", {})
    if "failed" not in report:
        whole.pop("failed", None)
    if found := over_floor(whole):
        whole["over_floor"] = found
    write_whole(out, (json.dumps(whole, indent=2) + "\n").encode())
    reports = _reports(out.parent)
    written = [out, out.parent / PAGE]
    if any("stages_ms" in found for found in reports):
        with style():
            write_whole(out.parent / CHART, png(_chart(reports)))
        written.append(out.parent / CHART)
    write_whole(out.parent / PAGE, ("\n".join(_page(reports)) + "\n").encode())
    return written


def growth(reports: Sequence[Mapping[str, Any]]) -> float | None:
    """p95 at a million over p95 at a hundred thousand; None unless both were measured."""
    p95 = {found["n"]: found["recall_ms"]["p95"] for found in reports if "recall_ms" in found}
    return round(p95[1_000_000] / p95[100_000], 2) if {100_000, 1_000_000} <= set(p95) else None


def _reports(folder: Path) -> list[dict[str, Any]]:
    """The reports of a folder, smallest size first; other files are ignored."""
    found = filter(None, map(_read, folder.glob("*.json")))
    return sorted(found, key=lambda report: int(report["n"]))


def _read(path: Path) -> dict[str, Any]:
    """The report of a file; empty where there is none."""
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return read if isinstance(read, dict) and {"n", "machine"} <= read.keys() else {}


def _page(reports: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "# Recall at size"
    yield ""
    machine = reports[-1]["machine"]
    memory = f"{machine['memory_bytes'] / 2**30:.0f} GiB"
    yield f"{machine['cores']} cores of {machine['cpu']}, {memory}, {machine['system']}"
    if any("stages_ms" in found for found in reports):
        yield f"\n![stages]({CHART})"
    names = list(dict.fromkeys(name for found in reports for name, _ in time_rows(found)))
    if names:
        yield from _times(reports, names)
    ratio = growth(reports)
    if ratio is not None:
        yield f"\nGrowth of p95 from 100,000 to 1,000,000 memories: {ratio}"
    for found in reports:
        yield f"\n## {found['n']:,} memories\n"
        yield from index_page(found)
        yield from (f"- {line}" for line in (*ratios(found), *plain_lines(found)))


def _times(reports: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Iterator[str]:
    """A row of p50 and p95 for each name, a column for each report."""
    yield "\n| p50 / p95 ms | " + " | ".join(f"{found['n']:,}" for found in reports) + " |"
    yield "|---|" + "---:|" * len(reports)
    rows = [dict(time_rows(found)) for found in reports]
    for name in names:
        cells = (f"{row[name]['p50']} / {row[name]['p95']}" if name in row else "-" for row in rows)
        yield f"| {name.strip()} | " + " | ".join(cells) + " |"


def _chart(reports: Sequence[Mapping[str, Any]]) -> Figure:
    """p50 and p95 of each stage over the sizes, side by side; the whole recall above them."""
    timed = [found for found in reports if "stages_ms" in found]
    names = list(dict.fromkeys(name for found in timed for name in found["stages_ms"]))
    sizes = [found["n"] for found in timed]
    chart = Figure(figsize=(WIDTH, 4.6), layout="constrained")
    panels = chart.subplots(1, 2, sharey=True)
    for axes, mark in zip(panels, ("p50", "p95"), strict=True):
        for position, name in enumerate(names):
            colour = STAGE_COLOURS[position] if position < SHOWN_STAGES else REST_COLOUR
            times = [found["stages_ms"].get(name, {}).get(mark, float("nan")) for found in timed]
            axes.plot(sizes, times, marker="o", color=colour, label=name)
        whole = [found["recall_ms"][mark] for found in timed]
        axes.plot(sizes, whole, marker="s", color="black", linewidth=2, label="whole recall")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.grid(visible=True)
        axes.set_xlabel(f"memories ({mark})")
    panels[0].set_ylabel("milliseconds")
    panels[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return chart
