"""One task at a time in a background thread, whose result the writer collects later.

The thread has a lower priority than the threads that apply events and answer recalls.
"""

from __future__ import annotations

import contextlib
import os
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from helix_shared.machine.panics import as_exception

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

THREAD_NAME: Final = "background-task"
_NICENESS: Final = 10


class BackgroundTask(Generic[T]):
    """A running task, or none; used by one thread."""

    def __init__(self) -> None:
        self._future: Future[T] | None = None

    def start(self, work: Callable[[], T]) -> None:
        """Start `work`; the result of a task started before is dropped."""
        future = self._future = Future()
        # a daemon thread: the process may exit without it, since nothing refers to the result yet
        threading.Thread(target=_run, args=(work, future), name=THREAD_NAME, daemon=True).start()

    @property
    def is_running(self) -> bool:
        """Whether a task was started whose result was not collected yet."""
        return self._future is not None

    def drop(self, *, clean_up: Callable[[], None]) -> None:
        """Drop the result; the thread of the task calls `clean_up` when the task ends."""
        future, self._future = self._future, None
        if future is not None:
            future.add_done_callback(lambda _: clean_up())

    def collect(self, *, wait: bool = False) -> T | None:
        """The result, once; None while there is none. With `wait`, waits for it.

        Raises: what the task raised; `EnginePanicError` for a panic of an engine.
        """
        if self._future is None or not (wait or self._future.done()):
            return None
        future, self._future = self._future, None
        return future.result()


def lower_thread_priority() -> None:
    """Lower the priority of this thread, where the system allows it."""
    with contextlib.suppress(OSError):
        # on Linux the native id of a thread selects the thread alone
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


def _run(work: Callable[[], T], future: Future[T]) -> None:
    lower_thread_priority()
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - raised by `collect`
        future.set_exception(as_exception(error))
