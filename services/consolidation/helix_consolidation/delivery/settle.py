"""Settling the messages of a batch: dead letters and delays at once, acknowledgements after publication.

A reply that is lost does no harm: the message is delivered again, and changes nothing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from helix_consolidation.delivery.out_of_order import is_out_of_order
from helix_memory.subjects import EVENTS_STREAM, kind_of
from helix_memory.transport.connection import UNANSWERED, reason_of
from helix_shared.broker import dead_letters, log, settlement
from helix_shared.errors import PermanentError, TemporaryError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Sequence

    from nats.aio.client import Client
    from nats.aio.msg import Msg

    from helix_consolidation.ledger.consolidation_state import ConsolidationState
    from helix_consolidation.stores.outcome import Outcome
    from helix_memory.transport.publisher import Publisher

SERVICE: Final = "consolidation"
REPLIES_IN_FLIGHT: Final = 256
"""Replies in flight; a dead letter waits until the stream has stored it."""

UNREACHED_REASON: Final = (
    "names nothing that the user_id and acl of this event could recall before it; "
    "check the id, and whose it is"
)
_ID_FIELDS: Final = {"undo": "memory_id", "document": "document_id"}
"""Field with the ids, by kind of event; `memory_ids` of every other kind."""

_log = logger(__name__)


async def store_dead_letters(outcome: Outcome, publisher: Publisher) -> None:
    """Store the dead letters of a batch; a message whose letter is not stored is postponed instead."""
    failed: list[tuple[Msg, TemporaryError]] = []

    async def store(message: Msg, error: PermanentError) -> None:
        try:
            await settlement.store_dead_letter(message, error, service=SERVICE, publisher=publisher)
        except (*UNANSWERED, TemporaryError) as failure:
            reason = f"dead letter not stored: {reason_of(failure)}"
            failed.append((message, TemporaryError(reason)))

    await _all(store(message, error) for message, error in outcome.dead)
    failed_ids = {id(message) for message, _ in failed}
    outcome.dead = [(message, error) for message, error in outcome.dead if id(message) not in failed_ids]
    outcome.postponed += failed


async def store_unreached(client: Client, sequences: list[int], publisher: Publisher) -> None:
    """Store dead letters of the events of `sequences`, which reached nothing of what they name.

    What is stored is removed from `sequences`.

    Raises:
        TemporaryError: NATS does not answer; `sequences` has the rest.
    """
    while sequences:
        logged = await log.message_at(client, EVENTS_STREAM, sequences[0])
        if logged is not None:
            field = _ID_FIELDS.get(kind_of(logged.subject), "memory_ids")
            await dead_letters.publish_dead_letter(
                dead_letters.LetterOrigin(logged.subject, EVENTS_STREAM, logged.sequence, logged.sequence),
                logged.body,
                f"{field}: {UNREACHED_REASON}",
                service=SERVICE,
                publisher=publisher,
            )
        del sequences[0]


async def settle(outcome: Outcome) -> None:
    """Acknowledge the `done` and `foreign` messages, terminate the `dead` ones."""
    await _all(settlement.acknowledge(message) for message in (*outcome.done, *outcome.foreign))
    await _all(settlement.terminate(message, service=SERVICE) for message, _ in outcome.dead)


async def postpone(messages: Sequence[tuple[Msg, TemporaryError]], state: ConsolidationState) -> None:
    """Request redelivery after a delay; it doubles with every delivery unless the message is out of order."""
    await _all(
        settlement.postpone(
            message,
            error,
            service=SERVICE,
            longest_seconds=0.0 if is_out_of_order(message, state) else None,
        )
        for message, error in messages
    )


async def _all(replies: Iterable[Awaitable[None]]) -> None:
    waiting = list(replies)
    for start in range(0, len(waiting), REPLIES_IN_FLIGHT):
        results = await asyncio.gather(*waiting[start : start + REPLIES_IN_FLIGHT], return_exceptions=True)
        for result in results:
            if isinstance(result, (*UNANSWERED, TemporaryError)):
                _log.warning("reply lost", reason=reason_of(result))
            elif isinstance(result, BaseException):
                raise result
