"""Writes a report: the JSON, and beside it Markdown, charts and a page. The commands of the lab call it.

Every file is whole or as it was before: written beside its place, then renamed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from helix_lab.report.charts import draw_charts
from helix_lab.report.figures import finite
from helix_lab.report.markdown import FOLDED, report_markdown
from helix_lab.report.page import render_page
from helix_shared.errors import InvalidInputError
from helix_shared.machine.whole_file import write_whole

CHARTS: Final = ("quality.png", "latency.png", "stages.png")


def check_report_name(out: Path | None) -> None:
    """Refuse the name of a report before there is anything to write.

    Raises:
        InvalidInputError: a file that is written beside it would overwrite it.
    """
    if out is not None and out.suffix in {".md", ".html"}:
        raise InvalidInputError("out", f"{out.name} is written beside the report; end its name in .json")


def write_report(report: Mapping[str, Any], out: Path) -> list[Path]:
    """Write `out` (JSON) and its neighbours; report.md, report.charts and report.html for report.json.

    Numbers that are none (NaN, infinity) are written as null. A chart of an earlier report that this
    one has no figures for is removed. Returns the files written, `out` first.

    Raises: as `check_report_name`.
    """
    check_report_name(out)
    report = finite(report)
    write_whole(out, (json.dumps(report, indent=2) + "\n").encode())
    folder = out.with_suffix(".charts")
    drawn = draw_charts(report)
    for name in CHARTS:
        if name not in drawn:
            (folder / name).unlink(missing_ok=True)
    links = {name: quote(f"{folder.name}/{name}") for name in drawn}
    markdown = report_markdown(report, charts=links)
    page = render_page(markdown, images={links[name]: drawn[name] for name in drawn}, folded=FOLDED)
    written = {
        out.with_suffix(".md"): markdown.encode(),
        **{folder / name: chart for name, chart in drawn.items()},
        out.with_suffix(".html"): page.encode(),
    }
    for path, content in written.items():
        write_whole(path, content)
    return [out, *written]
