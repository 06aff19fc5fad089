"""A bounded, thread-safe cache of vectors by text (least recently used first out)."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np

KEY_BYTES = 32


class Cache(Protocol):
    """Vectors of one model by text; thread-safe."""

    def get(self, text: str) -> np.ndarray | None:
        """Return the vector of `text`, read-only, or None."""

    def put(self, text: str, vector: np.ndarray) -> None:
        """Store `vector`."""


ENTRY_BYTES = 512
"""Memory of an entry besides its vector."""


class VectorCache:
    """Vectors by text, up to `most_bytes` of memory; zero stores nothing."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._lock = threading.Lock()
        self._vectors: OrderedDict[bytes, np.ndarray] = OrderedDict()

    def get(self, text: str) -> np.ndarray | None:
        """Return the vector of `text`, or None; this counts as a use."""
        key = text_key(text)
        with self._lock:
            vector = self._vectors.get(key)
            if vector is not None:
                self._vectors.move_to_end(key)
            return vector

    def put(self, text: str, vector: np.ndarray) -> None:
        """Store `vector`, and drop the least recently used ones above the limit."""
        key = text_key(text)
        with self._lock:
            replaced = self._vectors.pop(key, None)
            self._vectors[key] = vector
            self._bytes += _entry_bytes(vector) - (0 if replaced is None else _entry_bytes(replaced))
            while self._bytes > self._most_bytes:
                _, dropped = self._vectors.popitem(last=False)
                self._bytes -= _entry_bytes(dropped)


def text_key(text: str) -> bytes:
    """The cache key of `text`."""
    # A digest, because a text can be a thousand times the size of its vector.
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


def _entry_bytes(vector: np.ndarray) -> int:
    return int(vector.nbytes) + ENTRY_BYTES
