"""Parts of the repository's files as Markdown: a whole file, a section below a heading, a block after a mark.

A page names them in a line of its own:

    <!-- include: README.md#words -->                  the section with its heading, which becomes `##`
    <!-- include: README.md#words body -->             the same without its heading
    <!-- include: README.md#helix first -->            its first paragraph alone
    <!-- include: README.md@first program -->          the block after `<!-- first program -->`
    <!-- include: ops/architecture.md -->              the whole file; a program becomes a code block

Standard library only, because a contract test reads the pages with it.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_DIRECTIVE: Final = re.compile(r"^<!-- include: (?P<path>[^#@\s]+)(?P<part>[#@][^>]*?)? -->$")
_HEADING: Final = re.compile(r"^(#{1,6}) +(.*?) *#*$")
_FENCE: Final = re.compile(r"^(```+|~~~+)")
_BODY: Final = " body"
_FIRST: Final = " first"
_SECTION_LEVEL: Final = 2
_LANGUAGES: Final = {
    ".py": "python", ".ts": "typescript", ".go": "go", ".toml": "toml", ".json": "json", ".mod": "text",
}  # fmt: skip


class GoneError(Exception):
    """What a page includes or links to does not exist; names both."""


@dataclass(frozen=True, slots=True)
class Include:
    """A directive: `part` is empty, `#anchor`, `#anchor body`, `#anchor first` or `@mark`."""

    path: str
    part: str = ""

    @property
    def anchor(self) -> str:
        """Of the section; empty for a whole file or a block."""
        return self.part[1:].removesuffix(_BODY).removesuffix(_FIRST) if self.part.startswith("#") else ""

    def lines(self) -> list[str]:
        """The lines that stand in its place.

        Raises:
            GoneError: there is no such file, section or mark.
        """
        file = ROOT / self.path
        if not file.is_file():
            raise GoneError(f"{self.path} does not exist")
        text = file.read_text(encoding="utf-8").rstrip("\n")
        if file.suffix != ".md":
            return [f"```{_LANGUAGES.get(file.suffix, 'text')}", *text.splitlines(), "```"]
        found = text.splitlines()
        if self.part.startswith("@"):
            return list(_block(found, self.part[1:], self.path))
        if not self.anchor:
            return found
        section = _section(found, self.anchor, self.path)
        if self.part.endswith(_FIRST):
            return list(itertools.takewhile(str.strip, section[2:]))
        return section[1:] if self.part.endswith(_BODY) else section


def directive(line: str) -> Include | None:
    """The directive of a line, None where it is none."""
    match = _DIRECTIVE.match(line)
    return None if match is None else Include(match["path"], (match["part"] or "").strip())


def outside_code(lines: list[str]) -> Iterator[tuple[int, str]]:
    """The lines outside of fenced blocks, with their numbers."""
    fence = ""
    for number, line in enumerate(lines):
        match = _FENCE.match(line.lstrip())
        if fence:
            fence = "" if line.strip() == fence else fence
        elif match:
            fence = match[1]
        else:
            yield number, line


def headings(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Number of the line, level and anchor of each heading; repeated anchors get a number, as in the site."""
    taken: dict[str, int] = {}
    for number, line in outside_code(lines):
        match = _HEADING.match(line)
        if match is None:
            continue
        anchor = slug(match[2])
        repeated = taken[anchor] = taken.get(anchor, -1) + 1
        yield number, len(match[1]), f"{anchor}_{repeated}" if repeated else anchor


def slug(heading: str) -> str:
    """The anchor that MkDocs gives to a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def _section(lines: list[str], anchor: str, path: str) -> list[str]:
    found = list(headings(lines))
    starts = [(number, level) for number, level, name in found if name == anchor]
    if not starts:
        raise GoneError(f"{path} has no section #{anchor}")
    ((start, level),) = starts
    end = next((number for number, other, _ in found if number > start and other <= level), len(lines))
    moved = {number: "#" * (other - level + _SECTION_LEVEL) for number, other, _ in found}
    return [
        re.sub(r"^#+", moved[number], line) if number in moved else line
        for number, line in enumerate(lines[start:end], start)
    ]


def _block(lines: list[str], mark: str, path: str) -> Iterator[str]:
    """The fenced block after a mark, or the lines up to the next mark or empty line."""
    try:
        start = lines.index(f"<!-- {mark} -->") + 1
    except ValueError:
        raise GoneError(f"{path} has no mark <!-- {mark} -->") from None
    fence = _FENCE.match(lines[start])
    for number, line in enumerate(lines[start:]):
        if fence is None and (not line.strip() or line.startswith("<!--")):
            return
        yield line
        if fence is not None and number and line == fence[1]:
            return
