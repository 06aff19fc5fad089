"""One event loop for all searches of LanceDB, in a thread of its own.

A search through LanceDB's synchronous table makes five round trips to LanceDB's own loop. A search that is
one coroutine makes one round trip, which saves 1 ms of 5.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

Result = TypeVar("Result")


def result_of(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine on the search loop; call this from any other thread."""
    return asyncio.run_coroutine_threadsafe(coroutine, _loop()).result()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="vector-search", daemon=True).start()
    return loop
