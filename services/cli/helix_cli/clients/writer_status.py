"""Status of the writer (consolidation), read from its lease in NATS."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nats.js import JetStreamContext
from nats.js.errors import BucketNotFoundError, KeyNotFoundError

from helix_memory.transport.polling import async_poll
from helix_shared.broker import streams
from helix_shared.broker.shard_bucket import read_map
from helix_shared.json_object import json_object


@dataclass(frozen=True, slots=True)
class WriterStatus:
    """Status of the writer."""

    has_lease: bool = False
    """Whether a process is the writer; it may be blocked."""
    problem: str = ""
    """Why the writer takes no messages; empty while it takes them and while no process is the writer."""
    shard: int | None = None
    """The shard that has this writer; None: there is one."""

    @property
    def writes(self) -> bool:
        """Whether a process has the lease and takes messages."""
        return self.has_lease and not self.problem

    def __str__(self) -> str:
        """One line for people; it names the shard of a writer that does not write."""
        if self.writes:
            return "ok"
        shard = "" if self.shard is None else f"of shard {self.shard}: "
        return shard + (f"blocked: {self.problem}" if self.has_lease else "no process has the lease")


async def writer_status(jetstream: JetStreamContext) -> WriterStatus:
    """Read the leases of all shards; the status is that of the first writer that does not write, if any.

    Raises:
        nats.errors.Error: NATS does not answer.
    """
    shards = (await read_map(jetstream)).shards
    every = [await _status_of(jetstream, shard) for shard in range(shards)]
    shard, status = next(((shard, one) for shard, one in enumerate(every) if not one.writes), (0, every[0]))
    return replace(status, shard=shard) if shards > 1 else status


async def _status_of(jetstream: JetStreamContext, shard: int) -> WriterStatus:
    try:
        entry = await (await jetstream.key_value(streams.LEASES)).get(streams.writer_key(shard))
    except (BucketNotFoundError, KeyNotFoundError):
        return WriterStatus()
    problem = json_object(entry.value).get(streams.WRITER_PROBLEM)
    return WriterStatus(has_lease=True, problem=str(problem or ""))


async def wait_for_writer(jetstream: JetStreamContext) -> WriterStatus:
    """Read the lease as soon as a process has it, at the latest after its time to live.

    A process that ends returns its lease or lets it expire; another one takes it within the time to live.

    Raises:
        nats.errors.Error: NATS does not answer.
    """
    try:
        bucket = await jetstream.key_value(streams.LEASES)
    except BucketNotFoundError:
        return WriterStatus()
    status = WriterStatus()
    async for _ in async_poll((await bucket.status()).ttl or streams.LEASE_TTL_SECONDS):
        if (status := await writer_status(jetstream)).has_lease:
            break
    return status
