"""Pruning HELIX_DERIVED: what every consumer acknowledged is removed, and nothing else.

The stream does not use interest retention, because that drops a message published while a consumer is
missing. Instead the writer purges it up to the lowest acknowledgement floor of the provisioned consumers. A
missing consumer stops the pruning, so it receives everything once it is provisioned again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nats.js.errors import NotFoundError

from helix_memory.subjects import DERIVED_STREAM
from helix_shared.broker.streams import consumers_of
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from nats.js import JetStreamContext
    from nats.js.api import ConsumerInfo

_log = logger(__name__)


def readers_of(shards: int) -> list[str]:
    """The durable consumers of HELIX_DERIVED in an instance with so many shards."""
    return [consumer.name for consumer in consumers_of(shards) if consumer.stream == DERIVED_STREAM]


async def prune_derived(jetstream: JetStreamContext, *, shards: int = 1) -> int:
    """Remove what the consumers of all shards acknowledged; returns the number of sequences removed.

    Raises:
        nats.errors.Error: the server does not answer.
    """
    state = (await jetstream.stream_info(DERIVED_STREAM)).state
    floor = await acknowledged_by_all(jetstream, shards=shards) if state.messages else None
    if floor is None or floor < state.first_seq:
        return 0
    await jetstream.purge_stream(DERIVED_STREAM, seq=floor + 1)
    return floor + 1 - state.first_seq


async def acknowledged_by_all(jetstream: JetStreamContext, *, shards: int = 1) -> int | None:
    """Sequence up to which no consumer needs anything more; None where a consumer is missing.

    Raises:
        nats.errors.Error: the server does not answer.
    """
    # read before the consumers: a message that comes in between is above the floor of all of them
    state = (await jetstream.stream_info(DERIVED_STREAM)).state
    floor = int(state.last_seq)
    for name in readers_of(shards):
        try:
            info = await jetstream.consumer_info(DERIVED_STREAM, name)
        except NotFoundError:
            _log.warning("nothing is pruned: a consumer is missing, run `helix provision`", consumer=name)
            return None
        floor = min(floor, acknowledged(info, state.last_seq))
    return floor


def acknowledged(info: ConsumerInfo, last_sequence: int) -> int:
    """Sequence up to which a consumer needs nothing more of a stream that ended at `last_sequence`.

    The consumer's own floor is the last message it acknowledged. Later messages that its filter skips count
    as well once nothing is pending.
    """
    if not info.num_pending and not info.num_ack_pending:
        return last_sequence
    return info.ack_floor.stream_seq if info.ack_floor else 0
