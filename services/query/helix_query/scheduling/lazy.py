"""A value that is computed on first use, once for all threads."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from helix_query.scheduling.deadline import seconds_left
from helix_shared.errors import PASSED, OverdueError

T = TypeVar("T")


class Lazy(Generic[T]):
    """Holds what `make` returns; if `make` raises, the next reader tries again."""

    def __init__(self, make: Callable[[], T], *, until: float = math.inf) -> None:
        """`until` is the deadline of `value`, a moment of the monotonic clock."""
        self._make: Final = make
        self._until: Final = until
        self._lock: Final = threading.Lock()
        self._made: tuple[T] | None = None

    @property
    def made(self) -> T | None:
        """The value; None if nobody has asked for it yet."""
        return None if self._made is None else self._made[0]

    @property
    def value(self) -> T:
        """The value; the first reader makes it, others wait.

        Raises:
            OverdueError: another thread was not ready in time.
        """
        return self._made[0] if self._made is not None else self.wait(self._until)

    def wait(self, until: float) -> T:
        """The value; waits at most until `until` (monotonic clock) while another thread makes it.

        Raises:
            OverdueError: that thread was not ready by then.
        """
        if self._made is None:
            if not self._lock.acquire(timeout=seconds_left(until, most=threading.TIMEOUT_MAX)):
                raise OverdueError(PASSED)
            try:
                if self._made is None:
                    self._made = (self._make(),)
            finally:
                self._lock.release()
        return self._made[0]
