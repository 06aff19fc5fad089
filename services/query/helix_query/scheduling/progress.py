"""The event sequence that can be recalled, and the calls that wait for a later one.

`CurrentGeneration` advances it from its thread after a swap. Calls wait on the event loop: a waiting call
costs a future and no thread, and there is no polling.
"""

from __future__ import annotations

import asyncio
import threading


class Progress:
    """The last event sequence that can be recalled; it never decreases."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sequence = -1
        self._waiting: dict[asyncio.Future[None], int] = {}

    def has_reached(self, sequence: int) -> bool:
        """Whether events up to `sequence` can be recalled; always true for 0."""
        with self._lock:
            return sequence <= max(self._sequence, 0)

    def advance(self, sequence: int) -> None:
        """Set the sequence and wake the calls that wait for it; from any thread."""
        with self._lock:
            self._sequence = max(self._sequence, sequence)
            due = [future for future, wanted in self._waiting.items() if wanted <= self._sequence]
            for future in due:
                del self._waiting[future]
        for future in due:
            future.get_loop().call_soon_threadsafe(_wake, future)

    async def reach(self, sequence: int, *, seconds: float) -> bool:
        """Wait at most `seconds` for `sequence`; return whether it was reached."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            if sequence <= self._sequence:
                return True
            self._waiting[future] = sequence
        try:
            await asyncio.wait_for(future, seconds)
        except TimeoutError:
            return self.has_reached(sequence)
        finally:
            with self._lock:
                self._waiting.pop(future, None)
        return True


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
