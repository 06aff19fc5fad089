"""Has events derived again whose memories quoted something erased.

Ingest reads the turns around an event from the log, which the erased ones have left. Its result goes to
HELIX_DERIVED like any other: the latest one counts.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from helix_memory import subjects
from helix_shared.broker import log
from helix_shared.broker.worker.rederive import MADE_OF_MEMORIES, request_derivation
from helix_shared.errors import TemporaryError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nats.aio.client import Client

    from helix_memory.transport.publisher import Publishes

REQUESTS_IN_FLIGHT: Final = 4
"""Ingest answers requests one at a time."""
_MEMORIES: Final = "memories"

_log = logger(__name__)


async def rederive(
    client: Client, publisher: Publishes, sequences: Iterable[int], *, model: str, round_id: str
) -> dict[int, int]:
    """Ask for events by sequence; returns the sequence in HELIX_DERIVED of the last message of each.

    0: the event is no longer in the log. One that cannot be derived now is left out. `round_id` makes the ids
    of the messages unlike those of earlier rounds.
    """
    found: dict[int, int] = {}
    waiting = asyncio.Semaphore(REQUESTS_IN_FLIGHT)

    async def one(sequence: int) -> None:
        async with waiting:
            try:
                found[sequence] = await _derive(client, publisher, sequence, model, round_id)
            except TemporaryError as error:
                _log.warning("quoting event not derived again", sequence=sequence, reason=str(error))

    await asyncio.gather(*map(one, sequences))
    return found


async def _derive(client: Client, publisher: Publishes, sequence: int, model: str, round_id: str) -> int:
    logged = await log.message_at(client, subjects.EVENTS_STREAM, sequence)
    address = None if logged is None else subjects.parse_event_subject(logged.subject)
    if address is None:
        return 0
    memories = await request_derivation(client, _MEMORIES, sequence=sequence, model=model)
    enriched = [
        (edge, await request_derivation(client, edge, sequence=sequence, memories=memories.body))
        for edge in MADE_OF_MEMORIES
    ]
    last = 0
    for edge, derived in ((_MEMORIES, memories), *enriched):
        ack = await publisher.publish(
            subjects.derived_subject(edge, address.tenant_id),
            derived.body,
            message_id=subjects.derived_message_id(edge, sequence, f"erased:{round_id}"),
            headers=derived.headers(sequence),
        )
        last = max(last, ack.sequence)
    return last
