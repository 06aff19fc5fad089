"""The format of a file: by its ending, and where that says little by its first bytes."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Final

from helix_cli.sources.vendors.basic_memory import HEAD_BYTES as FRONT_BYTES
from helix_cli.sources.vendors.basic_memory import is_note
from helix_cli.sources.vendors.export_file import first_parts, names_in_archive
from helix_cli.sources.vendors.hindsight import is_hindsight, is_hindsight_archive
from helix_cli.sources.vendors.mem0 import is_mem0, is_mem0_archive
from helix_cli.sources.vendors.server_memory import is_server_memory
from helix_cli.sources.vendors.zep import is_zep
from helix_ingest.extraction.documents.languages import ENDINGS as CODE_ENDINGS
from helix_shared.sources.claude_code import is_claude_code
from helix_shared.sources.codex import is_codex
from helix_shared.sources.cursor import is_cursor
from helix_shared.sources.json_records import json_records
from helix_shared.sources.source_event import Refusal

DETECTION_LINES: Final = 20
HEAD_BYTES: Final = 2_048


class Format(StrEnum):
    """Format of a file."""

    MARKDOWN = "markdown"
    TEXT = "text"
    HTML = "html"
    PDF = "pdf"
    CODE = "code"
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    CURSOR = "cursor"
    MEM0 = "mem0"
    ZEP = "zep"
    HINDSIGHT = "hindsight"
    SERVER_MEMORY = "server-memory"
    BASIC_MEMORY = "basic-memory"


TRANSCRIPTS: Final = (Format.CLAUDE_CODE, Format.CODEX, Format.CURSOR)
TRANSCRIPT_ENDING: Final = ".jsonl"
VENDORS: Final[Mapping[Format, Callable[[object], bool]]] = {
    Format.SERVER_MEMORY: is_server_memory,
    Format.HINDSIGHT: is_hindsight,
    Format.MEM0: is_mem0,
    Format.ZEP: is_zep,
}
"""Exports of other memory systems, and whether a value is one of them."""
EXPORT_ENDINGS: Final = (".json", TRANSCRIPT_ENDING, ".ndjson", ".gz", ".zip")
NOTES: Final = (".md", ".markdown")
ENDINGS: Final[Mapping[str, Format]] = {
    ".md": Format.MARKDOWN, ".markdown": Format.MARKDOWN,
    ".txt": Format.TEXT, ".text": Format.TEXT,
    ".html": Format.HTML, ".htm": Format.HTML, ".xhtml": Format.HTML,
    ".pdf": Format.PDF,
    **dict.fromkeys(CODE_ENDINGS, Format.CODE),
}  # fmt: skip
"""Formats of documents by ending."""

_PDF: Final = b"%PDF-"
_PAGE: Final = re.compile(
    rb"\A\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)
_SCRIPT: Final = re.compile(rb"\A#![^\n]*\b(?P<program>python|node|deno|bun)", re.IGNORECASE)
_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def has_ending(path: Path, wanted: Format | None) -> bool:
    """Whether a file has the ending of the wanted format, or of any format."""
    ending = path.suffix.lower()
    if wanted in VENDORS:
        return ending in EXPORT_ENDINGS
    if wanted is Format.BASIC_MEMORY:
        return ending in NOTES
    if ending == TRANSCRIPT_ENDING:
        return wanted is None or wanted in TRANSCRIPTS
    return ending in ENDINGS and wanted in (None, ENDINGS[ending])


def detected(path: Path) -> Format | None:
    """Format of a file; None if it has none of these.

    Raises:
        OSError: it cannot be read.
    """
    head, ending = _head(path), path.suffix.lower()
    if head.startswith(_PDF):
        return Format.PDF
    by_ending = ENDINGS.get(ending)
    if by_ending is Format.MARKDOWN:
        front = _head(path, FRONT_BYTES) if head.removeprefix(codecs.BOM_UTF8).startswith(b"---") else b""
        return Format.BASIC_MEMORY if is_note(front.decode("utf-8", "replace")) else by_ending
    if by_ending is Format.TEXT or by_ending is None:
        return _by_content(head) or by_ending or _otherwise(path, head)
    return by_ending


def is_recognised(path: Path) -> bool:
    """Whether a file without an ending is one whose first bytes tell its format."""
    try:
        head = _head(path)
    except OSError:
        return False
    return head.startswith(_PDF) or _by_content(head) is not None


def language_of_script(source: bytes) -> str:
    """Language of a script by its first line; "" if that names no known program."""
    found = _SCRIPT.match(source[:HEAD_BYTES])
    if found is None:
        return ""
    return "python" if found["program"].lower() == b"python" else "javascript"


def _by_content(head: bytes) -> Format | None:
    if _PAGE.match(head):
        return Format.HTML
    return Format.CODE if language_of_script(head) else None


def _otherwise(path: Path, head: bytes) -> Format | None:
    """An export or a transcript by what it holds; any other text is plain text, except in a `.jsonl` file."""
    if vendor := _vendor(path):
        return vendor
    for _, record in islice(json_records(path), DETECTION_LINES):
        if isinstance(record, Refusal):
            continue
        if is_claude_code(record):
            return Format.CLAUDE_CODE
        if is_codex(record):
            return Format.CODEX
        if is_cursor(record):
            return Format.CURSOR
    return Format.TEXT if _is_text(head) and path.suffix.lower() != TRANSCRIPT_ENDING else None


def _vendor(path: Path) -> Format | None:
    """The memory system whose export this is; None if it is of none of them."""
    if names := names_in_archive(path):
        if is_hindsight_archive(names):
            return Format.HINDSIGHT
        return Format.MEM0 if is_mem0_archive(names) else None
    for part in islice(first_parts(path), DETECTION_LINES):
        for vendor, is_of in VENDORS.items():
            if is_of(part.value):
                return vendor
    return None


def _is_text(head: bytes) -> bool:
    if head.startswith(_MARKS):
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return b"\0" not in head


def _head(path: Path, size: int = HEAD_BYTES) -> bytes:
    with path.open("rb") as file:
        return file.read(size)
