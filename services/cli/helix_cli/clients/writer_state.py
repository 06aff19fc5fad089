"""What the writer says of itself: its lease names the reason when it takes no messages."""

from __future__ import annotations

import json
from dataclasses import dataclass

from nats.js import JetStreamContext
from nats.js.errors import BucketNotFoundError, KeyNotFoundError

from helix_cli.clients.polling import async_looks
from helix_shared.broker import streams


@dataclass(frozen=True, slots=True)
class WriterPart:
    """The writer."""

    has_lease: bool = False
    """Whether a process is the writer; it may stand still."""
    problem: str = ""
    """Why the writer takes no messages; empty while it does, and where no process is the writer."""

    @property
    def writes(self) -> bool:
        """Whether a process has the lease and takes messages."""
        return self.has_lease and not self.problem

    def __str__(self) -> str:
        """One line for people."""
        if not self.has_lease:
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
        return WriterPart(has_lease=True)
    problem = claim.get(streams.WRITER_PROBLEM) if isinstance(claim, dict) else ""
    return WriterPart(has_lease=True, problem=str(problem or ""))


async def wait_for_writer(jetstream: JetStreamContext) -> WriterPart:
    """What the lease says once a process has it, or after the time for which nobody may have it.

    A process that ends gives its lease back, or leaves it to expire; the next one has started and taken
    it within the time to live of the lease.

    Raises:
        nats.errors.Error: NATS does not answer.
    """
    try:
        bucket = await jetstream.key_value(streams.LEASES)
    except BucketNotFoundError:
        return WriterPart()
    async for _ in async_looks((await bucket.status()).ttl or streams.LEASE_TTL_SECONDS):
        if (part := await look_at_writer(jetstream)).has_lease:
            return part
    return WriterPart()
