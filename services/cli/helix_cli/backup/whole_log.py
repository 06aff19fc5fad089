"""HELIX_EVENTS is made whole again from the archives of the home, after it was truncated or created again.

A single replica of JetStream drops everything behind a damaged byte, and gives its sequences to new events
(ops/decisions/0070). Every event comes back with the sequence that it had. Where the log has taken other
events in their places, those follow the archive with new sequences: the log is created again for it, and what
came from them under their first sequences is made again by `helix rebuild`. They wait in a file meanwhile, so
that a command that is killed is simply repeated.

No worker runs meanwhile: the caller holds the lock of the home.
"""

from __future__ import annotations

import heapq
import os
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Final, Self

from helix_cli.backup.coordination import continue_leases, place_tenants
from helix_cli.backup.log_writing import FILLER, name_log, write_log
from helix_cli.clients.stream_api import log_info
from helix_consolidation.archiving.event_archive import ARCHIVE
from helix_consolidation.delivery.streams.stream_state import event_stream
from helix_memory import subjects
from helix_shared.artifacts.files.durability import sync
from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.artifacts.generation.manifest import Manifest, current_manifest
from helix_shared.artifacts.generation.reader import place_of
from helix_shared.broker.log_reader import read_range
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.streams import CONSOLIDATION_LIFECYCLE, INGEST, writer_durable
from helix_shared.errors import NotFoundError
from helix_shared.event_log.archive import NOT_IN_LOG
from helix_shared.event_log.archive_card import continue_as
from helix_shared.event_log.archive_files import CARD, entries_in, verify
from helix_shared.event_log.read import records_of
from helix_shared.event_log.segment import MAGIC, Entry, Gap, encoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from nats.aio.client import Client

    from helix_cli.home.folder import HomeFolder
    from helix_shared.event_log.record import EventRecord
    from helix_shared.shard_map import ShardMap

_DRAFT: Final = ".draft"


@dataclass(frozen=True, slots=True)
class MadeWhole:
    """What became of the log."""

    archived: int
    """Last sequence of the archives."""
    events: int
    """Events that the log had lost."""
    later: int = 0
    """Events that had taken the places of others, and follow the archive now."""
    applied: int = 0
    """Last sequence that a generation has applied: more than `archived` where the archive was off."""

    @property
    def needs_rebuild(self) -> bool:
        """Whether memories may name sequences that an event had before."""
        return self.later > 0


async def make_whole(client: Client, home: HomeFolder) -> MadeWhole:
    """Put the events of the archives of all shards back into the log; may be repeated.

    Raises:
        NotFoundError: a shard has no archive.
        CorruptArtifactError: an archive is damaged; nothing was changed.
        TemporaryError: NATS does not answer, or somebody publishes meanwhile.
    """
    jetstream, data = client.jetstream(), [home.data_of(shard) for shard in range(home.shards)]
    waiting = home.later_events
    waiting.with_suffix(_DRAFT).unlink(missing_ok=True)
    archives = _Archives([one / ARCHIVE for one in data])
    made = {folder: manifest for folder in data if (manifest := current_manifest(folder)) is not None}
    await place_tenants(jetstream, _newest_map(made), shards=len(data))
    await provision(jetstream)
    if not waiting.exists():
        await _compare(client, archives, waiting)
    if waiting.exists():
        events, later = await _write_anew(client, archives, waiting)
    else:
        events, later = await _append(client, archives), 0
        await _name_everywhere(client, data, made)
    await continue_leases(jetstream, max((manifest.epoch for manifest in made.values()), default=0))
    log = await event_stream(jetstream)
    for one in data:
        continue_as(one / ARCHIVE, log.created_text)
    waiting.unlink(missing_ok=True)
    applied = max((manifest.applied_sequence for manifest in made.values()), default=0)
    return MadeWhole(archives.last, events, later, applied)


class _Archives:
    """The archives of all shards, read as one."""

    def __init__(self, folders: Sequence[Path]) -> None:
        for folder in folders:
            if not (folder / CARD).is_file():
                raise NotFoundError(f"{folder} is no archive: it has no {CARD}")
        self._folders = folders
        ends = [verify(folder).last_sequence for folder in folders]
        self.last, self.whole_until = max(ends), min(ends)
        """Ends of the longest and of the shortest: between them events of some shards are unknown."""

    def records(self) -> Iterator[EventRecord]:
        """Every event once, in the order of the log: a tenant that moved is in two archives."""
        before = 0
        for record in heapq.merge(*map(records_of, self._folders), key=lambda record: record.sequence):
            if record.sequence > before:
                yield record
            before = record.sequence

    def entries(self, after: int) -> Iterator[Entry]:
        """Every sequence above `after` as an event or in a gap."""
        for record in self.records():
            if record.sequence > after:
                yield from _gap(after + 1, record.sequence - 1)
                yield record
                after = record.sequence
        yield from _gap(after + 1, self.last)


