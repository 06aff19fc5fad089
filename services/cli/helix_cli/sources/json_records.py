"""Reads the lines of a transcript as JSON objects, or as refusals with their place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from helix_cli.sources.jsonl import numbered_lines
from helix_cli.sources.source_event import Refusal

LINE_BYTES: Final = 64 * 1024 * 1024
"""Limit of a line; lines of transcripts contain images, which are left out later."""

Record = dict[str, Any]


def json_records(path: Path) -> Iterator[tuple[str, Record | Refusal]]:
    """`file:line` and the object of every line that is not blank."""
    with path.open("rb") as stream:
        yield from json_lines(stream, str(path))


def json_lines(stream: BinaryIO, name: str) -> Iterator[tuple[str, Record | Refusal]]:
    """`name:line` and the object of every line of a stream that is not blank."""
    for where, line in numbered_lines(stream, name, line_bytes=LINE_BYTES):
        yield where, line if isinstance(line, Refusal) else _record(where, line)


def _record(where: str, line: bytes) -> Record | Refusal:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        return Refusal(where, "line", f"no JSON: {error}")
    return record if isinstance(record, dict) else Refusal(where, "line", "must be a JSON object")
