"""The report shows what the JSON holds, in forms a person can read and no name can break."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from helix_lab.report.page import render_page
from helix_lab.report.tables import escaped
from helix_lab.report.write import write_report

from .reports import Page, against, cells, figures, full, rendered, times

NASTY = "a|b<script>alert(1)</script>"
INSIDE = "data:image/png;base64,iVBOR"


def numbers(value: Any, key: str = "") -> Iterator[tuple[str, float]]:
    """Every number below `value` with the path of its key."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from numbers(item, f"{key}/{name}")
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item, key)
    elif value is not None and not isinstance(value, str):
        yield key, value


def worded(path: str, value: float) -> str:
    """A figure in the form the Markdown has it."""
    if "_ms/" in path:
        return f"{value:.2f}"
    if "/against/" in path:
        return f"{value:.4f}" if path.endswith("/p") else f"{value:+.1f}"
    if path.endswith("AUROC"):
        return f"{value:.3f}"
    return str(value)


def assert_tables_are_whole(markdown: str) -> None:
    """Every line of a table has as many cells as its head."""
    tables = [block.splitlines() for block in markdown.split("\n\n") if block.startswith("| ")]
    assert tables
    for lines in tables:
        assert len({len(cells(line)) for line in lines}) == 1, lines


def test_report_writes_json_markdown_charts_and_page_beside_each_other(tmp_path: Path) -> None:
    """The files named in the answer exist, nothing else stays, the JSON comes back as given."""
    _, _, paths = rendered(full(), tmp_path)
    names = [path.relative_to(tmp_path).as_posix() for path in paths]
    charts = [f"report.charts/{name}.png" for name in ("quality", "latency", "stages")]
    assert names == ["report.json", "report.md", *charts, "report.html"]
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(paths)
    assert json.loads(paths[0].read_text("utf-8")) == full()


def test_charts_are_real_pictures_of_a_readable_size(tmp_path: Path) -> None:
    """Each chart is a PNG, wide enough to read, with something drawn on it."""
    _, _, paths = rendered(full(), tmp_path)
    charts = [path for path in paths if path.suffix == ".png"]
    assert len(charts) == 3
    for chart in charts:
        assert chart.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        with Image.open(chart) as picture:
            assert picture.width >= 1200
            assert picture.height >= 250
            assert len(picture.convert("RGB").getcolors(1 << 24) or []) > 20


def test_every_figure_of_the_json_is_in_the_markdown(tmp_path: Path) -> None:
    """Nothing measured is left out of the tables."""
    markdown, _, _ = rendered(full(), tmp_path)
    found = list(numbers(full()))
    assert len(found) > 150
    assert [(path, value) for path, value in found if worded(path, value) not in markdown] == []
    assert "60.7 [58.4, 62.8]" in markdown
    assert "| versions.numpy | 2.3.4 |" in markdown
    assert_tables_are_whole(markdown)


def test_figures_of_an_unknown_name_are_shown_too(tmp_path: Path) -> None:
    """A report may hold fields that this form does not have."""
    report = {"sets": {"s": {"p": figures(40.0, indexing={"seconds": 17.25})}}, "meta": {}}
    markdown, _, _ = rendered(report, tmp_path)
    assert "indexing.seconds" in markdown
    assert "17.25" in markdown


def test_names_can_neither_break_a_table_nor_reach_the_page_as_html(tmp_path: Path) -> None:
    """Set, profile, category, stage, metric and meta names are escaped as text."""
    nasty = figures(
        40.0,
        categories={NASTY: {"queries": 1, "R@10": 1.0}, "![x](http://e)": {"queries": 1, "R@10": 2.0}},
        stages_ms={NASTY: times(1.0)},
        against=against(NASTY, 1.0, 0.5, 1.5),
        **{f"{NASTY}@1": 3.0, NASTY: 4.0, "sessions": {"queries": 1, f"{NASTY}@2": 5.0}},
    )
    report = {"sets": {NASTY: {NASTY: nasty, "$x_^2$ _p_\n# h": figures(41.0)}}, "meta": {NASTY: NASTY}}
    markdown, page, _ = rendered(report, tmp_path)
    assert_tables_are_whole(markdown)
    assert "<" not in markdown.replace("\\<", "")
    assert not page.tags() & {"script", "a|b", "iframe", "object", "em"}
    assert all(source.startswith(INSIDE) for source in page.sources())
    assert len(page.tables) > 10
    assert all(len(set(rows)) == 1 for rows in page.tables)


def test_escaped_names_read_as_they_are() -> None:
    """Only marks that Markdown would read are escaped; a name stays on one line."""
    assert escaped("longmemeval_mini") == "longmemeval_mini"
    assert escaped("lancedb-hybrid-rrf") == "lancedb-hybrid-rrf"
    assert escaped("a|b<c>") == "a\\|b\\<c\\>"
    assert escaped("_x_ \\|\n`y`") == "\\_x\\_ \\\\\\| \\`y\\`"
    assert escaped("") == "(no name)"


def test_page_needs_nothing_else_and_folds_its_detail(tmp_path: Path) -> None:
    """Charts are inside, nothing is loaded, links lead to sections, long sections are closed."""
    _, page, _ = rendered(full(), tmp_path)
    assert len(page.sources()) == 3
    assert all(source.startswith(INSIDE) for source in page.sources())
    assert all(attrs["alt"] for tag, attrs in page.seen if tag == "img")
    ids = {attrs["id"] for _, attrs in page.seen if "id" in attrs}
    links = [attrs["href"] or "" for tag, attrs in page.seen if tag == "a"]
    assert len(links) > 5
    assert {link.removeprefix("#") for link in links} == ids
    assert [attrs for tag, attrs in page.seen if tag == "details"] == [{}] * 3
    assert "link" not in page.tags()


def test_page_takes_html_and_foreign_pictures_in_markdown_as_text_and_nothing() -> None:
    """The second wall: a name that got through unescaped runs and loads nothing."""
    text = "# x\n\n<script>alert(1)</script>\n\n<b>b</b> ![p](http://127.0.0.1/p.png)\n"
    page = Page(render_page(text, images={}, folded=()))
    assert not page.tags() & {"script", "b"}
    assert page.sources() == ["data:image/png;base64,"]


def test_charts_are_found_beside_a_report_of_any_name(tmp_path: Path) -> None:
    """A link in the Markdown and the picture in the page survive spaces, brackets and umlauts."""
    out = tmp_path / "my (report) ü [1].json"
    paths = write_report(full(), out)
    page = Page(paths[-1].read_text("utf-8"))
    assert len(page.sources()) == 3
    assert all(source.startswith(INSIDE) for source in page.sources())
