"""What becomes of a delivered message: acknowledged, asked for again later, or dead-lettered.

`settle` runs one handler for one message and always ends in exactly one of the three; an error
of our own tree says which. What is wrong with this process and not with the message
(`IncompatibleError`) is asked for again without end, and counts for no attempt. A dead letter is
published (and acknowledged) before the message is terminated, so a refused message is never only
gone.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from helix_memory import subjects
from helix_shared.broker.publisher import Publisher
from helix_shared.errors import (
    HelixError,
    IncompatibleError,
    OverdueError,
    PermanentError,
    TemporaryError,
)
from helix_shared.telemetry import MESSAGES, logger

ATTEMPTS: Final = 8
OVERDUE_ATTEMPTS: Final = 3
"""Each costs the worker a thread, and whoever waits for the message its deadline."""
LONGEST_DELAY_SECONDS: Final = 60.0
MOST_DOUBLINGS: Final = 16
"""Of a delay; a message that was held for long has thousands of deliveries."""
REASON_CHARACTERS: Final = 1_000
FAILING_MESSAGES: Final = 10_000
"""Messages whose failures are counted; beyond it the count of the oldest begins anew."""
HOLD_SECONDS: Final = 15.0
"""Delay of a message that this process cannot read."""

_log = logger(__name__)

Handler = Callable[[Msg], Awaitable[None]]


@dataclass(slots=True)
class FailureCount:
    """How often this process failed at one message, of these past the deadline, and how often it held it."""

    times: int = 0
    overdue: int = 0
    held: int = 0

    @property
    def not_overdue(self) -> int:
        """Deliveries to this process that are known not to have passed the deadline."""
        return self.times - self.overdue + self.held


class Failures:
    """What this process failed at; a delivery that was held is no failure.

    `is_ending` tells whether runs past their deadline have cost the process so much that it ends.
    """

    def __init__(self, *, is_ending: Callable[[], bool] = lambda: False) -> None:
        self.is_ending = is_ending
        self._of: dict[int, FailureCount] = {}

    def add(self, message: Msg, *, overdue: bool = False) -> FailureCount:
        """Count one more failure; returns all of the message."""
        found = self._latest(message)
        found.times += 1
        found.overdue += overdue
        return found

    def add_held(self, message: Msg) -> None:
        """Count one more delivery that was held."""
        self._latest(message).held += 1

    def _latest(self, message: Msg) -> FailureCount:
        sequence = message.metadata.sequence.stream
        self._of[sequence] = found = self._of.pop(sequence, None) or FailureCount()
        if len(self._of) > FAILING_MESSAGES:
            del self._of[next(iter(self._of))]
        return found

    def forget(self, message: Msg) -> None:
        """It is answered for good."""
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
    """Run `handle` and answer the message by what it raised.

    A `PermanentError`, the third run past its deadline in this process, or the eighth failure of any
    kind in it dead-letters: first `on_dead_letter` (what the worker owes others even then), then
    the dead letter, then term. An `IncompatibleError` naks with a constant delay, everything else with
    an exponential one.
    """
    try:
        await handle(message)
        await acknowledge(message)
        failures.forget(message)
        MESSAGES.labels(service, "done").inc()
    except Exception as error:  # noqa: BLE001  whatever failed, the message must be answered
        try:
            if isinstance(error, IncompatibleError):
                failures.add_held(message)
                await hold(message, error, service=service)
            elif _is_final(message, error, failures):
                if on_dead_letter is not None:
                    await on_dead_letter(message)
                await dead_letter(message, error, service=service, publisher=publisher)
                failures.forget(message)
            else:
                await postpone(message, error, service=service)
        except (HelixError, NatsError, TimeoutError, OSError) as second:
            # the message stays unanswered and comes again after its ack wait
            _log.warning(
                "message left unanswered", sequence=message.metadata.sequence.stream, error=str(second)
            )
            MESSAGES.labels(service, "unanswered").inc()


def _is_final(message: Msg, error: Exception, failures: Failures) -> bool:
    """Whether a failed message is not tried again.

    A process that ends because of its overdue runs forgets them, and so would the next. So the run that ends
    it is final, unless its message was overdue at most twice: every such end takes one with it. Deliveries to
    other processes count as overdue, because nobody knows how they ended.
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
    """Acknowledge, without waiting for the server to confirm it.

    A lost acknowledgement means redelivery, which changes nothing, as after a lost confirmation. The
    confirmation costs client and server as much as the acknowledgement.
    """
    await message.ack()


async def hold(message: Msg, error: IncompatibleError, *, service: str) -> None:
    """Ask for the message again after a while, in which one release or model may have been changed."""
    _log.warning("held", sequence=message.metadata.sequence.stream, reason=str(error))
    await message.nak(delay=HOLD_SECONDS * random.uniform(0.8, 1.2))  # noqa: S311  jitter, not a secret
    MESSAGES.labels(service, "held").inc()


async def postpone(
    message: Msg, error: Exception, *, service: str, longest_seconds: float | None = None
) -> None:
    """Ask for the message again after a delay that doubles with every delivery.

    It ends at `longest_seconds` (`LONGEST_DELAY_SECONDS`), and is never shorter than a `TemporaryError` says.
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


async def dead_letter(message: Msg, error: Exception, *, service: str, publisher: Publisher) -> None:
    """File the message with its reason, then terminate it."""
    await store_dead_letter(message, error, service=service, publisher=publisher)
    await terminate(message, service=service)


async def terminate(message: Msg, *, service: str) -> None:
    """End the deliveries of a message whose dead letter is filed."""
    await message.term()
    MESSAGES.labels(service, "dead").inc()


async def store_dead_letter(message: Msg, error: Exception, *, service: str, publisher: Publisher) -> None:
    """Store the message under the dead-letter subject with its reason; a repeat is stored once.

    Raises:
        TemporaryError: the stream of dead letters does not answer.
    """
    position = message.metadata
    reason = _header_text(str(error) or type(error).__name__)
    address = subjects.parse_event_subject(message.subject)
    tenant = address.tenant_id if address else message.subject.rsplit(".", 1)[-1]
    await publisher.publish(
        subjects.dlq_subject(service, tenant),
        message.data,
        message_id=f"dlq:{service}:{position.stream}:{position.sequence.stream}",
        headers={
            subjects.REASON_HEADER: reason,
            subjects.SUBJECT_HEADER: _header_text(message.subject),
            subjects.STREAM_HEADER: position.stream,
            subjects.SEQUENCE_HEADER: str(position.sequence.stream),
        },
    )
    _log.warning("dead letter", stream=position.stream, sequence=position.sequence.stream, reason=reason)


def _header_text(text: str) -> str:
    """One printable ASCII line: header values may hold no line break."""
    line = text.encode("ascii", "backslashreplace").decode()
    return "".join(c if c.isprintable() else " " for c in line)[:REASON_CHARACTERS].strip() or "unknown"
