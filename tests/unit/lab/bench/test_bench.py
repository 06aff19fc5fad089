"""Generated memories: repeatable, spread as real ones are, near real vectors; and the written report."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from rich.console import Console

from helix_lab.bench.command import SECTIONS, bench
from helix_lab.bench.generate.base_memories import CHAT, KINDS
from helix_lab.bench.generate.build_cache import built_folder
from helix_lab.bench.generate.entities import entities_of
from helix_lab.bench.generate.layout import TENANTS, lay_out, power_law
from helix_lab.bench.generate.variant_vectors import moved, noise_of
from helix_lab.bench.generate.variants import Material, Template, vary
from helix_lab.bench.report_files import growth, write_bench
from helix_lab.bench.table import over_floor, print_report
from helix_lab.sets.data import EvaluationSet
from helix_shared.errors import InvalidInputError
from helix_shared.naming import find_names

KIND_ROWS = np.repeat(np.arange(len(KINDS)), 50).astype(np.int8)


def _report(n: int, p95: float) -> dict[str, Any]:
    times = {"p50": p95 / 2, "p95": p95, "p99": p95 * 2}
    return {
        "n": n,
        "machine": {"cores": 2, "cpu": "one", "memory_bytes": 2**30, "system": "Linux"},
        "recall_ms": times,
        "stages_ms": {"embed": times, "retrieve": times},
        "own": {"recall_at_10": 0.9, "without_embedding_ms": times},
        "floor_ms": {
            "recall": {"p50": p95 / 2, "p95": p95},
            "floor": {"p50": p95 / 4, "p95": p95 / 2},
            "parallel": {"p50": p95 / 4, "p95": p95},
        },
    }


def test_the_same_seed_lays_out_the_same_memories() -> None:
    """Everything is drawn from the seed; another seed draws otherwise."""
    one, same, other = (lay_out(2_000, KIND_ROWS, seed=seed) for seed in (3, 3, 4))
    for name in one.__slots__:
        assert np.array_equal(getattr(one, name), getattr(same, name))
    assert not np.array_equal(one.base, other.base)


def test_the_largest_tenant_holds_about_half() -> None:
    """Shares of 40 tenants that fall with r^-1.7: .51 for the first, a third of that for the second."""
    shares = power_law(len(TENANTS), 1.7)
    assert shares[0] == pytest.approx(0.51, abs=0.01)
    assert shares[1] / shares[0] == pytest.approx(2**-1.7)
    tenants = np.bincount(lay_out(60_000, KIND_ROWS, seed=1).tenant, minlength=len(TENANTS))
    assert tenants[0] / tenants.sum() == pytest.approx(0.51, abs=0.05)
    assert tenants[0] > tenants[1] > tenants[5] > 0


def test_sessions_are_of_one_kind_and_in_order() -> None:
    """A session continues where its base texts continue, in one tenant, and forward in time."""
    layout = lay_out(3_000, KIND_ROWS, seed=1)
    assert len(layout) == 3_000
    within = np.diff(layout.session) == 0
    for name in ("tenant", "user", "kind", "private"):
        assert not np.diff(getattr(layout, name).astype(np.int64))[within].any()
    assert (np.diff(layout.position)[within] == 1).all()
    assert (np.diff(layout.occurred_at)[within] > 0).all()
    assert np.array_equal(KIND_ROWS[layout.base], layout.kind)


def test_kinds_without_texts_get_no_memories() -> None:
    """Where only turns were read, all memories are turns."""
    layout = lay_out(500, np.zeros(20, np.int8), seed=1)
    assert set(layout.kind.tolist()) == {KINDS.index(CHAT)}
    assert layout.base.max() < 20


def test_low_ranks_are_drawn_most() -> None:
    """Zipf: composed names come after the real ones, and together are drawn often too."""
    names = [(0, name) for name in find_names("Mira Lindqvist met Mira Lindqvist. Then came Tomas Becker.")]
    entities = entities_of(names, 100)
    drawn = [entities.drawn(0, "name", chance / 1_000) for chance in range(1_000)]
    assert drawn[0] == "Mira Lindqvist"
    assert len(set(drawn)) > 20
    assert drawn.count("Mira Lindqvist") > drawn.count("Tomas Becker") > 10
    assert entities.drawn(0, "date", 0.5) == ""


def _material() -> Material:
    text = "Mira Lindqvist moved 4711 tokens into the staging queue because the importer retries"
    names = find_names(text)
    surface = names[0].surface
    head = text.index(surface)
    pieces = [text[:head], surface, " moved ", "4711", " ", "tokens", " into ", "staging", text[-8:]]
    link = {"edge": "MENTIONS", "kind": "name", "name": names[0].name, "surface": surface, "weight": 1.0}
    template = Template(
        pieces, [(1, "name")], [3], [5, 7], 0, "", f"{surface} said so", [link], [f"what did {surface} move?"]
    )
    people = [(0, name) for name in find_names("Tomas Becker. Ines Duarte. Yusuf Kaya. Hanna Virtanen.")]
    return Material([template], entities_of(people, 1_000), [["cache", "shard"]])


def test_variants_are_repeatable_and_differ() -> None:
    """The same seed makes the same texts, every variant another one, with a hash of its own."""
    one, same = vary(_material(), [0] * 20, seed=5), vary(_material(), [0] * 20, seed=5)
    assert one == same
    assert len(set(one.texts)) == 20
    assert len(set(one.content_hashes)) == 20


def test_links_follow_the_names_that_were_exchanged() -> None:
    """A link names what its text names, and so do context and expansions."""
    varied = vary(_material(), [0] * 20, seed=5)
    rows = zip(varied.texts, varied.contexts, varied.expansions, varied.links, strict=True)
    for text, context, (expansion,), ((_, _, name, surface, _),) in rows:
        assert surface in text
        assert surface in context
        assert surface in expansion
        assert name == surface.lower()
    assert len({links[0][2] for links in varied.links}) > 3


def test_moved_vectors_lie_around_their_base() -> None:
    """Unit length, nearer to their own base than to others, nearer to their session than to others."""
    drawn = np.random.default_rng(1)
    base = drawn.standard_normal((60, 32)).astype(np.float32)
    base /= np.linalg.norm(base, axis=1, keepdims=True)
    rows, sessions = np.repeat(np.arange(60, dtype=np.int32), 20), np.tile(np.arange(20, dtype=np.int32), 60)
    made = moved(noise_of(base), rows, sessions, seed=2)
    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)
    assert (np.argmax(made @ base.T, axis=1) == rows).mean() > 0.9
    # noise of .75 beside 1: the cosine with the base is 1 / sqrt(1 + .75^2) = .8
    assert (made * base[rows]).sum(axis=1).mean() == pytest.approx(0.8, abs=0.04)
    assert np.array_equal(made, moved(noise_of(base), rows, sessions, seed=2))


def test_other_base_texts_are_other_data(
    make_set: Callable[..., EvaluationSet], tmp_path: Path, models_dir: Path
) -> None:
    """A set of the same name with another text is built again; the same one is not."""
    folders = []
    for turns in (8, 9, 8):
        make_set("cosqa", turns=turns, notes=1)
        folders.append(built_folder(tmp_path, models_dir, tmp_path / "sets", 100, seed=7))
    assert folders[0] == folders[2] != folders[1]


def test_recall_over_its_floor_is_a_ratio_of_one_run() -> None:
    """20 ms of p95 over a floor of 10, and over both engines at once of 20."""
    found = over_floor(_report(1_000, 20.0))
    assert found == {"floor_p50": 2.0, "floor_p95": 2.0, "parallel_p50": 2.0, "parallel_p95": 1.0}


@pytest.mark.long
def test_reports_of_several_sizes_make_one_page_with_growth(tmp_path: Path) -> None:
    """The page compares the sizes of its folder; growth needs both large ones."""
    write_bench(_report(100_000, 10.0), tmp_path / "100000.json")
    assert growth([_report(100_000, 10.0)]) is None
    written = write_bench(_report(1_000_000, 25.0), tmp_path / "1000000.json")
    assert {path.name for path in written} == {"1000000.json", "bench.md", "bench-stages.png"}
    page = (tmp_path / "bench.md").read_text()
    assert "Growth of p95 from 100,000 to 1,000,000 memories: 2.5" in page
    assert "| whole recall over gRPC | 5.0 / 10.0 | 12.5 / 25.0 |" in page


def test_a_section_measured_later_joins_the_report(tmp_path: Path) -> None:
    """`--only` adds to a report of the same size and leaves the rest; what failed before is forgotten."""
    out = tmp_path / "1000.json"
    write_bench(_report(1_000, 20.0) | {"failed": {"live": "gone"}}, out)
    write_bench({"n": 1_000, "machine": _report(1_000, 1.0)["machine"], "start_s": 1.5}, out)
    kept = json.loads(out.read_text())
    assert kept["start_s"] == 1.5
    assert kept["recall_ms"]["p95"] == 20.0
    assert kept["over_floor"]["floor_p95"] == 2.0
    assert "failed" not in kept


@pytest.mark.parametrize("content", ["", '{"n": 1000, "mach', "[1, 2]", "\xff"])
def test_a_file_that_is_no_report_is_passed_over(tmp_path: Path, content: str) -> None:
    """Half a file of a killed run, or somebody else's: a run of hours must not end with it."""
    (tmp_path / "other.json").write_text(content, encoding="latin-1")
    (tmp_path / "1000.json").write_text(content, encoding="latin-1")
    report = {name: value for name, value in _report(1_000, 20.0).items() if name != "stages_ms"}
    write_bench(report, tmp_path / "1000.json")
    assert json.loads((tmp_path / "1000.json").read_text())["recall_ms"]["p95"] == 20.0
    assert "## 1,000 memories" in (tmp_path / "bench.md").read_text()
    assert not list(tmp_path.glob(".*"))


def test_a_report_is_named_so_that_it_is_found(run_command: Callable[..., Result], tmp_path: Path) -> None:
    """The page has the reports that end in .json, and is called bench.md itself."""
    with pytest.raises(InvalidInputError, match=r"out: is bench\.md: end it in \.json"):
        run_command(bench, "--out", tmp_path / "bench.md")


def test_the_readme_names_every_section() -> None:
    """In the table of the lab's README."""
    readme = (Path(__file__).parents[4] / "ops" / "lab" / "README.md").read_text()
    rows = readme.partition("| section | figures | how |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", rows, re.MULTILINE)) == set(SECTIONS)


def test_skipped_peers_are_named_with_their_reason() -> None:
    """A peer without figures takes no row of times, and says why."""
    console = Console(record=True, width=160)
    peers = {"chroma": {"skipped": "gave no answers within 900 s"}, "skipped": "no environment"}
    print_report(_report(1_000, 20.0) | {"peers": peers}, console)
    shown = console.export_text()
    assert "peer chroma: skipped, gave no answers within 900 s" in shown
    assert "peer skipped: skipped, no environment" in shown
