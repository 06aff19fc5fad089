"""The life of one consolidation process: stand by, write under the lease, release it, and again.

It has its own pull loop instead of FastStream's subscribers, because it holds messages and acknowledges them
after a generation is published. A lost lease, or a server that is away for longer than the lease is valid,
ends the writing, not the process: it stands by again and starts from the newest generation. What was not
published is delivered again. Any other failure ends the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import traceback
from typing import TYPE_CHECKING, Final

from nats.errors import Error as NatsError

from helix_consolidation.delivery.leading.lease import LostLeaseError
from helix_consolidation.delivery.leading.pausing import Pauses
from helix_consolidation.delivery.leading.standby import POLL_SECONDS, stand_by
from helix_consolidation.delivery.session import writer_session
from helix_memory.transport.connection import reason_of
from helix_shared.errors import TemporaryError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from nats.aio.client import Client

    from helix_consolidation.delivery.leading.lease import Lease
    from helix_consolidation.settings import ConsolidationSettings
    from helix_shared.telemetry.health import Health

INTERRUPTIONS: Final = (LostLeaseError, TemporaryError, NatsError, TimeoutError, ConnectionError)
"""Errors that end the writing, not the process; other `OSError`s come from the disk and end the process."""

_log = logger(__name__)


async def consolidate(
    client: Client, settings: ConsolidationSettings, stop: asyncio.Event, health: Health
) -> None:
    """Stand by and write until `stop` is set; start again after every interruption.

    `health` hears why the writer is blocked or publishes nothing.

    Raises:
        HelixError: the data folder and the streams do not fit, or the stores disagree.
    """
    async with Pauses(client, settings.shard, stop) as pauses:
        while not stop.is_set():
            await pauses.over()
            with pauses.halt() as halt:
                if await _write_once(client, settings, halt, health):
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(halt.wait(), POLL_SECONDS)


async def _write_once(
    client: Client, settings: ConsolidationSettings, halt: asyncio.Event, health: Health
) -> bool:
    """Stand by, and write until `halt` is set; returns whether something else ended it."""
    acquired = await stand_by(client.jetstream(), settings.data_dir, halt, shard=settings.shard)
    if acquired is None:
        return False
    lock, lease = acquired
    try:
        async with _renewed(lease), writer_session(client, settings, lease, health) as session:
            await session.write(halt)
    except INTERRUPTIONS as error:
        _log.warning("writing interrupted", reason=reason_of(error))
        # a task group and its error hold each other, and so the state: a gigabyte for a million memories
        traceback.clear_frames(error.__traceback__)
        return True
    finally:
        lock.release()
    return False


@contextlib.asynccontextmanager
async def _renewed(lease: Lease) -> AsyncIterator[None]:
    """Renew the lease while the block runs, which a lost lease cancels; release it after the block."""
    over = asyncio.Event()
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(lease.renew_until(over))
            try:
                yield
            finally:
                over.set()
    except BaseExceptionGroup as failures:
        raise _cause(failures) from failures
    finally:
        await lease.release()


def _cause(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """The failure that decides: one that ends the process, if there is any."""
    leaves: list[BaseException] = []
    waiting: list[BaseException] = [failures]
    while waiting:
        failure = waiting.pop(0)
        if isinstance(failure, BaseExceptionGroup):
            waiting += failure.exceptions
        else:
            leaves.append(failure)
    return next((leaf for leaf in leaves if not isinstance(leaf, INTERRUPTIONS)), leaves[0])
