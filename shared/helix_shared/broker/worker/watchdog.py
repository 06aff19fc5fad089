"""The watchdog of a process: it ends the process when its event loop has not run for a while.

A thread that holds the GIL for ever stops all of Python, heartbeats and timers included. The watchdog is a
thread of `faulthandler`, which needs no GIL: it writes where every thread stands to standard error and exits
with code 1. The supervisor then starts the process anew.
"""

from __future__ import annotations

import asyncio
import faulthandler
import os
import sys
from collections.abc import Awaitable
from typing import Final, NoReturn

from helix_shared.telemetry import logger

FAILURE_EXIT: Final = 1
BEATS: Final = 4
"""The watchdog is put off so many times in its time."""

_log = logger(__name__)


async def watched(work: Awaitable[None], *, hang_seconds: float) -> None:
    """Run `work` under the watchdog, which stays behind: what follows must end within `hang_seconds` too."""
    beating = asyncio.create_task(_beat(hang_seconds))
    try:
        await work
    finally:
        beating.cancel()
        faulthandler.dump_traceback_later(hang_seconds, exit=True)


async def _beat(hang_seconds: float) -> None:
    while True:
        faulthandler.dump_traceback_later(hang_seconds, exit=True)
        await asyncio.sleep(hang_seconds / BEATS)


def end_at_once(reason: str) -> NoReturn:
    """End the process without waiting for its threads; everything stored survives it."""
    _log.error("gives up", reason=reason)
    sys.stderr.flush()
    os._exit(FAILURE_EXIT)
