"""A value that is made when it is first asked for, once, however many threads ask."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Generic, TypeVar

T = TypeVar("T")


class Lazy(Generic[T]):
    """Holds what `make` returns; when `make` raises, the next one who asks tries again."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Final = make
        self._lock: Final = threading.Lock()
        self._made: tuple[T] | None = None

    @property
    def value(self) -> T:
        """The value; the first to ask makes it, others wait."""
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = (self._make(),)
        return self._made[0]
