"""One piece of work at a time beside the writer: started, left alone, asked for when it is done.

Its thread has a lower priority than those that apply and answer.
"""

from __future__ import annotations

import contextlib
import os
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_NICER: Final = 10


class BackgroundTask(Generic[T]):
    """Work under way, or none; used by one thread."""

    def __init__(self) -> None:
        self._under_way: Future[T] | None = None

    def start(self, work: Callable[[], T]) -> None:
        """Begin; what was under way is nobody's any more."""
        future = self._under_way = Future()
        # a daemon: the process may end without waiting for it, nothing refers to its result yet
        threading.Thread(target=_run, args=(work, future), name="errand", daemon=True).start()

    @property
    def is_under_way(self) -> bool:
        """Whether there is a result that nobody asked for yet, or will be."""
        return self._under_way is not None

    def drop(self, *, tidy_up: Callable[[], None]) -> None:
        """Never mind what is under way; its thread calls `tidy_up` when it is done, to remove its traces."""
        future, self._under_way = self._under_way, None
        if future is not None:
            future.add_done_callback(lambda _: tidy_up())

    def finished(self, *, wait: bool = False) -> T | None:
        """The result, once; None while there is none. With `wait` it is waited for.

        Raises: what the work raised.
        """
        if self._under_way is None or not (wait or self._under_way.done()):
            return None
        future, self._under_way = self._under_way, None
        return future.result()


def lower_priority() -> None:
    """Let other threads go first from now on; where the system does not let us, nothing happens."""
    with contextlib.suppress(OSError):
        # on Linux a thread's own id names the thread alone
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICER)


def _run(work: Callable[[], T], future: Future[T]) -> None:
    lower_priority()
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
        future.set_exception(error)
