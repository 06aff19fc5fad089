"""`make docs`: assembles the pages, runs their programs, renders the site, and checks its links.

python -m helix_docs.build --mkdocs .venv-docs/bin/mkdocs --site site
python -m helix_docs.build ... --no-run          without the programs
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from helix_docs.generated import generate
from helix_docs.pages import Page, read_pages, write_pages
from helix_docs.programs import Program, programs
from helix_docs.rendered_links import dead_links
from helix_docs.running import Outcome, run_all
from helix_docs.sources import ROOT, GoneError
from helix_shared.settings import helix_home

ASSEMBLED: Final = ROOT / "build/docs"
STYLES: Final = {"light": "default", "dark": "github-dark"}


def main() -> int:
    """0 where everything is as the pages say."""
    options = argparse.ArgumentParser()
    options.add_argument("--mkdocs", type=Path, required=True)
    options.add_argument("--site", type=Path, default=ROOT / "site")
    options.add_argument("--no-run", action="store_true")
    given = options.parse_args()
    try:
        pages = read_pages(generate)
        wanted = [program for page in pages for program in programs(page)]
    except (GoneError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    shutil.rmtree(ASSEMBLED, ignore_errors=True)
    write_pages(pages, ASSEMBLED)
    shutil.copytree(ROOT / "docs/theme", ASSEMBLED, dirs_exist_ok=True)
    _write_styles(given.mkdocs.parent / "pygmentize", ASSEMBLED / "code.css")
    if render(given.mkdocs, given.site):
        return 1
    dead = list(dead_links(given.site.resolve()))
    for line in dead:
        print(f"dead     {line}")
    outcomes = [] if given.no_run else run(wanted)
    return summarize(pages, wanted, outcomes, dead)


def render(mkdocs: Path, site: Path) -> int:
    """The exit code of MkDocs, for which every warning is an error."""
    command = [str(mkdocs.resolve()), "build", "--strict", "--quiet", "--site-dir", str(site.resolve())]
    command += ["--config-file", str(ROOT / "docs/mkdocs.yml")]
    return subprocess.run(command, check=False).returncode  # noqa: S603  our own arguments


def _write_styles(pygmentize: Path, file: Path) -> None:
    """Colours of code, for both modes of the theme."""
    css = ""
    for mode, style in STYLES.items():
        block = f"[data-bs-theme={mode}] .highlight"
        command = [str(pygmentize.resolve()), "-S", style, "-f", "html", "-a", block]
        css += subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    file.write_text(css, encoding="utf-8")


def run(wanted: Sequence[Program]) -> list[Outcome]:
    """Run the programs in a home of their own; each outcome is printed as it comes."""
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="helix-docs-") as home:
        for outcome in run_all(wanted, Path(home), helix_home() / "models"):
            print(outcome, flush=True)
            outcomes.append(outcome)
    return outcomes


def summarize(
    pages: Sequence[Page], wanted: Sequence[Program], outcomes: Sequence[Outcome], dead: Sequence[str]
) -> int:
    """Print the counts; 1 where a link is dead or a program failed."""
    failed = sum(bool(one.problem) for one in outcomes)
    left_out = len(wanted) - sum(not one.not_run for one in outcomes)
    ran = len(wanted) - failed - left_out
    print(f"{len(pages)} pages, {len(dead)} dead links")
    print("python3 -m http.server --directory site    shows it; the search needs a server")
    print(f"programs: {ran} ran, {failed} failed, {left_out} not run")
    return 1 if dead or failed else 0


if __name__ == "__main__":
    sys.exit(main())
