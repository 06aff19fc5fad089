"""Removes the bytes of pruned derived messages from the files of HELIX_DERIVED.

Pruning purges from the beginning of the stream, and the server drops only whole files. If everything is
acknowledged, all of them go. In a stream that never rests, a message as large as a file ends the present one,
so that the next prunings drop it whole.
"""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Final

from helix_consolidation.delivery.streams.prune import acknowledged_by_all, prune_derived
from helix_memory import subjects
from helix_shared.broker.streams import DERIVED_BYTES

if TYPE_CHECKING:
    from nats.js import JetStreamContext

LONGEST_WAIT_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.2
_FILLER_BYTES: Final = DERIVED_BYTES - 64 * 1024


async def drop_derived_bytes(jetstream: JetStreamContext, *, shards: int = 1) -> bool:
    """Drop the bytes of all derived messages up to now; False: a consumer is behind, try again.

    Raises:
        nats.errors.Error: the server does not answer.
    """
    end = await _end(jetstream)
    if not await _acknowledged(jetstream, end, shards):
        return False
    # what is derived from the messages up to `end` stands before the filler
    if await _end(jetstream) == end:
        await prune_derived(jetstream, shards=shards)
        if (await jetstream.stream_info(subjects.DERIVED_STREAM)).state.messages == 0:
            return True
    filler = await jetstream.publish(
        subjects.derived_filler(),
        bytes(_FILLER_BYTES),
        headers={subjects.MSG_ID_HEADER: f"filler:{uuid.uuid4()}"},
    )
    if not await _acknowledged(jetstream, filler.seq, shards):
        return False
    await prune_derived(jetstream, shards=shards)
    return True


async def _end(jetstream: JetStreamContext) -> int:
    return int((await jetstream.stream_info(subjects.DERIVED_STREAM)).state.last_seq)


async def _acknowledged(jetstream: JetStreamContext, sequence: int, shards: int) -> bool:
    """Wait until every consumer acknowledged everything up to a sequence; False: not in time."""
    loop = asyncio.get_running_loop()
    until = loop.time() + LONGEST_WAIT_SECONDS
    while loop.time() < until:
        floor = await acknowledged_by_all(jetstream, shards=shards)
        if floor is not None and floor >= sequence:
            return True
        await asyncio.sleep(_POLL_SECONDS)
    return False
