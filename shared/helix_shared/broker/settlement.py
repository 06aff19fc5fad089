"""Settles a delivered message: acknowledge it, ask for redelivery, or make it a dead letter.

`settle` runs a handler and does exactly one of the three; the error that the handler raises decides which.
After an `IncompatibleError` the fault is in this process and not in the message: it is redelivered without
limit, and the delivery does not count as an attempt. A dead letter is stored before the message is
terminated, so a refused message is never lost.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from nats.aio.msg import Msg

from helix_memory import subjects
from helix_memory.transport.connection import UNANSWERED, reason_of
from helix_memory.transport.publisher import Publisher
from helix_shared.broker.dead_letters import LetterOrigin, publish_dead_letter
from helix_shared.errors import (
    HelixError,
    IncompatibleError,
    OverdueError,
    PermanentError,
    TemporaryError,
)
from helix_shared.telemetry.logs import logger
from helix_shared.telemetry.metrics import MESSAGES

ATTEMPTS: Final = 8
OVERDUE_ATTEMPTS: Final = 3
"""Each costs the worker a thread, and delays other messages by a deadline."""
LONGEST_DELAY_SECONDS: Final = 60.0
MOST_DOUBLINGS: Final = 16
"""Limit for the doubling of the delay; a message that is held for long has thousands of deliveries."""
FAILING_MESSAGES: Final = 10_000
"""Messages whose failures are counted; beyond that the count of the oldest message is dropped."""
HOLD_SECONDS: Final = 15.0
"""Delay of a message that this process cannot read."""

_log = logger(__name__)

Handler = Callable[[Msg], Awaitable[None]]


@dataclass(slots=True)
class FailureCount:
    """Deliveries of one message to this process: failed, of these overdue, and held."""

    times: int = 0
    overdue: int = 0
    held: int = 0

    @property
    def not_overdue(self) -> int:
        """Deliveries to this process that did not pass the deadline."""
        return self.times - self.overdue + self.held


class Failures:
    """Counts the failures of this process by message; a held delivery is not a failure.

    `is_ending` returns whether the process is about to end because of overdue handlers.
    """

    def __init__(self, *, is_ending: Callable[[], bool] = lambda: False) -> None:
        self.is_ending = is_ending
        self._of: dict[int, FailureCount] = {}

    def add(self, message: Msg, *, overdue: bool = False) -> FailureCount:
        """Count a failure; returns all counts of the message."""
        found = self._latest(message)
        found.times += 1
        found.overdue += overdue
        return found

    def add_held(self, message: Msg) -> None:
        """Count a held delivery."""
        self._latest(message).held += 1

    def _latest(self, message: Msg) -> FailureCount:
        sequence = message.metadata.sequence.stream
        self._of[sequence] = found = self._of.pop(sequence, None) or FailureCount()
        if len(self._of) > FAILING_MESSAGES:
            del self._of[next(iter(self._of))]
        return found

    def forget(self, message: Msg) -> None:
        """Drop the counts of a message that is settled for good."""
        self._of.pop(message.metadata.sequence.stream, None)


async def settle(
    message: Msg,
    handle: Handler,
    *,
    service: str,
    publisher: Publisher,
    failures: Failures,
    on_dead_letter: Handler | None = None,
) -> None:
    """Run `handle` and settle the message by the error that it raises.

    A `PermanentError`, the third overdue run in this process or the eighth failure in it makes the message a
    dead letter: the dead letter is stored, `on_dead_letter` runs (to publish what other services still wait
    for), and the message is terminated. In this order, who sees that an event is processed finds its letter.
    An `IncompatibleError` asks for redelivery after a constant delay, any other error after an exponential
    one.
    """
    try:
        await handle(message)
        await acknowledge(message)
        failures.forget(message)
        MESSAGES.labels(service, "done").inc()
    except Exception as error:  # noqa: BLE001  the message must be settled after any error
        try:
            if isinstance(error, IncompatibleError):
                failures.add_held(message)
                await hold(message, error, service=service)
            elif _is_final(message, error, failures):
                await store_dead_letter(message, error, service=service, publisher=publisher)
                if on_dead_letter is not None:
                    await on_dead_letter(message)
                await terminate(message, service=service)
                failures.forget(message)
            else:
                await postpone(message, error, service=service)
        except (HelixError, *UNANSWERED) as second:
            # the message is delivered again after its ack wait
            _log.warning("message not settled", sequence=message.metadata.sequence.stream, error=str(second))
            MESSAGES.labels(service, "unanswered").inc()


def _is_final(message: Msg, error: Exception, failures: Failures) -> bool:
    """Whether a failed message becomes a dead letter.

    A process that ends because of overdue handlers loses its counts, and so does the next one. Therefore the
    run that ends the process is final if the message may have been overdue three times. Deliveries to other
    processes count as overdue, because their outcome is unknown.
    """
    if isinstance(error, PermanentError):
        return True
    is_overdue = isinstance(error, OverdueError)
    failed = failures.add(message, overdue=is_overdue)
    most_overdue = message.metadata.num_delivered - failed.not_overdue
    if is_overdue and failures.is_ending() and most_overdue >= OVERDUE_ATTEMPTS:
        return True
    return failed.times >= ATTEMPTS or failed.overdue >= OVERDUE_ATTEMPTS


async def acknowledge(message: Msg) -> None:
    """Acknowledge without waiting for the server to confirm it.

    After a lost acknowledgement the message is delivered again, which changes nothing. A confirmation would
    cost as much as the acknowledgement and could be lost as well.
    """
    await message.ack()


async def hold(message: Msg, error: IncompatibleError, *, service: str) -> None:
    """Ask for redelivery after a constant delay; release or model may be changed meanwhile."""
    _log.warning("held", sequence=message.metadata.sequence.stream, reason=str(error))
    await message.nak(delay=HOLD_SECONDS * random.uniform(0.8, 1.2))  # noqa: S311  jitter, not a secret
    MESSAGES.labels(service, "held").inc()


async def postpone(
    message: Msg, error: Exception, *, service: str, longest_seconds: float | None = None
) -> None:
    """Ask for redelivery after a delay that doubles with every delivery.

    It is at most `longest_seconds` (default `LONGEST_DELAY_SECONDS`) and at least that of a `TemporaryError`.
    """
    attempt = message.metadata.num_delivered
    longest = LONGEST_DELAY_SECONDS if longest_seconds is None else longest_seconds
    delay = min(longest, 0.5 * 2.0 ** min(attempt - 1, MOST_DOUBLINGS))
    if isinstance(error, TemporaryError):
        delay = max(delay, error.delay_seconds)
        _log.info("postponed", sequence=message.metadata.sequence.stream, attempt=attempt, reason=str(error))
    else:
        _log.exception("handler failed", sequence=message.metadata.sequence.stream, attempt=attempt)
    await message.nak(delay=delay * random.uniform(0.8, 1.2))  # noqa: S311  jitter, not a secret
    MESSAGES.labels(service, "postponed").inc()


async def terminate(message: Msg, *, service: str) -> None:
    """End the deliveries of a message whose dead letter is stored."""
    await message.term()
    MESSAGES.labels(service, "dead").inc()


async def store_dead_letter(message: Msg, error: Exception, *, service: str, publisher: Publisher) -> None:
    """Store the message under the dead-letter subject with its reason; repeating it changes nothing.

    Raises:
        TemporaryError: the stream of dead letters does not answer.
    """
    position = message.metadata
    origin = LetterOrigin(
        message.subject,
        position.stream,
        position.sequence.stream,
        _event_sequence(message),
        attempts=position.num_delivered,
        redrives=subjects.header_number(message.headers, subjects.REDRIVE_HEADER),
    )
    reason = reason_of(error)
    await publish_dead_letter(origin, message.data, reason, service=service, publisher=publisher)


def _event_sequence(message: Msg) -> int:
    """Sequence of the event that a message is, or was derived from; 0 where it names none."""
    position = message.metadata
    if position.stream == subjects.EVENTS_STREAM:
        return position.sequence.stream
    return subjects.header_number(message.headers, subjects.EVENT_SEQUENCE_HEADER)
