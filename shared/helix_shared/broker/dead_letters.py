"""Stores dead letters: the body of a refused message, its origin, and the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from helix_memory import subjects
from helix_memory.transport.publisher import PubAck, Publisher
from helix_shared.telemetry.logs import logger

REASON_CHARACTERS: Final = 1_000

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class LetterOrigin:
    """The origin of a refused message; `event`: sequence of the event it is or is derived from, 0: none.

    It was delivered `attempts` times, and what it says was redriven `redrives` times before.
    """

    subject: str
    stream: str
    sequence: int
    event: int
    attempts: int = 1
    redrives: int = 0


async def publish_dead_letter(
    origin: LetterOrigin, body: bytes, reason: str, *, service: str, publisher: Publisher
) -> PubAck:
    """Store a dead letter; returns where.

    Raises:
        TemporaryError: the stream of dead letters does not answer.
    """
    reason = header_text(reason)
    redriven = f":{origin.redrives}" if origin.redrives else ""
    ack = await publisher.publish(
        subjects.dlq_subject(service, subjects.tenant_of(origin.subject)),
        body,
        message_id=f"dlq:{service}:{origin.stream}:{origin.sequence}{redriven}",
        headers={
            subjects.REASON_HEADER: reason,
            subjects.SUBJECT_HEADER: header_text(origin.subject),
            subjects.STREAM_HEADER: origin.stream,
            subjects.SEQUENCE_HEADER: str(origin.sequence),
            subjects.EVENT_SEQUENCE_HEADER: str(origin.event),
            subjects.ATTEMPTS_HEADER: str(origin.attempts),
            subjects.REDRIVE_HEADER: str(origin.redrives),
        },
    )
    # the letter has the reason; it may quote the event, so the log has none
    _log.warning("dead letter", stream=origin.stream, sequence=origin.sequence, letter=ack.sequence)
    return ack


def header_text(text: str) -> str:
    """One line of printable ASCII: a header value has no line break."""
    line = text.encode("ascii", "backslashreplace").decode()
    return "".join(c if c.isprintable() else " " for c in line)[:REASON_CHARACTERS].strip() or "unknown"
