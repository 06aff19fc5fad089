"""Deletes the further documents of a text that became fewer than at its last import.

A large file, or a large text in an export, becomes the documents `name`, `name#2`, `name#3`, ... When it has
shrunk, nothing replaces the last of them. How many there were is kept in the home that imports, for the texts
that became several; their names are hashed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from helix_memory.events import DocumentEvent
from helix_shared.machine.whole_file import write_whole
from helix_shared.sources.items import SourceScope, short_name
from helix_shared.sources.source_event import Entry, SourceEvent, from_fields

FOLDER: Final = "imports"
"""Below the home."""
COUNTS: Final = "documents.json"


def document_name(name: str, number: int) -> str:
    """Id of the document with this number, from 1, of a file."""
    return short_name(name if number == 1 else f"{name}#{number}")


class Tails:
    """How many documents texts became. Of two imports of one text at the same time one is noted."""

    def __init__(self, folder: Path, scope: SourceScope) -> None:
        """Read what is noted in a folder."""
        self._path = folder / COUNTS
        self._scope = scope
        self._changed: dict[str, int] = {}
        self._noted = self._read()

    def deletions(self, name: str, first: SourceEvent, count: int) -> Iterator[Entry]:
        """Deletions of what a text no longer has: it has `count` documents now, of which `first` is one."""
        key = self._key(name)
        before = self._noted.get(key, 1)
        if before != count:
            self._changed[key] = count
        for number in range(count + 1, before + 1):
            fields = {
                "kind": "document",
                "tenant_id": self._scope.tenant_id,
                "user_id": first.event.user_id,
                "project_id": self._scope.project_id,
                "document_id": document_name(name, number),
                "event_id": f"{first.event.event_id}:deletes:{number}",
                "occurred_at": first.event.occurred_at,
                "deleted": True,
            }
            yield from_fields(first.where, fields)

    def save(self) -> None:
        """Note the numbers of now, once their events are published.

        Raises:
            OSError: the folder cannot be written.
        """
        if self._changed:
            counts = self._read() | self._changed
            several = {key: count for key, count in counts.items() if count > 1}
            write_whole(self._path, json.dumps(several, indent=0, sort_keys=True).encode())

    def _key(self, name: str) -> str:
        """A version of a user replaces that of the same user alone."""
        named = f"{self._scope.tenant_id}\x1f{self._scope.user_id}\x1f{name}"
        return hashlib.sha256(named.encode("utf-8", "replace")).hexdigest()[:32]

    def _read(self) -> dict[str, int]:
        try:
            found = json.loads(self._path.read_bytes())
            return {str(key): int(count) for key, count in found.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}


class DocumentRun:
    """The documents of one text, which follow one another in what a reader yields."""

    def __init__(self, tails: Tails, file_name: str = "") -> None:
        """Of a file that is one text, all documents have its name; else they tell where a text begins."""
        self._tails = tails
        self._file_name = self._name = file_name
        self._first: SourceEvent | None = None
        self._count = 0
        self._is_whole = True

    def take(self, item: Entry) -> Iterator[Entry]:
        """Count an item; yields the deletions of the text before where it begins another."""
        if not isinstance(item, SourceEvent):
            self._is_whole = False
        elif isinstance(item.event, DocumentEvent):
            name = item.event.document_id
            if not self._file_name and name != document_name(self._name, self._count + 1):
                yield from self.end()
                self._name, self._first, self._count, self._is_whole = name, None, 0, True
            self._first = self._first or item
            self._count += 1

    def end(self) -> Iterator[Entry]:
        """The deletions of the last text; none where not all of it was read, so that it may be larger."""
        if self._first is not None and self._is_whole:
            yield from self._tails.deletions(self._name, self._first, self._count)
