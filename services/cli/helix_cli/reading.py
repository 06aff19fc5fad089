"""Reading JSONL: a line of any length, any bytes, any JSON ends in an event or in a refusal.

A line without `event_id` gets one that follows from its content, so publishing a file twice
changes nothing. `sending` comes next.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

import pydantic_core

from helix_cli.located import Located, Refusal, from_json

LINE_BYTES: Final = 4 * 1024 * 1024
"""An event may have 256 KiB; a line far beyond is refused without being held in memory."""

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


def numbered_lines(
    stream: BinaryIO, name: str, *, line_bytes: int = LINE_BYTES
) -> Iterator[tuple[str, bytes | Refusal]]:
    """`name:number` and content of every line that is not blank."""
    number = 0
    while line := stream.readline(line_bytes + 1):
        number += 1
        where = f"{name}:{number}"
        if len(line) > line_bytes and not line.endswith(b"\n"):
            while (rest := stream.readline(line_bytes)) and not rest.endswith(b"\n"):
                pass
            yield where, Refusal(where, "line", f"longer than {line_bytes} bytes")
            continue
        stripped = line.removeprefix(_BYTE_ORDER_MARK).strip() if number == 1 else line.strip()
        if stripped:
            yield where, stripped


def read_events(stream: BinaryIO, name: str, *, tenant_id: str = "") -> Iterator[Located | Refusal]:
    """Every event of a JSONL stream; `tenant_id` fills in for lines that name no tenant."""
    for where, line in numbered_lines(stream, name):
        yield line if isinstance(line, Refusal) else _read_event(where, line, tenant_id)


def derived_event_id(fields: dict[str, Any]) -> str:
    """Id that follows from the content: sha256 of the canonical JSON (keys sorted, ASCII, no spaces)."""
    canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _read_event(where: str, line: bytes, tenant_id: str) -> Located | Refusal:
    try:
        fields = pydantic_core.from_json(line)
    except ValueError as error:
        return Refusal(where, "line", f"no JSON: {error}")
    if not isinstance(fields, dict):
        return Refusal(where, "line", "must be a JSON object")
    if tenant_id:
        fields.setdefault("tenant_id", tenant_id)
    if not fields.get("event_id"):
        fields.pop("event_id", None)
        fields["event_id"] = derived_event_id(fields)
    return from_json(where, json.dumps(fields).encode())
