"""Reads the notes of basic-memory: Markdown files with `title`, `type` and `permalink` in their front matter.

A list entry `- [category] text #tag (context)` is an observation and becomes a memory that names its note; an
entry `- relation [[Target]] (context)` is a relation and becomes one, too. `@2026-06-10` or
`@effective[2026-06-10,2026-07-27)` before the text of an observation says when it holds. All other text
becomes the document of the note, whose id is its permalink. Ids of observations follow from permalink and
text, so one that was rewritten is a new memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from helix_cli.sources.documents.document import (
    BYTE_ORDER_MARK,
    FILE_BYTES,
    Content,
    NothingToReadError,
    decoded,
    document_items,
)
from helix_cli.sources.documents.markdown import contents
from helix_cli.sources.vendors.export_file import refusing
from helix_cli.sources.vendors.front_matter import front_matter, listed, one
from helix_cli.sources.vendors.vendor_fields import (
    Made,
    later_by,
    said_digest,
    tags_of,
    time_in,
    with_context,
)
from helix_memory.events.private_passages import without_private
from helix_memory.vocabulary.memory_types import MEMORY_TYPES
from helix_shared.errors import InvalidInputError
from helix_shared.sources.items import Item, SourceScope
from helix_shared.text.fences import lines_in_fences

ALWAYS: Final = ("title", "type", "permalink")
"""Fields that basic-memory writes into every note."""
VALID: Final = ("", "effective", "valid")
"""Kinds of time that say when an observation holds."""

HEAD_BYTES: Final = 64 * 1024

_HEADING: Final = re.compile(r"^#{1,6} .*$", re.MULTILINE)
_ENTRY: Final = re.compile(r"^[ \t]*[-*+][ \t]+(?P<text>\S.*)$")
_OBSERVATION: Final = re.compile(r"^\[(?P<category>[^\[\]()]+)\][ \t]+(?P<text>\S.*)$")
_CLOCK: Final = re.compile(r"^\d{1,3}:\d{2}")
_RELATION: Final = re.compile(
    r"""^(?P<kind>"[^"]+"|'[^']+'|[^\s\[\]]+)[ \t]+\[\[(?P<target>[^\[\]]+)\]\]"""
    r"(?:[ \t]*\((?P<context>[^()]*)\))?$"
)
_DATE: Final = r"\d{4}-\d{2}-\d{2}(?:[T ][\d:.]+(?:Z|[+-]\d{2}:\d{2})?)?"
_SPAN: Final = re.compile(
    rf"^@(?P<kind>[A-Za-z]\w*)?[\[(](?P<begins>{_DATE})?,[ ]*(?P<ends>{_DATE})?(?P<closing>[\])])[ \t]+"
    r"(?P<text>\S.*)$"
)
_POINT: Final = re.compile(rf"""^@(?:(?P<kind>[A-Za-z]\w*):)?"?(?P<begins>{_DATE})"?[ \t]+(?P<text>\S.*)$""")


