"""The pages of the site as Markdown: what `docs/pages` says and includes, with links that work in the site.

Pages and included texts link to files of the repository, so that the links work where the sources are read.
A link to something that a page includes becomes a link to that page, one to any other file becomes its path.
A generated part links from the root of the repository (`/ops/runbook.md`).

Standard library only, because a contract test reads the pages with it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from helix_docs.sources import ROOT, GoneError, Include, directive, headings, outside_code

PAGES: Final = "docs/pages"
NAVIGATION: Final = "docs/mkdocs.yml"
DECISIONS: Final = "ops/decisions"
_GENERATED: Final = re.compile(r"^<!-- generate: (?P<name>[\w-]+)(?: (?P<of>\S+))? -->$")
_LINK: Final = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")

Generate = Callable[[str, str], str]
"""From the name of a generated part and what it is of, its Markdown."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its place in the site, and its lines, each with the file it comes from."""

    name: str
    lines: list[tuple[str, str]]
    includes: list[Include] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        """The lines alone."""
        return [line for line, _ in self.lines]


def page_files() -> Mapping[str, str]:
    """Place in the site and file of every page: those of the navigation in its order, then the decisions."""
    own = {name: f"{PAGES}/{name}" for name in order()}
    return own | {
        f"decisions/{path.name}": path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / DECISIONS).glob("*.md"))
    }


def order() -> list[str]:
    """The pages of the navigation in its order."""
    return re.findall(r": (\S+\.md)$", (ROOT / NAVIGATION).read_text(encoding="utf-8"), re.MULTILINE)


def read_pages(generate: Generate) -> list[Page]:
    """All pages with their links as in the site.

    Raises:
        GoneError: something that a page includes or links to does not exist; names the page.
    """
    pages = [_read(name, file, generate) for name, file in page_files().items()]
    places = Places(pages)
    return [Page(page.name, list(_linked(page, places)), page.includes) for page in pages]


def _read(name: str, file: str, generate: Generate) -> Page:
    page = Page(name, [])
    for line in (ROOT / file).read_text(encoding="utf-8").splitlines():
        included, generated = directive(line), _GENERATED.match(line)
        try:
            if included is not None:
                page.includes.append(included)
                page.lines.extend((one, included.path) for one in included.lines())
            elif generated is not None:
                made = generate(generated["name"], generated["of"] or "")
                page.lines.extend((one, file) for one in made.splitlines())
            else:
                page.lines.append((line, file))
        except GoneError as error:
            raise GoneError(f"{file}: {error}") from error
    return page


class Places:
    """Where in the site something of the repository is."""

    def __init__(self, pages: list[Page]) -> None:
        """Remember which page has which section of which file."""
        self._files: dict[str, str] = {file: name for name, file in page_files().items()}
        self._sections: dict[tuple[str, str], str] = {}
        self._anchors: dict[str, set[str]] = {}
        for page in pages:
            self._anchors[page.name] = {anchor for *_, anchor in headings(page.texts)}
            for included in page.includes:
                self._add(page, included)

    def _add(self, page: Page, included: Include) -> None:
        if not included.part:
            self._files.setdefault(included.path, page.name)
        if not included.path.endswith(".md") or included.part.startswith("@"):
            return
        for *_, anchor in headings(included.lines()):
            self._sections.setdefault((included.path, anchor), page.name)
        self._sections.setdefault((included.path, included.anchor), page.name)

    def find(self, path: str, anchor: str) -> str | None:
        """The page with its anchor, None where the site does not have it.

        Raises:
            GoneError: it is neither in the site nor in the repository.
        """
        if not (ROOT / path).exists():
            raise GoneError(f"links to {path}, which does not exist")
        page = self._sections.get((path, anchor)) if anchor else None
        page = page or self._files.get(path) or FIRST_PAGE_OF.get(path)
        if anchor in self._anchors.get(page or "", ()):
            return f"{page}#{anchor}"
        if anchor and path.endswith(".md") and anchor not in _anchors_of(path):
            raise GoneError(f"links to {path}#{anchor}, which has no such section")
        return page


def _anchors_of(path: str) -> set[str]:
    return {anchor for *_, anchor in headings((ROOT / path).read_text(encoding="utf-8").splitlines())}


FIRST_PAGE_OF: Final = {
    "README.md": "index.md",
    "ops/runbook.md": "operating.md",
    "ops/decisions": "decisions/index.md",
    "proto/helix_memory/recall/v1/recall.proto": "reference/recall.md",
    "proto/helix_memory/deep/v1/deep.proto": "reference/deep.md",
    "proto/asyncapi.json": "reference/events.md",
    "services/query/helix_query/profile/helix.toml": "profiles/helix.md",
}
"""Pages of files that are in several pages, or in another form."""


def _linked(page: Page, places: Places) -> Iterator[tuple[str, str]]:
    prose = {number for number, _ in outside_code(page.texts)}
    for number, (line, file) in enumerate(page.lines):
        yield (_LINK.sub(_relinking(page, file, places), line) if number in prose else line), file


def _relinking(page: Page, file: str, places: Places) -> Callable[[re.Match[str]], str]:
    def relink(match: re.Match[str]) -> str:
        text, target = match[1], match[2]
        if re.match(r"[a-z]+:", target):
            return match[0]
        path, _, anchor = target.partition("#")
        folder = "" if path.startswith("/") else posixpath.dirname(file)
        full = posixpath.normpath(posixpath.join(folder, path.lstrip("/"))) if path else file
        try:
            found = places.find(full, anchor)
        except GoneError as error:
            raise GoneError(f"{file} (page {page.name}): {error}") from error
        if found is None:
            return text if full.endswith(text.strip("`")) else f"{text} (`{full}`)"
        return f"[{text}]({posixpath.relpath(found, posixpath.dirname(page.name) or '.')})"

    return relink


def write_pages(pages: list[Page], folder: Path) -> None:
    """The pages as files for MkDocs."""
    for page in pages:
        file = folder / page.name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(page.texts) + "\n", encoding="utf-8")
