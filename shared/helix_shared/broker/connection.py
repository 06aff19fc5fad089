"""One way to connect: reconnect for ever, notice a dead link in seconds, never hang silently.

nats-py's own defaults give up after two minutes and then spin; a link that swallows packets goes
unnoticed for four. A worker whose connection is closed for good ends its process
(`helix_shared.broker.worker.worker` watches), so that its supervisor starts it anew.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import nats
import nats.errors
from nats.aio.client import Client

from helix_shared.errors import TemporaryError
from helix_shared.telemetry import logger

RECONNECT_SECONDS: Final = 1
PING_SECONDS: Final = 2
CONNECT_SECONDS: Final = 5

UNANSWERED: Final = (nats.errors.Error, TimeoutError, OSError)
"""What a call to NATS raises while the server is away."""

_log = logger(__name__)


def connection_options(*, name: str) -> dict[str, Any]:
    """Keyword arguments for `nats.connect` and for FastStream's `NatsBroker` alike."""

    async def report(error: Exception) -> None:
        _log.warning("nats error", error=str(error) or type(error).__name__)

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
        TemporaryError: nothing answers at `url` within `timeout_seconds`.
    """
    options = connection_options(name=name)
    try:
        # the first connect must fail fast; reconnecting afterwards is endless
        once = options | {"allow_reconnect": False, "max_reconnect_attempts": 1}
        probe = await asyncio.wait_for(nats.connect(url, **once), timeout_seconds)
        await probe.close()
        return await nats.connect(url, **options)
    except (OSError, nats.errors.Error, TimeoutError) as error:
        raise TemporaryError(f"no NATS server answers at {url}; start one, e.g. with `helix up`") from error
