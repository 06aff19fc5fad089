"""What the writer says of itself: its lease names the reason when it takes no messages."""

from __future__ import annotations

import json
from dataclasses import dataclass

from nats.js import JetStreamContext
from nats.js.errors import BucketNotFoundError, KeyNotFoundError

from helix_shared.broker import streams


@dataclass(frozen=True, slots=True)
class WriterPart:
    """The writer; `problem` is empty while it writes, or while nobody does."""

    is_writing: bool = False
    """Whether a process has the lease."""
    problem: str = ""

    def __str__(self) -> str:
        """One line for people."""
        if not self.is_writing:
            return "nobody has the lease"
        return f"stands still: {self.problem}" if self.problem else "ok"


async def look_at_writer(jetstream: JetStreamContext) -> WriterPart:
    """What the lease says.

    Raises:
        nats.errors.Error: NATS does not answer.
    """
    try:
        entry = await (await jetstream.key_value(streams.LEASES)).get(streams.WRITER_KEY)
        claim = json.loads(entry.value or b"{}")
    except (BucketNotFoundError, KeyNotFoundError):
        return WriterPart()
    except ValueError:
        return WriterPart(is_writing=True)
    problem = claim.get(streams.WRITER_PROBLEM) if isinstance(claim, dict) else ""
    return WriterPart(is_writing=True, problem=str(problem or ""))
