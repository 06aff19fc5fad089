"""The pages of the documentation and what they include, without MkDocs and without a running Helix."""

import re
from pathlib import Path

import pytest

from helix_docs import pages, rendered_links, sources
from helix_docs.generated import GENERATORS, generate
from helix_docs.programs import Program, programs
from helix_docs.sources import GoneError, Include

OF_THE_PRODUCT = {"proto", "events", "event-kinds", "rest", "cli", "limits"}
"""Generated parts that import more than the standard library; `make docs` makes them."""


def _generate(name: str, of: str) -> str:
    return "" if name in OF_THE_PRODUCT & GENERATORS.keys() else generate(name, of)


@pytest.fixture(scope="module")
def site() -> list[pages.Page]:
    """The pages, without the parts that the product generates."""
    return pages.read_pages(_generate)


def test_every_page_has_what_it_includes_and_links_to(site: list[pages.Page]) -> None:
    """A renamed heading, a moved file or a lost mark fails here, not in front of a reader."""
    included = {include.path for page in site for include in page.includes}
    assert {"README.md", "ops/runbook.md", "ops/architecture.md", "CHANGELOG.md"} <= included
    assert all(page.lines for page in site)


def test_every_page_is_in_the_navigation() -> None:
    """A page that nobody can reach does not exist."""
    written = {
        path.relative_to(pages.ROOT / pages.PAGES).as_posix()
        for path in (pages.ROOT / pages.PAGES).rglob("*.md")
    }
    assert set(pages.order()) == written


def test_every_section_of_the_runbook_is_in_a_page(site: list[pages.Page]) -> None:
    """A section added to the runbook gets a place in the site."""
    lines = (pages.ROOT / "ops/runbook.md").read_text(encoding="utf-8").splitlines()
    sections = {anchor for _, level, anchor in sources.headings(lines) if level == 2}
    shown = {include.anchor for page in site for include in page.includes if include.path == "ops/runbook.md"}
    assert shown == sections


def test_every_ranking_profile_has_a_page(site: list[pages.Page]) -> None:
    """A ranking profile added to the query service gets a page."""
    folder = pages.ROOT / "services/query/helix_query/profile"
    names = {path.stem for path in [*folder.glob("*.toml"), *folder.glob("recipes/*.toml")]}
    assert {f"profiles/{name}.md" for name in names} <= {page.name for page in site}


@pytest.mark.parametrize(
    ("include", "reason"),
    [
        (Include("README.md", "#no-such-section"), "no section"),
        (Include("README.md", "@no such mark"), "no mark"),
        (Include("no/such/file.md"), "does not exist"),
    ],
)
def test_an_include_of_something_that_is_gone_is_refused(include: Include, reason: str) -> None:
    """The control: the checks above can fail."""
    with pytest.raises(GoneError, match=reason):
        include.lines()


@pytest.mark.parametrize("path", ["ops/gone.md", "ops/runbook.md#gone"])
def test_a_link_to_something_that_is_gone_is_refused(path: str) -> None:
    """Neither a file nor a section of it."""
    name, _, anchor = path.partition("#")
    with pytest.raises(GoneError, match=re.escape(path)):
        pages.Places([]).find(name, anchor)


def test_a_section_is_included_up_to_the_next_of_its_level(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Headings in code are no headings, and levels follow the page."""
    text = "# T\n\n### A b\ntext\n```sh\n# no heading\n```\n#### Under\n### Next\n"
    (tmp_path / "a.md").write_text(text)
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    assert Include("a.md", "#a-b").lines() == ["## A b", "text", "```sh", "# no heading", "```", "### Under"]


def test_python_typescript_and_go_publish_in_programs_that_are_run(site: list[pages.Page]) -> None:
    """Each mark stands before a block that can be run."""
    found = [program for page in site for program in programs(page)]
    texts = "".join(program.text for program in found)
    assert {"start.md", "chat.md", "publishing.md", "agents.md"} <= {program.page for program in found}
    for program in (
        "helix recall",
        "publish.py",
        "publish.ts",
        "publish.go",
        "chat.py",
        "chat.ts",
        "with Helix(",
    ):
        assert program in texts


def test_a_mark_without_a_program_is_refused() -> None:
    """A mark that is left behind does not pass in silence."""
    lines = [("<!-- run -->", ""), ("text", "")]
    with pytest.raises(ValueError, match="no block of code"):
        list(programs(pages.Page("a.md", lines)))


def test_what_a_program_prints_is_the_block_after_its_mark() -> None:
    """Needs, text and output of one program."""
    lines = [
        "<!-- run: needs go npm -->",
        "```sh",
        "go version",
        "```",
        "It prints:",
        "<!-- prints -->",
        "```text",
        "go",
        "```",
    ]
    (found,) = programs(pages.Page("a.md", [(line, "") for line in lines]))
    assert found == Program("a.md", "sh", "go version\n", ("go", "npm"), "go\n")


def test_dead_links_of_a_site_are_found(tmp_path: Path) -> None:
    """A file, an anchor, an address without a host, a script from elsewhere; the others lead somewhere."""
    (tmp_path / "b.html").write_text('<h2 id="here">b</h2>')
    links = ["b.html", "b.html#here", "#top", "c.html", "b.html#gone", "https://example.org/x", "http:///x"]
    body = "".join(f'<a href="{link}">x</a>' for link in links)
    script = '<script src="https://cdn.example.org/x.js"></script>'
    (tmp_path / "a.html").write_text(f'<p id="top">{body}</p>{script}')
    assert list(rendered_links.dead_links(tmp_path)) == [
        "a.html: c.html leads to no file",
        "a.html: b.html#gone leads to no anchor",
        "a.html: http:///x is no address",
        "a.html: https://cdn.example.org/x.js is loaded from elsewhere",
    ]


def test_examples_read_variables_that_no_service_refuses() -> None:
    """Whoever exports one of them can still start `helix up` in the same shell."""
    runbook = (pages.ROOT / "ops/runbook.md").read_text(encoding="utf-8")
    known = set(re.findall(r"^\| `(HELIX_\w+)` \|", runbook, re.MULTILINE))
    files = [
        file for file in (pages.ROOT / "docs/examples").rglob("*") if file.suffix in {".py", ".ts", ".go"}
    ]
    read = {name for file in files for name in re.findall(r"HELIX_[A-Z_]+", file.read_text(encoding="utf-8"))}
    assert read
    assert read <= known


def test_locks_of_the_documentation_hold_hashes_and_no_addresses() -> None:
    """As all locks of the project."""
    lock = (pages.ROOT / "docs/docs.lock").read_text(encoding="utf-8")
    node = (pages.ROOT / "docs/examples/typescript/package-lock.json").read_text(encoding="utf-8")
    assert "--hash=sha256:" in lock
    assert '"integrity": "sha512-' in node
    assert "://" not in lock
    assert '"resolved"' not in node
