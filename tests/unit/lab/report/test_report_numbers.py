import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib import rcParams

from helix_lab.report.figures import best_of, shared_sets
from helix_lab.report.labels import Box, place
from helix_lab.report.markdown import report_markdown
from helix_lab.report.summary import summary
from helix_lab.report.tables import difference, with_interval
from helix_lab.report.write import write_report
from helix_shared.errors import InvalidInputError

from .reports import cells, figures, full, rendered


@pytest.mark.parametrize("emptied", ["recall_ms", "stages_ms", "intervals", "packed", "R@10", "all"])
def test_what_was_not_measured_is_left_out_or_marked(tmp_path: Path, emptied: str) -> None:
    """Null in any place gives a report all the same."""
    report = full()
    for profiles in report["sets"].values():
        for name in profiles:
            profiles[name] = None if emptied == "all" else profiles[name] | {emptied: None}
    markdown, _, paths = rendered(report, tmp_path)
    drawn = {path.stem for path in paths if path.suffix == ".png"}
    expected = {"recall_ms": {"quality", "stages"}, "stages_ms": {"quality", "latency"}, "all": set()}
    assert drawn == expected.get(emptied, {"quality", "latency", "stages"})
    assert re.search(r"\b(None|nan)\b", markdown) is None


def test_profiles_without_stages_or_packing_stand_beside_those_with(tmp_path: Path) -> None:
    """Peers report less: what is missing is marked, what all report is compared."""
    bare = {"stages_ms": {}, "packed": None, "skipped": None, "intervals": {}, "categories": {}}
    report = full()
    for profiles in report["sets"].values():
        profiles["lancedb-hybrid-rrf"] = figures(45.6, **bare)
    del report["sets"]["beam100k"]["lancedb-hybrid-rrf"]
    markdown, _, paths = rendered(report, tmp_path)
    row = next(line for line in markdown.splitlines() if line.startswith("| beam100k | **53.5"))
    assert cells(row)[-1].strip() == "-"
    assert "lancedb-hybrid-rrf: p50 4.6 ms" in markdown
    assert shared_sets(report, ("R@10",)) == ["locomo"]
    assert len(paths) == 6


def test_skipped_questions_are_reported_if_there_are_any(tmp_path: Path) -> None:
    """A table of zeros is left out; one skipped question adds it."""
    report = full()
    assert "router skipped" not in rendered(report, tmp_path)[0]
    report["sets"]["locomo"]["helix"]["skipped"] = 7
    markdown, _, _ = rendered(report, tmp_path)
    assert "router skipped" in markdown
    assert "| locomo | 0 | 7 |" in markdown


def test_one_set_and_one_profile_make_a_report(tmp_path: Path) -> None:
    """Nothing to compare: no comparison, no bold winner."""
    markdown, _, paths = rendered({"sets": {"mine": {"helix": figures(40.0)}}, "meta": {}}, tmp_path)
    assert "1 set, 1 profile (helix), 997 answerable questions." in markdown
    assert "- **R@10**: helix 42.2." in markdown
    assert "**42.2" not in markdown
    assert "Differences" not in markdown
    assert len(paths) == 6


def test_report_without_sets_says_so(tmp_path: Path) -> None:
    """An empty run is reported as one."""
    markdown, _, paths = rendered({"sets": {}, "meta": {}}, tmp_path)
    assert "0 sets, 0 profiles (none), 0 answerable questions." in markdown
    assert len(paths) == 3


def test_summary_calls_a_difference_certain_only_when_its_interval_excludes_0() -> None:
    """+30.3 [27.9, 32.6] is certain; -1.1 [-3.2, 0.9] is not."""
    text = "\n".join(summary(full()))
    assert "- **helix** against dense, R@10:" in text
    assert "    - better on 1: locomo +30.3 [+27.9, +32.6]" in text
    assert "    - no certain difference on 1: beam100k" in text
    assert "worse on" not in text
    assert "**+30.3 [+27.9, +32.6], p 0.0123**" in report_markdown(full(), charts={})
    assert "| -1.1 [-3.2, +0.9], p 0.0123 |" in report_markdown(full(), charts={})


