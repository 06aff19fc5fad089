"""A cache of the most recently used values."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """At most `capacity` values, the least recently used first out; safe for several threads."""

    def __init__(self, capacity: int) -> None:
        self._capacity: Final = capacity
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock: Final = threading.Lock()

    def __len__(self) -> int:
        with self._lock:  # put() holds one value too many for a moment
            return len(self._values)

    def get(self, key: K) -> V | None:
        """The value of `key`, or None; this counts as a use."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> None:
        """Store `value` in place of an earlier one."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._capacity:
                self._values.popitem(last=False)

    def discard(self, key: K) -> None:
        """Forget the value of `key`, if there is one."""
        with self._lock:
            self._values.pop(key, None)
