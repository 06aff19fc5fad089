"""The documents of one file: one event, or several if the file is larger than an event may be.

`document_id` is the path from the name of the imported folder on (`docs/guide/start.md`), so that a file
that is imported again replaces itself. The documents after the first have the ids `...#2`, `...#3`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from helix_cli.sources.documents.tails import document_name
from helix_memory import limits
from helix_shared.errors import HelixError, InvalidInputError
from helix_shared.sources.fitting import TEXT_BYTES, fits, json_bytes, pieces
from helix_shared.sources.items import Item, SkippedPart, SourceScope
from helix_shared.sources.source_event import Refusal, from_fields

FILE_BYTES: Final = 64 * 1024 * 1024
"""Limit of a file."""
PART_BYTES: Final = 64
"""Bytes of the JSON around one part."""
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Content:
    """What a file says; `documents` are the fields `body`, `parts` or `body_base64` of each event."""

    title: str
    media_type: str
    documents: list[dict[str, Any]]
    fields: dict[str, Any] = field(default_factory=dict)
    """Other fields of the events."""


class NothingToReadError(Exception):
    """A file holds nothing that could become a document; the message is counted, like "empty files"."""


Read = Callable[[Path, bytes], Content]
"""The content of a file by its path and bytes; raises `InvalidInputError` or `NothingToReadError`."""


def document_items(
    path: Path, document_id: str, scope: SourceScope, read: Read, *, origin: str
) -> Iterator[Item]:
    """The documents of one file; `origin` is the name of its format in the ids of its events."""
    where, status = str(path), path.stat()
    if status.st_size > FILE_BYTES:
        yield Refusal(where, "file", f"has {status.st_size} bytes, more than {FILE_BYTES}")
        return
    source = path.read_bytes().removeprefix(BYTE_ORDER_MARK)
    if not source.strip():
        yield SkippedPart("empty files")
        return
    try:
        content = read(path, source)
    except NothingToReadError as nothing:
        yield SkippedPart(str(nothing))
        return
    except HelixError as error:
        # the field of an event tells a user of files nothing
        yield Refusal(where, "file", error.reason if isinstance(error, InvalidInputError) else str(error))
        return
    common = {
        "kind": "document",
        "tenant_id": scope.tenant_id,
        "user_id": scope.user_id,
        "project_id": scope.project_id,
        "title": content.title[: limits.TITLE_CHARACTERS],
        "media_type": content.media_type,
        "source_uri": _uri(path),
        # a file has no time zone, so its dates are those of this machine
        "occurred_at": datetime.fromtimestamp(status.st_mtime_ns // 10**9, UTC).astimezone(),
        **content.fields,
    }
    for number, body in enumerate(content.documents, start=1):
        name = document_name(document_id, number)
        event_id = f"{origin}:{_digest(name, source, status.st_mtime_ns)}"
        yield from_fields(where, {**common, **body, "document_id": name, "event_id": event_id})


def decoded(source: bytes) -> str:
    """The text of a file: UTF-8, or UTF-16 with its mark.

    Raises:
        InvalidInputError: it is neither.
    """
    encoding = "utf-16" if source[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    try:
        return source.decode(encoding)
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        where = f"in line {line}" if encoding == "utf-8" else f"at byte {error.start}"
        raise InvalidInputError("file", f"is not {encoding.upper()} {where}") from error


def packed(parts: Iterable[dict[str, str]]) -> list[dict[str, Any]]:
    """Documents that hold `parts` in order, as few as the limits of an event allow."""
    documents: list[list[dict[str, str]]] = [[]]
    size_bytes = 0
    for part in parts:
        part_bytes = json_bytes(part["heading"]) + json_bytes(part["text"]) + PART_BYTES
        full = size_bytes + part_bytes > TEXT_BYTES or len(documents[-1]) >= limits.DOCUMENT_PARTS
        if documents[-1] and full:
            documents.append([])
            size_bytes = 0
        documents[-1].append(part)
        size_bytes += part_bytes
    return [{"parts": parts} for parts in documents]


def whole_or_cut(text: str) -> list[dict[str, Any]]:
    """Fields of the documents of a text without headings."""
    if fits(text):
        return [{"body": text}]
    return packed({"heading": "", "text": piece} for piece in pieces(text) if piece.strip())


def _digest(document_id: str, source: bytes, modified_ns: int) -> str:
    """From name, content and time: a file that is changed and changed back is a new event each time."""
    named = f"{document_id}\x1f{modified_ns}\x1f".encode("utf-8", "replace")
    return hashlib.sha256(named + source).hexdigest()


def _uri(path: Path) -> str:
    uri = path.resolve().as_uri()
    return uri if len(uri) <= limits.URI_CHARACTERS else ""
