"""Health of one process by its progress, served over HTTP on the port of the metrics.

`/healthz` tells whether the process is alive: 503 once its event loop has not run for `hang_seconds`. A
supervisor restarts a process that does not answer, or not with 200. `/readyz` tells whether it does its work:
503 with the reasons, one a line, while it starts, ends, or something that it needs is missing. A restart does
not help there.
"""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Final

STARTING: Final = "starting"
STOPPING: Final = "stopping"
BEAT_SECONDS: Final = 1.0


class Health:
    """The health of the parts of a process; any thread may call it."""

    def __init__(self, *, hang_seconds: float = 60.0) -> None:
        """The process is starting: `set_problem(STARTING, "")` makes it ready."""
        self._hang_seconds = hang_seconds
        self._beat: float | None = None
        self._problems = {STARTING: "the process is starting"}
        self._lock = threading.Lock()

    def beat(self) -> None:
        """The event loop runs; call it every few seconds."""
        self._beat = time.monotonic()

    def set_problem(self, part: str, reason: str) -> bool:
        """Why a part does not do its work; empty: it does. Returns whether that changed."""
        with self._lock:
            changed = self._problems.get(part, "") != reason
            self._problems.pop(part, None)
            if reason:
                self._problems[part] = reason
            return changed

    def stop(self) -> None:
        """The process ends: it is not ready from now on."""
        self.set_problem(STOPPING, "the process is ending")

    def not_alive(self) -> str:
        """Why the process must be restarted; empty while it is alive, and before its loop runs."""
        silent = 0.0 if self._beat is None else time.monotonic() - self._beat
        return f"the event loop has not run for {silent:.0f} s" if silent > self._hang_seconds else ""

    def not_ready(self) -> str:
        """The reasons why the process does not do its work, one a line; empty while it does."""
        with self._lock:
            problems = [f"{part}: {reason}" for part, reason in self._problems.items()]
        return "\n".join([*filter(None, [self.not_alive()]), *problems])


async def beat(health: Health) -> None:
    """Report that the event loop runs, until cancelled."""
    while True:
        health.beat()
        await asyncio.sleep(BEAT_SECONDS)
