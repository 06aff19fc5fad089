"""Numbers the lines of a file of bytes, and leaves out those that are too long to be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final

from helix_shared.sources.source_event import Refusal

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


def numbered_lines(stream: BinaryIO, name: str, *, line_bytes: int) -> Iterator[tuple[str, bytes | Refusal]]:
    """`name:number` and content of every line that is not blank, or a refusal of a line that is too long."""
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
