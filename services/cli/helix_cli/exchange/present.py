"""Which messages the log has already: 24 bytes of memory for each id, so an import fits beside any log."""

from __future__ import annotations

import hashlib
from array import array
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_shared.event_log.record import EventRecord

_DIGEST_BYTES: Final = 15
_END: Final = b"."
"""numpy drops zero bytes at the end of what an array of bytes holds, so none ends with one."""
_ID_BYTES: Final = _DIGEST_BYTES + len(_END)


class PresentIds:
    """Ids of messages with their sequences; all are added before the first is asked for."""

    def __init__(self) -> None:
        self._digests, self._sequences = bytearray(), array("Q")
        self._ids = np.empty(0, f"S{_ID_BYTES}")
        self._places = np.empty(0, np.uint64)

    def add(self, records: Iterable[EventRecord]) -> None:
        """Note messages in the order of the log; those without an id are passed by."""
        for record in records:
            if record.message_id:
                self._digests += _digest(record.message_id)
                self._sequences.append(record.sequence)

    def sort(self) -> None:
        """Make the ids searchable."""
        found = np.frombuffer(self._digests, f"S{_ID_BYTES}")
        order = np.argsort(found, kind="stable")
        self._ids, self._places = found[order], np.frombuffer(self._sequences, np.uint64)[order]

    def sequence_of(self, message_id: str) -> int | None:
        """Sequence of the last message with this id; None: there is none."""
        digest = np.bytes_(_digest(message_id))
        place = int(np.searchsorted(self._ids, digest, side="right")) - 1
        return int(self._places[place]) if place >= 0 and self._ids[place] == digest else None


def _digest(message_id: str) -> bytes:
    content = message_id.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest() + _END