@dataclass(slots=True)
class Note:
    """A note in its parts: entries with their lines, and the text that is left."""

    observations: list[tuple[int, str, str]] = field(default_factory=list)
    """Line, category and text."""
    relations: list[tuple[int, re.Match[str]]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def is_note(text: str) -> bool:
    """Whether the beginning of a Markdown file is that of a note."""
    fields, _ = front_matter(text)
    return all(one(fields, name) for name in ALWAYS) and "layout" not in fields


def basic_memory_items(path: Path, name: str, scope: SourceScope) -> Iterator[Item]:
    """The events of one note; `name` is its path from the imported folder on, where it has no permalink."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    permalink = one(front_matter(head.decode("utf-8", "replace"))[0], "permalink") or name
    yield from document_items(path, permalink, scope, _prose, origin="basic-memory")
    if path.stat().st_size <= FILE_BYTES:
        yield from _entries(path, permalink, scope)


def _prose(path: Path, source: bytes) -> Content:
    """What a note says beside its observations and relations.

    Raises:
        InvalidInputError: it is not UTF-8.
        NothingToReadError: it says nothing more.
    """
    fields, body = front_matter(decoded(source))
    prose = "\n".join(_parts_of(body, first_line=1).lines)
    if not _HEADING.sub("", prose).strip():
        raise NothingToReadError("notes without text beside their observations and relations")
    more = {"tags": tags_of(listed(fields, "tags"), one(fields, "type"))}
    return Content(one(fields, "title") or path.stem, "text/markdown", contents(prose), more)


def _entries(path: Path, permalink: str, scope: SourceScope) -> Iterator[Item]:
    """The observations and relations of a note that can be read."""
    try:
        text = decoded(path.read_bytes().removeprefix(BYTE_ORDER_MARK))
    except InvalidInputError:
        return
    fields, body = front_matter(text)
    note = _parts_of(body, first_line=text[: len(text) - len(body)].count("\n") + 1)
    made, title = Made("basic-memory", scope), one(fields, "title") or path.stem
    written = datetime.fromtimestamp(int(path.stat().st_mtime), UTC).astimezone()
    tags = listed(fields, "tags")

    def said() -> Iterator[Item]:
        created = time_in({"created": _local(one(fields, "created"))}, "created")
        common = {**made.scope_fields(), "occurred_at": created or written, "tags": tags_of(tags)}
        for line, category, text in note.observations:
            yield from _observation(made, f"{path}:{line}", (permalink, title), category, text, common)
        for line, relation in note.relations:
            yield from _relation(made, f"{path}:{line}", (permalink, title), relation, common)

    yield from refusing(str(path), said())


def _parts_of(body: str, *, first_line: int) -> Note:
    note = Note()
    for number, (whole, in_code) in enumerate(lines_in_fences(body), start=first_line):
        line = whole.rstrip("\r\n")
        entry = None if in_code else _ENTRY.match(line.rstrip())
        observation = _OBSERVATION.match(entry["text"]) if entry else None
        relation = _RELATION.match(entry["text"]) if entry else None
        if observation and _is_category(observation["category"]):
            note.observations.append((number, observation["category"].strip(), observation["text"]))
        elif relation:
            note.relations.append((number, relation))
        else:
            note.lines.append(line)
    return note


def _is_category(category: str) -> bool:
    """Whether brackets hold a category, and neither the mark of a task nor the time of a transcript."""
    name = category.strip()
    is_task = len(name) < 2 and (not name.isalnum() or name in "xX")  # noqa: PLR2004  one character
    return not is_task and _CLOCK.match(name) is None


def _observation(
    made: Made, where: str, note: tuple[str, str], category: str, said: str, fields: dict[str, Any]
) -> Iterator[Item]:
    permalink, title = note
    text, valid = _with_times(said)
    text, context = _with_own_context(text)
    words = text.split()
    shown = without_private(text).split()
    tags = [tag for word in shown if word.startswith("#") for tag in word.split("#") if tag]
    while len(words) > 1 and words[-1].startswith("#"):
        words.pop()
    event_id = made.event_id(said_digest("observation", permalink, category, said))
    kind = {"type": category} if category in MEMORY_TYPES else {}
    told = {**fields, **kind, **valid, "tags": tags_of(category, tags, fields["tags"])}
    yield from made.memory(where, event_id, with_context(f"{title}: {' '.join(words)}", context), told)


def _with_own_context(text: str) -> tuple[str, str]:
    """A text and what stands in parentheses at its end."""
    start = text.rfind("(")
    if start < 1 or not text.endswith(")"):
        return text, ""
    return text[:start].rstrip(), text[start + 1 : -1].strip()


def _with_times(said: str) -> tuple[str, dict[str, Any]]:
    """The text of an observation without its time, and the fields that say it."""
    found = _SPAN.match(said) or _POINT.match(said)
    kind = (found["kind"] or "") if found else ""
    if found is None or (kind not in VALID and kind != "occurred"):
        return said, {}
    names = ("event_start", "event_end") if kind == "occurred" else ("valid_from", "valid_to")
    groups = found.groupdict()
    stated = {name: groups.get(side) for name, side in zip(names, ("begins", "ends"), strict=True)}
    times = {name: time_in({name: _local(time)}, name) for name, time in stated.items() if time}
    end = times.get(names[1])
    if end is not None and groups.get("closing") == "]":
        times[names[1]] = later_by(end, timedelta(days=1))  # the last day belongs to it
    return found["text"], times


def _local(value: str) -> str:
    """A time without a zone as one of this machine, as basic-memory means it; else the value as it is.

    At the end of all times this machine may have none, and an event refuses its year.
    """
    try:
        moment = datetime.fromisoformat(value)
        return value if moment.tzinfo else moment.astimezone().isoformat()
    except (ValueError, OverflowError):
        return value


def _relation(
    made: Made, where: str, note: tuple[str, str], relation: re.Match[str], fields: dict[str, Any]
) -> Iterator[Item]:
    permalink, title = note
    kind, target = relation["kind"].strip("\"'"), relation["target"].partition("|")[0].strip()
    text = with_context(f"{title} {kind.replace('_', ' ')} {target}", relation["context"] or "")
    event_id = made.event_id(said_digest("relation", permalink, kind, target))
    yield from made.memory(where, event_id, text, fields)
