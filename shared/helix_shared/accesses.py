"""Messages about accesses, from the forwarder to the writer: how often each memory was served, and when last.

They are lossy by design: an access that is lost changes nothing but a count, and a rebuild does not repeat
them. One message is about one tenant, that of its subject.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from helix_memory import limits
from helix_shared.errors import PermanentError
from helix_shared.identity import MEMORY_ID_PATTERN

if TYPE_CHECKING:
    from collections.abc import Sequence

VERSION: Final = 1
MOST_ACCESSES: Final = 1_000_000
LAST_MOMENT: Final = 2**62


@dataclass(frozen=True, slots=True)
class AccessedMemory:
    """How often a memory was served, 1 and up, and when last, in microseconds since 1970."""

    memory_id: str
    accesses: int
    last_at: int


def encode_accesses(memories: Sequence[AccessedMemory]) -> bytes:
    """The body of a message; at most `limits.ACCESSED_MEMORIES` memories."""
    rows = [[one.memory_id, one.accesses, one.last_at] for one in memories]
    return json.dumps({"version": VERSION, "memories": rows}, separators=(",", ":")).encode()


def decode_accesses(body: bytes) -> list[AccessedMemory]:
    """The memories of a message.

    Raises:
        PermanentError: the body has another form, or a value out of bounds.
    """
    try:
        value = json.loads(body)
        rows = value["memories"]
        if value["version"] != VERSION or not isinstance(rows, list) or len(rows) > limits.ACCESSED_MEMORIES:
            raise PermanentError(f"access message is not of version {VERSION}, or has too many memories")
        return [_memory(*row) for row in rows]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PermanentError("access message is malformed") from error


def _memory(memory_id: Any, accesses: Any, last_at: Any) -> AccessedMemory:
    is_sound = (
        isinstance(memory_id, str)
        and MEMORY_ID_PATTERN.match(memory_id) is not None
        and type(accesses) is int
        and 1 <= accesses <= MOST_ACCESSES
        and type(last_at) is int
        and 0 <= last_at <= LAST_MOMENT
    )
    if not is_sound:
        raise PermanentError("access message has a value out of bounds")
    return AccessedMemory(memory_id, accesses, last_at)
