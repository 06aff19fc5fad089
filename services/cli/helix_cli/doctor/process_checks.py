"""Checks of the processes of `helix up`: whether each does its work, and why not."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from helix_cli.doctor.finding import Finding, ok
from helix_cli.stack.liveness import reason_not_ready
from helix_memory.transport.polling import poll

if TYPE_CHECKING:
    from collections.abc import Mapping

READY_SECONDS: Final = 10.0
"""How long a process may take to be ready: one that was just started loads its model."""


async def process_checks(
    addresses: Mapping[str, str], *, ready_seconds: float | None = None
) -> list[Finding]:
    """A finding for all that are ready, and one for each that is not after `ready_seconds` (`READY_SECONDS`).

    `addresses`: where each process tells its health (host:port), by its name.
    """
    seconds = READY_SECONDS if ready_seconds is None else ready_seconds
    asked = await asyncio.gather(*(asyncio.to_thread(_not_ready, at, seconds) for at in addresses.values()))
    unready = {name: reason for name, reason in zip(addresses, asked, strict=True) if reason}
    found = [
        Finding(
            "processes", "problem", f"{name}: {reason}", "what it does waits",
            f"the log of {name} says more; `helix up` restarts a process that ends or hangs",
        )
        for name, reason in unready.items()
    ]  # fmt: skip
    ready = [name for name in addresses if name not in unready]
    return [*found, ok("processes", f"ready: {', '.join(ready)}")] if ready else found


def _not_ready(address: str, seconds: float) -> str:
    """Why the process is not ready after `seconds`, a reason a line; empty: it is ready by then."""
    reason = ""
    for _ in poll(seconds):
        reason = reason_not_ready(f"http://{address}")
        if not reason:
            break
    return reason