def _gap(first: int, last: int) -> Iterator[Gap]:
    if first <= last:
        yield Gap(first, last, NOT_IN_LOG)


async def _compare(client: Client, archives: _Archives, waiting: Path) -> None:
    """Store in `waiting` what the archives lack, if the log has other events in the places of theirs."""
    end = (await event_stream(client.jetstream())).last_sequence
    archived, is_diverged = archives.records(), False
    known = next(archived, None)
    with _Waiting(waiting) as later:
        async for batch in read_range(client, subjects.EVENTS_STREAM, [subjects.ALL_EVENTS], until=end):
            for record in (one for one in batch if one.subject != FILLER):
                while known is not None and known.sequence < record.sequence:
                    # what the log lost before its end was erased, and the archive is not cleaned yet
                    known = next(archived, None)
                held = known if known is not None and known.sequence == record.sequence else None
                if held is None or _content(held) != _content(record):
                    later.add(record)
                    is_diverged |= held is not None or record.sequence <= archives.whole_until
        later.is_needed = is_diverged


def _content(record: EventRecord) -> tuple[str, bytes, str]:
    return record.subject, record.body, record.message_id


class _Waiting:
    """A file of events that get their places later; it is there once it is left, if it is needed."""

    def __init__(self, path: Path) -> None:
        self._path, self._draft = path, path.with_suffix(_DRAFT)
        self._count, self.is_needed = 0, False

    def add(self, record: EventRecord) -> None:
        self._count += 1
        # a segment wants sequences that follow each other
        self._file.write(encoded(replace(record, sequence=self._count)))

    def __enter__(self) -> Self:
        self._file = self._draft.open("wb")
        self._file.write(MAGIC)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        if kind is None and self.is_needed:
            self._draft.rename(self._path)
            sync(self._path.parent)
        else:
            self._draft.unlink()


async def _append(client: Client, archives: _Archives) -> int:
    """Write what follows the end of the log; returns how many events that were."""
    end = (await event_stream(client.jetstream())).last_sequence
    # also where nothing is missing: a call that was killed has left fillers
    written = await write_log(
        client, archives.entries(end), config=(await log_info(client))["config"], first=end + 1
    )
    return written.events


async def _write_anew(client: Client, archives: _Archives, waiting: Path) -> tuple[int, int]:
    """Create the log again: the archives, then the events that wait; returns how many of either."""
    await client.jetstream().delete_stream(subjects.EVENTS_STREAM)
    await provision(client.jetstream())
    later = list[int]()

    def following() -> Iterable[Entry]:
        for number, entry in enumerate(entries_in(waiting), archives.last + 1):
            if not isinstance(entry, Gap):
                later.append(number)
                yield replace(entry, sequence=number)

    entries = chain(archives.entries(0), following())
    written = await write_log(client, entries, config=(await log_info(client))["config"])
    return written.events - len(later), len(later)


async def _name_everywhere(client: Client, data: Sequence[Path], made: Mapping[Path, Manifest]) -> None:
    """Where the log was created again: its readers begin after what is applied, and generations name it."""
    jetstream = client.jetstream()
    log = await event_stream(jetstream)
    if all(manifest.stream.created_at in (None, log.created_at) for manifest in made.values()):
        return
    applied = [made[folder].applied_sequence if folder in made else 0 for folder in data]
    readers = {writer_durable(CONSOLIDATION_LIFECYCLE, shard): floor for shard, floor in enumerate(applied)}
    for consumer, floor in {INGEST: min(applied), **readers}.items():
        if floor:
            await jetstream.reset_consumer(subjects.EVENTS_STREAM, consumer, floor + 1)
    # last: a call that is killed before it does all of this again
    for folder, manifest in made.items():
        name_log(folder_of(folder, manifest.generation), log)


def _newest_map(made: Mapping[Path, Manifest]) -> ShardMap | None:
    """The shard map of the newest generation: whoever changes it lets the shards concerned publish."""
    if not made:
        return None
    folder, manifest = max(made.items(), key=lambda each: each[1].published_at)
    return place_of(folder_of(folder, manifest.generation), manifest).map
