"""Reads a file with the reader for its format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from helix_cli.sources.discover import Source
from helix_cli.sources.documents.content import READERS
from helix_cli.sources.documents.document import document_items
from helix_cli.sources.documents.formats import Format
from helix_cli.sources.vendors.basic_memory import basic_memory_items
from helix_cli.sources.vendors.hindsight import hindsight_items
from helix_cli.sources.vendors.mem0 import mem0_items
from helix_cli.sources.vendors.server_memory import server_memory_items
from helix_cli.sources.vendors.zep import zep_items
from helix_shared.sources.claude_code import claude_code_items
from helix_shared.sources.codex import codex_items
from helix_shared.sources.cursor import cursor_items
from helix_shared.sources.items import Item, SourceScope
from helix_shared.sources.json_records import json_records
from helix_shared.sources.source_event import Refusal

UNKNOWN: Final = (
    "is no transcript of Claude Code, Codex or Cursor and no export of another memory system; "
    "name it with --from, or publish events with `helix publish`"
)


def read_source(source: Source, scope: SourceScope) -> Iterator[Item]:
    """The items of a file; a file that cannot be read is one refusal."""
    try:
        yield from _items(source, scope)
    except OSError as error:
        yield Refusal(str(source.path), "file", f"cannot be read: {error.strerror or error}")


def _items(source: Source, scope: SourceScope) -> Iterator[Item]:
    path = source.path
    match source.format:
        case Format.CLAUDE_CODE:
            yield from claude_code_items(json_records(path), scope, fallback_session=path.stem)
        case Format.CODEX:
            yield from codex_items(json_records(path), scope, fallback_session=path.stem)
        case Format.CURSOR:
            yield from cursor_items(json_records(path), scope, session=path.stem)
        case Format.MEM0:
            yield from mem0_items(path, scope)
        case Format.ZEP:
            yield from zep_items(path, scope)
        case Format.HINDSIGHT:
            yield from hindsight_items(path, scope)
        case Format.SERVER_MEMORY:
            yield from server_memory_items(path, scope)
        case Format.BASIC_MEMORY:
            yield from basic_memory_items(path, source.name, scope)
        case None:
            with path.open("rb"):  # one that cannot be read is no unknown format
                yield Refusal(str(path), "file", UNKNOWN)
        case document:
            yield from document_items(path, source.name, scope, READERS[document], origin=document)
