"""Finds the files of an import and their formats.

From a folder, takes the Markdown and JSONL files in the order of their paths; skips files and folders whose
names start with a dot, unless they are named. The first lines of a JSONL file tell its format.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Final

from helix_cli.sources.claude_code import is_claude_code
from helix_cli.sources.codex import is_codex
from helix_cli.sources.json_records import json_records
from helix_cli.sources.source_event import Refusal
from helix_shared.errors import InvalidInputError

DETECTION_LINES: Final = 20
MARKDOWN_ENDINGS: Final = (".md", ".markdown")
TRANSCRIPT_ENDING: Final = ".jsonl"
ENDINGS: Final = (*MARKDOWN_ENDINGS, TRANSCRIPT_ENDING)
"""Endings of the files that are taken from a folder."""


class Format(StrEnum):
    """Format of a file."""

    MARKDOWN = "markdown"
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"


@dataclass(frozen=True, slots=True)
class Source:
    """One file; `format` is None if it is unknown; `name` is its path from the named folder on."""

    path: Path
    name: str
    format: Format | None


@dataclass(frozen=True, slots=True)
class Found:
    """The files in the named paths."""

    sources: list[Source]
    """Files to import, folder by folder."""
    left_out: Counter[str]
    """Number of files in the folders with another ending, by ending in lower case."""


def discover(paths: Sequence[Path], *, source_format: Format | None = None) -> Found:
    """Find the files to import and count those left out.

    Raises:
        InvalidInputError: a path does not exist, or a named file has another ending and no format is given.
    """
    found: dict[Path, Source] = {}
    others: set[Path] = set()
    for path in paths:
        whole = path.expanduser().absolute()
        if not whole.exists():
            raise InvalidInputError("PATHS", f"{path} does not exist")
        if not whole.is_dir() and source_format is None and not _has_source_ending(whole):
            raise InvalidInputError("PATHS", f"{path} ends in none of {', '.join(ENDINGS)}; give --format")
        for file in _files(whole):
            name = file.relative_to(whole.parent if whole.is_dir() else whole.parent.parent).as_posix()
            if whole.is_dir() and not _has_source_ending(file):
                others.add(file)
            elif file not in found:
                found[file] = Source(file, name, source_format or detected(file))
    return Found(list(found.values()), Counter(map(_ending, others - found.keys())))


def detected(path: Path) -> Format | None:
    """Format of a file by its ending and first lines."""
    if path.suffix.lower() in MARKDOWN_ENDINGS:
        return Format.MARKDOWN
    for _, record in islice(json_records(path), DETECTION_LINES):
        if isinstance(record, Refusal):
            continue
        if is_claude_code(record):
            return Format.CLAUDE_CODE
        if is_codex(record):
            return Format.CODEX
    return None


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(files) if not name.startswith("."))


def _has_source_ending(path: Path) -> bool:
    return path.suffix.lower() in ENDINGS


def _ending(path: Path) -> str:
    return path.suffix.lower() or "no ending"
