"""Writes events into HELIX_EVENTS with the sequences that they had: from a backup, or from the archive.

JetStream counts for itself, so a sequence without an event gets a filler, and the fillers are removed in one
step. An event has a new time in the stream, and keeps its own under the seal of an import
(`helix_shared.broker.stored_at`).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from helix_cli.clients.stream_api import configure_log, with_room_for_seals
from helix_memory import subjects
from helix_memory.transport.batch import Outgoing, split
from helix_memory.transport.publisher import Publisher
from helix_shared.artifacts.files.durability import write_synced
from helix_shared.artifacts.generation.manifest import MANIFEST_NAME, Manifest
from helix_shared.broker.stored_at import sealed, sealing_key
from helix_shared.errors import TemporaryError
from helix_shared.event_log.archive_files import ERASED
from helix_shared.event_log.segment import Gap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from nats.aio.client import Client

    from helix_shared.artifacts.generation.manifest import StreamState
    from helix_shared.event_log.segment import Entry

FILLER: Final = subjects.event_subject(subjects.UNKNOWN_TENANT, "", "filler")
WINDOW_SECONDS: Final = 0.1
"""Shortest de-duplication window of JetStream: a log may hold an id twice."""
REPEATS: Final = 100


@dataclass(slots=True)
class WrittenLog:
    """What became of the entries."""

    events: int = 0
    left_out: int = 0
    """Those that were erased."""


async def write_log(
    client: Client, entries: Iterable[Entry], *, config: Mapping[str, Any], first: int = 1
) -> WrittenLog:
    """Write entries, of which the first has the sequence `first`, behind the end of the log.

    `config` is that of the stream, as the server gives it. Where this ends midway, the stream keeps fillers,
    a short window for repeated ids and a higher limit of bytes; the next call, which may have no entries,
    mends all of it.

    Raises:
        TemporaryError: NATS does not answer, or counts otherwise.
    """
    window = {"duplicate_window": int(WINDOW_SECONDS * 1e9)}
    await configure_log(client, with_room_for_seals(config) | window)
    written, number = WrittenLog(), first
    key = await sealing_key(client)
    publisher = Publisher(client.jetstream())
    for batch in split(_outgoing(entries, key, written)):
        await _publish_from(client, publisher, batch, number)
        number += len(batch)
    await client.jetstream().purge_stream(subjects.EVENTS_STREAM, subject=FILLER)
    await configure_log(client, config)
    return written


def name_log(generation: Path, log: StreamState) -> Manifest:
    """Let the manifest of a generation name `log`, which has the sequences of that it was made from."""
    manifest = Manifest.read(generation)
    stream = manifest.stream.model_copy(update={"created_at": log.created_at})
    manifest = manifest.model_copy(update={"stream": stream})
    write_synced(generation / MANIFEST_NAME, manifest.sealed())
    return manifest


def _outgoing(entries: Iterable[Entry], key: bytes, written: WrittenLog) -> Iterator[Outgoing]:
    for entry in entries:
        if isinstance(entry, Gap):
            written.left_out += (entry.last - entry.first + 1) * (entry.reason == ERASED)
            for sequence in range(entry.first, entry.last + 1):
                yield Outgoing(FILLER, b"", f"filler:{sequence}")
            continue
        if entry.subject == FILLER:  # of no event, from whomever: it goes with ours
            yield Outgoing(FILLER, b"", f"filler:{entry.sequence}")
            continue
        written.events += 1
        times = sealed(key, entry.subject, entry.body, entry.message_id, entry.stored_at)
        yield Outgoing(entry.subject, entry.body, entry.message_id, {**entry.headers, **times})


async def _publish_from(client: Client, publisher: Publisher, batch: list[Outgoing], first: int) -> None:
    """Store a batch with the sequences from `first` on."""
    acks = await publisher.publish_together(client, batch) if len(batch) > 1 else None
    if acks is None:
        for sequence, message in enumerate(batch, first):
            await _publish_at(publisher, message, sequence)
    elif acks[0].sequence != first:
        raise TemporaryError(f"event {first} became {acks[0].sequence}; run the command again")


async def _publish_at(publisher: Publisher, message: Outgoing, sequence: int) -> None:
    for _ in range(REPEATS):
        ack = await publisher.publish(
            message.subject, message.body, message_id=message.message_id, headers=message.headers
        )
        if ack.sequence == sequence:
            return
        if not ack.duplicate:
            raise TemporaryError(f"event {sequence} became {ack.sequence}; run the command again")
        # an event before it has the same id
        await asyncio.sleep(WINDOW_SECONDS)
    raise TemporaryError(f"event {sequence} was taken for a repeated one; run the command again")
