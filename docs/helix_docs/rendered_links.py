"""The links of the rendered site: each leads to a file and an anchor of it. Nothing is fetched.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

_TARGETS: Final = {("a", "href"), ("link", "href"), ("script", "src"), ("img", "src")}
_OUTSIDE: Final = ("http", "https", "mailto")


@dataclass(slots=True)
class _Found(HTMLParser):
    """Links and anchors of one page."""

    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        HTMLParser.__init__(self)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if (name == "id" or (tag, name) == ("a", "name")) and value:
                self.anchors.add(value)
            if (tag, name) in _TARGETS and value is not None:
                (self.links if tag == "a" else self.loaded).append(value)


def dead_links(site: Path) -> Iterator[str]:
    """A line for each link that leads nowhere, and for each file that a page loads from elsewhere."""
    pages = {path: _read(path) for path in sorted(site.rglob("*.html"))}
    for path, found in pages.items():
        name = path.relative_to(site).as_posix()
        for link in found.links:
            problem = _problem(link, path, site, pages)
            if problem:
                yield f"{name}: {link} {problem}"
        for file in found.loaded:
            problem = (
                "is loaded from elsewhere" if urlsplit(file).netloc else _problem(file, path, site, pages)
            )
            if problem:
                yield f"{name}: {file} {problem}"


def _read(path: Path) -> _Found:
    found = _Found()
    found.feed(path.read_text(encoding="utf-8"))
    return found


def _problem(link: str, page: Path, site: Path, pages: dict[Path, _Found]) -> str:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        is_formed = parts.scheme == "mailto" or (parts.scheme in _OUTSIDE and "." in parts.netloc)
        return "" if is_formed else "is no address"
    if parts.path.startswith("/"):
        target = site / unquote(parts.path).lstrip("/")
    else:
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file():
        return "leads to no file"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return "leads to no anchor"
    return ""
