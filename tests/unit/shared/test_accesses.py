import json
import time
from typing import Any

import pytest

from helix_memory import limits
from helix_shared.accesses import AccessedMemory, decode_accesses, encode_accesses
from helix_shared.errors import PermanentError

ID = "0123456789abcdef" * 2


def body(*rows: Any, version: Any = 1) -> bytes:
    """A message with these rows."""
    return json.dumps({"version": version, "memories": rows}).encode()


def test_a_message_is_read_as_it_was_written() -> None:
    """Id, number of accesses, time of the last one."""
    memories = [AccessedMemory(ID, 3, 1_700_000_000_000_000), AccessedMemory(ID[::-1], 1, 0)]
    assert decode_accesses(encode_accesses(memories)) == memories


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"null",
        b"[]",
        b'"x"',
        b"\xff",
        b"[" * 100_000,
        b'{"version":1}',
        body(version=2),
        body([ID, 1]),
        body([ID, 0, 0]),
        body([ID, -1, 0]),
        body([ID, True, 0]),
        body([ID, 1.5, 0]),
        body([ID, 2_000_000, 0]),
        body([ID, 1, -1]),
        body([ID, 1, 2**63]),
        body([ID.upper(), 1, 0]),
        body(["x" * 100_000, 1, 0]),
        body(*[[ID, 1, 0]] * (limits.ACCESSED_MEMORIES + 1)),
    ],
    ids=lambda message: repr(message[:30]),
)
def test_anything_else_is_refused_at_once(message: bytes) -> None:
    """The writer skips it; nothing is counted of a message that is broken in part."""
    started = time.thread_time()
    with pytest.raises(PermanentError):
        decode_accesses(message)
    assert time.thread_time() - started < 1
