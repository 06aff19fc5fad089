"""Answering a batch: dead letters and delays at once, acknowledgements after publication.

An answer that does not get through is no failure: the message comes again, and changes nothing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from helix_consolidation.delivery.out_of_order import is_out_of_order
from helix_shared.broker import settlement
from helix_shared.broker.connection import UNANSWERED
from helix_shared.errors import PermanentError, TemporaryError
from helix_shared.telemetry import logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Sequence

    from nats.aio.msg import Msg

    from helix_consolidation.folding.context import ConsolidationState
    from helix_consolidation.stores.shard import Outcome
    from helix_shared.broker.publisher import Publisher

SERVICE: Final = "consolidation"
AT_ONCE: Final = 256
"""Answers in flight; a dead letter waits until the stream has stored it."""

_log = logger(__name__)


async def file(outcome: Outcome, publisher: Publisher) -> None:
    """Store the dead letters of a batch; a message whose letter is not stored is postponed instead."""
    unstored_dead_letters: list[tuple[Msg, TemporaryError]] = []

    async def file_one(message: Msg, error: PermanentError) -> None:
        try:
            await settlement.store_dead_letter(message, error, service=SERVICE, publisher=publisher)
        except (*UNANSWERED, TemporaryError) as failure:
            unstored_dead_letters.append(
                (message, TemporaryError(f"dead letter not stored: {failure or type(failure)}"))
            )

    await _all(file_one(message, error) for message, error in outcome.dead)
    late = {id(message) for message, _ in unstored_dead_letters}
    outcome.dead = [(message, error) for message, error in outcome.dead if id(message) not in late]
    outcome.postponed += unstored_dead_letters


async def answer(outcome: Outcome) -> None:
    """Acknowledge what is done, terminate what is dead."""
    await _all(settlement.acknowledge(message) for message in outcome.done)
    await _all(settlement.terminate(message, service=SERVICE) for message, _ in outcome.dead)


async def postpone(messages: Sequence[tuple[Msg, TemporaryError]], state: ConsolidationState) -> None:
    """Ask for messages again after a delay, which doubles with every delivery unless they came too early."""
    await _all(
        settlement.postpone(
            message,
            error,
            service=SERVICE,
            longest_seconds=0.0 if is_out_of_order(message, state) else None,
        )
        for message, error in messages
    )


async def _all(answers: Iterable[Awaitable[None]]) -> None:
    waiting = list(answers)
    for start in range(0, len(waiting), AT_ONCE):
        results = await asyncio.gather(*waiting[start : start + AT_ONCE], return_exceptions=True)
        for result in results:
            if isinstance(result, (*UNANSWERED, TemporaryError)):
                _log.warning("answer lost", reason=str(result) or type(result).__name__)
            elif isinstance(result, BaseException):
                raise result
