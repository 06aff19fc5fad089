"""Connecting to NATS: reconnects without limit and notices a dead connection within seconds.

By default nats-py gives up after two minutes and notices lost packets after four. When a connection is closed
for good, `helix_shared.broker.worker.worker` ends the process, and its supervisor starts it again.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final

import nats
import nats.errors
from nats.aio.client import Client

from helix_memory.errors import TemporaryError

RECONNECT_SECONDS: Final = 1
PING_SECONDS: Final = 2
CONNECT_SECONDS: Final = 5

UNANSWERED: Final = (nats.errors.Error, TimeoutError, OSError)
"""What a call to NATS raises while the server is unreachable."""

_log = logging.getLogger(__name__)


def connection_options(*, name: str) -> dict[str, Any]:
    """Keyword arguments for both `nats.connect` and FastStream's `NatsBroker`."""

    async def report(error: Exception) -> None:
        _log.warning("nats error: %s", str(error) or type(error).__name__)

    return {
        "name": name,
        "error_cb": report,
        "allow_reconnect": True,
        "max_reconnect_attempts": -1,
        "reconnect_time_wait": RECONNECT_SECONDS,
        "connect_timeout": CONNECT_SECONDS,
        "ping_interval": PING_SECONDS,
        "max_outstanding_pings": 2,
    }


async def connect(url: str, *, name: str, timeout_seconds: float = CONNECT_SECONDS) -> Client:
    """A connected client.

    Raises:
        TemporaryError: no server answers at `url` within `timeout_seconds`.
    """
    options = connection_options(name=name)
    try:
        # the first connection must fail fast; later reconnections are unlimited
        once = options | {"allow_reconnect": False, "max_reconnect_attempts": 1}
        probe = await asyncio.wait_for(nats.connect(url, **once), timeout_seconds)
        await probe.close()
        return await nats.connect(url, **options)
    except (OSError, nats.errors.Error, TimeoutError) as error:
        raise TemporaryError(f"no NATS server answers at {url}; start one, e.g. with `helix up`") from error
