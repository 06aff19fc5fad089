"""The derived messages that some worker or the writer still needs, without a hole.

They are not taken as a snapshot of their stream. The generation of the backup is read after them, so it may
hold messages with higher sequences than a snapshot; a restored stream would use those sequences again, and
the writer would take the new messages for old ones. Into a new stream the writer counts from the start.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

from helix_cli.backup.contents import Derived
from helix_memory import subjects
from helix_memory.transport.batch import Outgoing, split
from helix_memory.transport.publisher import Publisher
from helix_shared.broker.log_reader import read_range
from helix_shared.errors import CorruptArtifactError, TemporaryError
from helix_shared.event_log.record import EventRecord
from helix_shared.event_log.segment import MAGIC, encoded, read_entries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nats.aio.client import Client

    from helix_cli.backup.objects import Pieces

PIECE_BYTES: Final = 4 * 1024 * 1024
ATTEMPTS: Final = 10


class _PrunedError(Exception):
    """The writer removed messages before they were read."""


async def copy_derived(client: Client, objects: Pieces) -> Derived:
    """Keep the derived messages that are in the stream now.

    A message that is removed before it is read is in the generation. What was derived from it may then stand
    behind the last message that is read, so such a reading begins again.

    Raises:
        TemporaryError: NATS does not answer, or each reading met a removal.
    """
    for _ in range(ATTEMPTS):
        state = (await client.jetstream().stream_info(subjects.DERIVED_STREAM)).state
        if not state.messages:
            return Derived(messages=0, pieces=())
        try:
            return await _copy(client, objects, state.first_seq, state.last_seq)
        except _PrunedError:
            continue
    raise TemporaryError("derived messages were removed while they were read; try again")


async def _copy(client: Client, objects: Pieces, first: int, last: int) -> Derived:
    pieces: list[str] = []
    parts, size, count = [MAGIC], 0, 0
    async for batch in read_range(
        client, subjects.DERIVED_STREAM, [subjects.ALL_DERIVED], after=first - 1, until=last
    ):
        for record in batch:
            if record.sequence != first + count:
                raise _PrunedError
            count += 1
            parts.append(encoded(record))
            size += len(parts[-1])
            if size >= PIECE_BYTES:
                pieces.append(objects.put(b"".join(parts)))
                parts, size = [MAGIC], 0
    if first + count != last + 1:
        raise _PrunedError
    if size:
        pieces.append(objects.put(b"".join(parts)))
    return Derived(messages=count, pieces=tuple(pieces))


async def publish_derived(client: Client, derived: Derived, objects: Pieces) -> None:
    """Publish the messages again, in their order.

    Raises:
        CorruptArtifactError: a piece is damaged.
        TemporaryError: NATS does not answer.
    """
    publisher = Publisher(client.jetstream())
    for batch in split(_outgoing(derived, objects)):
        if len(batch) > 1 and await publisher.publish_together(client, batch):
            continue
        for message in batch:
            await publisher.publish(
                message.subject, message.body, message_id=message.message_id, headers=message.headers
            )


def _outgoing(derived: Derived, objects: Pieces) -> Iterator[Outgoing]:
    count = 0
    for name in derived.pieces:
        for entry, _ in read_entries(io.BytesIO(objects.read(name)), f"piece {name}"):
            if isinstance(entry, EventRecord):
                count += 1
                yield Outgoing(entry.subject, entry.body, entry.message_id, entry.headers)
    if count != derived.messages:
        raise CorruptArtifactError(
            f"the backup has {count} derived messages, its manifest {derived.messages}"
        )
