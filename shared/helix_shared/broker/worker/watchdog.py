"""The watchdog of a process: ends the process when its event loop has not run for a while.

A thread that never releases the GIL stops all of Python, including heartbeats and timers. The watchdog is a
thread of `faulthandler`, which does not need the GIL: it writes the stack of every thread to standard error
and exits with code 1. The supervisor then starts the process again.
"""

from __future__ import annotations

import asyncio
import faulthandler
import os
import sys
from collections.abc import Awaitable
from typing import Final, NoReturn

from helix_shared.telemetry.logs import logger

FAILURE_EXIT: Final = 1
BEATS: Final = 4
"""How often the watchdog is reset within `hang_seconds`."""

_log = logger(__name__)


async def watched(work: Awaitable[None], *, hang_seconds: float) -> None:
    """Run `work` under the watchdog. The process must end within `hang_seconds` afterwards."""
    heartbeat = asyncio.create_task(_beat(hang_seconds))
    try:
        await work
    finally:
        heartbeat.cancel()
        faulthandler.dump_traceback_later(hang_seconds, exit=True)


async def _beat(hang_seconds: float) -> None:
    while True:
        faulthandler.dump_traceback_later(hang_seconds, exit=True)
        await asyncio.sleep(hang_seconds / BEATS)


def end_at_once(reason: str, *, code: int = FAILURE_EXIT) -> NoReturn:
    """End the process without waiting for its threads; stored data is not affected."""
    _log.error("process ends", reason=reason)
    sys.stderr.flush()
    os._exit(code)
