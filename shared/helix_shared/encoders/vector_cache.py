"""A bounded, thread-safe cache of embeddings by text (least recently used first out)."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from helix_shared.encoders.token_codes import Embedding

KEY_BYTES = 32


class Cache(Protocol):
    """Embeddings of one model by text; thread-safe."""

    def get(self, text: str) -> Embedding | None:
        """Return the embedding of `text`, with or without codes, or None."""

    def put(self, text: str, embedding: Embedding) -> None:
        """Store `embedding` in place of an earlier one."""


ENTRY_BYTES = 512
"""Memory of an entry besides its arrays."""


class VectorCache:
    """Embeddings by text, up to `most_bytes` of memory; zero stores nothing."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._lock = threading.Lock()
        self._embeddings: OrderedDict[bytes, Embedding] = OrderedDict()

    def get(self, text: str) -> Embedding | None:
        """Return the embedding of `text`, or None; this counts as a use."""
        key = text_key(text)
        with self._lock:
            embedding = self._embeddings.get(key)
            if embedding is not None:
                self._embeddings.move_to_end(key)
            return embedding

    def put(self, text: str, embedding: Embedding) -> None:
        """Store `embedding`, and drop the least recently used ones above the limit."""
        key = text_key(text)
        with self._lock:
            replaced = self._embeddings.pop(key, None)
            self._embeddings[key] = embedding
            self._bytes += _entry_bytes(embedding) - (0 if replaced is None else _entry_bytes(replaced))
            while self._bytes > self._most_bytes:
                _, dropped = self._embeddings.popitem(last=False)
                self._bytes -= _entry_bytes(dropped)


def text_key(text: str) -> bytes:
    """The cache key of `text`."""
    # A digest, because a text can be a thousand times the size of its embedding.
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


def _entry_bytes(embedding: Embedding) -> int:
    return embedding.nbytes + ENTRY_BYTES