def test_summary_counts_sets_and_averages_them_by_hand() -> None:
    """dense: (32.6 + 53.5) / 2 = 43.05; helix: (62.9 + 52.4) / 2 = 57.65."""
    line = next(line for line in "\n".join(summary(full())).splitlines() if "**R@10**:" in line)
    assert line.startswith("- **R@10**: highest is helix on 1 of 2 sets, dense on 1; mean over 2 sets ")
    means = re.findall(r"(dense|helix) (\d+\.\d)", line.split(";")[1])
    assert [name for name, _ in means] == ["helix", "dense"]
    assert [float(value) for _, value in means] == pytest.approx([57.65, 43.05], abs=0.051)


def test_ties_are_won_by_all_and_lower_can_be_better() -> None:
    """Best is the highest value, or the lowest; equals share it; null never wins."""
    row = {"a": {"x@1": 5.0}, "b": {"x@1": 5.0}, "c": {"x@1": 7.0}, "d": {"x@1": None}}
    assert best_of(row, "x@1") == ["c"]
    assert best_of(row, "x@1", lowest=True) == ["a", "b"]
    assert best_of({"d": {"x@1": None}}, "x@1") == []


def test_cells_have_one_form() -> None:
    """`76.7 [74.5, 78.9]`; without an interval the value alone; without a value the mark."""
    assert with_interval({"R@10": 76.7, "intervals": {"R@10": [74.5, 78.9]}}, "R@10") == "76.7 [74.5, 78.9]"
    assert with_interval({"R@10": 76.7, "intervals": None}, "R@10") == "76.7"
    assert with_interval({"R@10": None}, "R@10") == "-"
    assert difference({"against": {}}, "R@10") == "-"


def test_numbers_that_are_none_become_null(tmp_path: Path) -> None:
    """JSON has neither NaN nor infinity, and a report of hours is not lost for one of them."""
    broken = figures(40.0, **{"R@10": float("nan"), "packed": {"tokens": float("inf"), "evidence": 1.0}})
    rendered({"sets": {"s": {"p": broken}}, "meta": {}}, tmp_path)
    text = (tmp_path / "report.json").read_text("utf-8")
    read = json.loads(text, parse_constant=pytest.fail)
    assert read["sets"]["s"]["p"]["R@10"] is None
    assert read["sets"]["s"]["p"]["packed"]["tokens"] is None


def test_second_report_replaces_the_first_and_its_charts(tmp_path: Path) -> None:
    """A chart of an earlier run is removed when it has no figures."""
    rendered(full(), tmp_path)
    report = {"sets": {"s": {"p": figures(40.0, stages_ms={})}}, "meta": {}}
    markdown, _, _ = rendered(report, tmp_path)
    assert not (tmp_path / "report.charts" / "stages.png").exists()
    assert "stages.png" not in markdown


@pytest.mark.parametrize("name", ["report.md", "report.html"])
def test_out_that_its_neighbour_would_overwrite_is_refused(tmp_path: Path, name: str) -> None:
    """The JSON is not lost to the Markdown."""
    with pytest.raises(InvalidInputError, match=re.escape(name)):
        write_report(full(), tmp_path / name)


def test_drawing_leaves_matplotlib_as_it_was(tmp_path: Path) -> None:
    """Neither import nor drawing touches the caller's settings or loads pyplot."""
    before = dict(rcParams)
    rendered(full(), tmp_path)
    assert dict(rcParams) == before
    code = "import sys, helix_lab.report.write; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_names_in_a_chart_cover_neither_each_other_nor_the_markers() -> None:
    """Eight points on one spot: eight places, all apart, all in the frame."""
    frame = Box(0, 0, 800, 600)
    marker = Box(389, 289, 411, 311)
    found = [spot.box for spot in place([(400.0, 300.0)] * 8, [(90.0, 16.0)] * 8, [marker], frame)]
    assert all(box.common(frame) == pytest.approx(90 * 16) for box in found)
    assert all(box.common(marker) == 0 for box in found)
    assert all(a.common(b) == 0 for n, a in enumerate(found) for b in found[:n])


def test_the_name_of_a_lone_point_is_above_and_to_the_right() -> None:
    """Ring 0, diagonal: 20 x 0.6 = 12 pixels off the point to the near corner."""
    (found,) = place([(100.0, 100.0)], [(40.0, 10.0)], [], Box(0, 0, 500, 500))
    assert (found.box, found.ring) == (Box(112, 112, 152, 122), 0)
