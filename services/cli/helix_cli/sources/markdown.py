"""Reads a Markdown file as one document, or as several if it is larger than an event may be.

`document_id` is the path from the name of the imported folder on (`docs/guide/start.md`), so that a file
that is imported again replaces itself. A file within the limit of a text stays whole. A larger one is split
at its headings of the first two levels into parts, and into more documents (`...#2`) if the parts exceed
one event.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from helix_cli.sources.fitting import TEXT_BYTES, fits, json_bytes, pieces
from helix_cli.sources.items import Item, Scope, Skipped, short_name
from helix_cli.sources.source_event import Refusal, from_fields
from helix_memory import limits

PART_BYTES: Final = 64
"""Bytes of the JSON around one part."""

_FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*)$")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title[ \t]*:[ \t]*(\S.*)$", re.MULTILINE | re.IGNORECASE)
_TOP_LEVELS: Final = 2


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the text below it; the text before the first heading has none."""

    level: int
    heading: str
    text: str


def markdown_items(path: Path, document_id: str, scope: Scope) -> Iterator[Item]:
    """The documents of one file."""
    where = str(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield Refusal(where, "file", f"is not UTF-8 at byte {error.start}")
        return
    if not text.strip():
        yield Skipped("empty files")
        return
    modified_ns = path.stat().st_mtime_ns
    common = {
        "kind": "document",
        "tenant_id": scope.tenant_id,
        "user_id": scope.user_id,
        "project_id": scope.project_id,
        "title": title_of(text, path.stem),
        "media_type": "text/markdown",
        "source_uri": _uri(path),
        # a file has no time zone, so its dates are those of this machine
        "occurred_at": datetime.fromtimestamp(modified_ns // 10**9, UTC).astimezone(),
    }
    for number, content in enumerate(contents(text), start=1):
        name = short_name(document_id if number == 1 else f"{document_id}#{number}")
        yield from_fields(
            where,
            {**common, **content, "document_id": name, "event_id": _event_id(name, text, modified_ns)},
        )


def title_of(text: str, fallback: str) -> str:
    """Title from the front matter, else the first heading of the highest level, else `fallback`."""
    front = _FRONT_MATTER.match(text)
    named = _FRONT_TITLE.search(front.group(1)) if front else None
    if named:
        return named.group(1).strip().strip("\"'")[: limits.TITLE_CHARACTERS]
    headings = [section for section in sections(text, levels=6) if section.heading]
    best = min(headings, key=lambda section: section.level, default=None)
    return (best.heading if best else fallback)[: limits.TITLE_CHARACTERS]


def contents(text: str) -> list[dict[str, Any]]:
    """Fields `body` or `parts` of each document that a text becomes."""
    if fits(text):
        return [{"body": text}]
    documents: list[list[dict[str, str]]] = [[]]
    size_bytes = 0
    for part in _parts(sections(text, levels=_TOP_LEVELS)):
        part_bytes = json_bytes(part["heading"]) + json_bytes(part["text"]) + PART_BYTES
        full = size_bytes + part_bytes > TEXT_BYTES or len(documents[-1]) >= limits.DOCUMENT_PARTS
        if documents[-1] and full:
            documents.append([])
            size_bytes = 0
        documents[-1].append(part)
        size_bytes += part_bytes
    return [{"parts": parts} for parts in documents]


def sections(text: str, *, levels: int) -> list[Section]:
    """Split a text at its headings of the first `levels` levels; a `#` in a code block is no heading."""
    found = [Section(0, "", "")]
    lines: list[str] = []
    fence = ""

    def close() -> None:
        last = found[-1]
        found[-1] = Section(last.level, last.heading, "".join(lines))
        lines.clear()

    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if mark and (not fence or (mark.group(1)[0] == fence[0] and len(mark.group(1)) >= len(fence))):
            fence = "" if fence else mark.group(1)
        heading = None if fence or mark else _HEADING.match(line.rstrip("\r\n"))
        if heading and len(heading.group(1)) <= levels:
            close()
            found.append(Section(len(heading.group(1)), _without_closing(heading.group(2)), ""))
        else:
            lines.append(line)
    close()
    return [section for section in found if section.heading or section.text.strip()]


def _without_closing(heading: str) -> str:
    """Text of a heading without closing `#`: "Setup ##" gives "Setup"."""
    text = heading.rstrip(" \t")
    open_end = text.rstrip("#")
    return (open_end if open_end.endswith((" ", "\t")) else text).strip()


def _parts(found: Sequence[Section]) -> Iterator[dict[str, str]]:
    for section in found:
        heading = section.heading[: limits.TITLE_CHARACTERS]
        whole = section.text if heading == section.heading else f"{section.heading}\n{section.text}"
        for piece in pieces(whole if whole.strip() else section.heading):
            if piece.strip():
                yield {"heading": heading, "text": piece}


def _event_id(document_id: str, text: str, modified_ns: int) -> str:
    """Id from name, content and time: a file that is changed and changed back is a new event each time."""
    content = f"{document_id}\x1f{modified_ns}\x1f".encode("utf-8", "replace") + text.encode()
    return f"markdown:{hashlib.sha256(content).hexdigest()}"


def _uri(path: Path) -> str:
    uri = path.resolve().as_uri()
    return uri if len(uri) <= limits.URI_CHARACTERS else ""
