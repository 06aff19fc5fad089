"""The vectors of the texts seen last, so that equal text is embedded once.

Bounded, least recently used first out, safe to use from several threads. `encoder` asks here first.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np

KEY_BYTES = 32


class Cache(Protocol):
    """Vectors of one model by the text they were made of; safe to use from several threads."""

    def get(self, text: str) -> np.ndarray | None:
        """Return the vector of `text`, read-only, if it is known."""

    def put(self, text: str, vector: np.ndarray) -> None:
        """Keep `vector`."""


ENTRY_BYTES = 512
"""What an entry takes besides its vector: the key and the objects around both."""


class VectorCache:
    """Vectors by text, up to `most_bytes` of memory; a bound of zero keeps nothing."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._lock = threading.Lock()
        self._vectors: OrderedDict[bytes, np.ndarray] = OrderedDict()

    def get(self, text: str) -> np.ndarray | None:
        """Return the vector of `text` if it is still here, and count that as a use."""
        key = text_key(text)
        with self._lock:
            vector = self._vectors.get(key)
            if vector is not None:
                self._vectors.move_to_end(key)
            return vector

    def put(self, text: str, vector: np.ndarray) -> None:
        """Keep `vector`, and drop the least recently used ones when there is no room."""
        key = text_key(text)
        with self._lock:
            replaced = self._vectors.pop(key, None)
            self._vectors[key] = vector
            self._bytes += _entry_bytes(vector) - (0 if replaced is None else _entry_bytes(replaced))
            while self._bytes > self._most_bytes:
                _, dropped = self._vectors.popitem(last=False)
                self._bytes -= _entry_bytes(dropped)


def text_key(text: str) -> bytes:
    """What stands for `text` in a cache."""
    # A digest, because a text can be a thousand times the size of its vector.
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


def _entry_bytes(vector: np.ndarray) -> int:
    return int(vector.nbytes) + ENTRY_BYTES
