"""Of which events a generation is not complete yet, because messages about them are on their way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from helix_consolidation.ledger.sequences import ProcessedSequences
from helix_consolidation.stores.state_files import STATE_FILE
from helix_memory import subjects
from helix_shared import edges
from helix_shared.broker import log, streams

if TYPE_CHECKING:
    from pathlib import Path

    from nats.aio.client import Client

MOST: Final = 10_000
"""Messages on their way past which a generation is not compared."""
_WORKERS: Final = (streams.DOC2QUERY, streams.KG)


async def unfinished_events(client: Client, generation: Path, applied: int) -> set[int] | None:
    """Events up to `applied` of which a message is not in the generation, or not derived yet.

    None: there are more than `MOST` messages to look at.

    Raises:
        TemporaryError: NATS does not answer.
    """
    jetstream = client.jetstream()
    state = json.loads((generation / STATE_FILE).read_bytes())
    done = ProcessedSequences.from_json(state["derived"])
    # Up to this message every worker has derived what it derives. It is read before the workers are asked,
    # `end` after them: a worker acknowledges once its own messages are stored, so these are up to `end`.
    worked = await _last_sequence(client)
    for name in _WORKERS:
        info = await jetstream.consumer_info(subjects.DERIVED_STREAM, name)
        behind = bool(info.num_pending or info.num_ack_pending)
        if behind:
            worked = min(worked, info.ack_floor.stream_seq if info.ack_floor else 0)
    end = await _last_sequence(client)
    sequence, found = min(done.floor, worked), set[int]()
    for _ in range(MOST):
        message = await log.first_after(client, subjects.DERIVED_STREAM, subjects.ALL_DERIVED, sequence)
        if message is None or message.sequence > end:
            return {event for event in found if event <= applied}
        sequence = message.sequence
        if message.subject == subjects.derived_filler():
            continue
        if sequence not in done or sequence > worked:
            found.add(edges.decode(message.body)[0].event_sequence)
    return None


async def _last_sequence(client: Client) -> int:
    return int((await client.jetstream().stream_info(subjects.DERIVED_STREAM)).state.last_seq)
