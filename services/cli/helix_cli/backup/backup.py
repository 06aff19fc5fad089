"""`helix backup`: everything of an instance, while it runs, in an order that needs no pause.

1. How far the readers of the log are. What they acknowledged is derived, or in a generation.
2. The derived messages. What is removed from that stream is in a generation.
3. The current generation of each shard: they hold all that was acknowledged or removed before.
4. The log and the other streams: the log holds every event of the generation, and more.

After a restore the readers continue where they were in step 1, so some messages come twice, which changes
nothing. The manifest is written last. Until then this process holds the keys (`helix_shared.keys`): an
erasure that comes meanwhile destroys them afterwards, with all that was encrypted. Where a tenant is moved to
another shard meanwhile, there is no backup: the generations would be of two maps.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nats.js.errors import NotFoundError as NoStreamError

from helix_cli.backup.contents import (
    MANIFESTS,
    Contents,
    EventsCopy,
    Keys,
    manifest_path,
    numbers,
    read_contents,
    write_contents,
)
from helix_cli.backup.derived_copy import copy_derived
from helix_cli.backup.event_copy import copy_events
from helix_cli.backup.folder_copy import copy_folder, copy_models
from helix_cli.backup.objects import OBJECTS, Objects
from helix_cli.backup.sealed import SealedObjects
from helix_cli.backup.stream_copy import snapshot
from helix_memory import subjects
from helix_shared.artifacts.files.durability import sync
from helix_shared.broker import streams
from helix_shared.broker.shard_bucket import read_map
from helix_shared.broker.stored_at import IMPORTS
from helix_shared.encoders.store import list_models
from helix_shared.errors import CorruptArtifactError, NotFoundError, PermanentError, TemporaryError
from helix_shared.keys.key_store import KEYS, KeyStore

if TYPE_CHECKING:
    from nats.aio.client import Client

STREAMS: Final = (
    subjects.ANSWERS_STREAM,
    subjects.DLQ_STREAM,
    subjects.PAIRS_STREAM,
    f"KV_{streams.LEDGER}",
    f"KV_{IMPORTS}",
)
"""Streams that are copied where they exist, besides the log. Not copied: accesses and advisories, which are
lossy by design, and the lease, which belongs to a process."""
READERS: Final = (streams.INGEST, streams.EXTRACT)
"""Consumers of the log besides those of the writers."""
LOCK: Final = "backup.lock"


@dataclass(frozen=True, slots=True)
class BackedUp:
    """What a backup is, and what it cost."""

    contents: Contents
    new_bytes: int
    all_bytes: int


async def back_up(
    client: Client,
    root: Path,
    *,
    folders: Sequence[Path],
    models: Path,
    settings: dict[str, str],
    with_models: bool,
) -> BackedUp:
    """Write the next backup into the folder `root`; `folders`: the data folders of all shards, in order.

    Raises:
        PermanentError: another process writes there, NATS refuses a snapshot, or a shard has another folder.
        TemporaryError: NATS does not answer, an erasure has the keys, or tenants were placed in other shards
            meanwhile; no backup was made.
        CorruptArtifactError: a file of a generation is damaged; no backup was made.
    """
    places = await read_map(client.jetstream())
    if places.shards != len(folders):
        raise PermanentError(
            f"the instance has {places.shards} shards, and this home the data folders of {len(folders)}: "
            "a backup needs all of them in one home"
        )
    with _locked(root), KeyStore.held(folders[0] / KEYS) as keys:
        objects = Objects(root)
        sealed = SealedObjects(objects, keys.state_key)
        objects.clear_drafts()
        floors = await _floors(client, places.shards)
        derived = await copy_derived(client, sealed)
        shards = [await asyncio.to_thread(copy_folder, folder, sealed) for folder in folders]
        used = Keys(store=keys.name, epoch=keys.epoch, state=keys.state_name)
        await _require_log(client)
        events = await copy_events(client, objects, keys, _last_events(root, used))
        copies = {}
        for stream in STREAMS:
            if await _exists(client, stream):
                copies[stream] = await snapshot(client, stream, sealed)
        cards = list_models(models)
        model_files = await asyncio.to_thread(copy_models, models, objects) if with_models else []
        if await read_map(client.jetstream()) != places:
            raise TemporaryError("tenants were placed in other shards meanwhile; try again")
        contents = Contents(
            number=max(numbers(root), default=0) + 1,
            made_at=datetime.now(UTC),
            helix=version("helix-memory"),
            last_sequence=events.last,
            shards=tuple(shards),
            shard_map=None if places.shards == 1 else sealed.put(places.encoded()),
            floors=floors,
            streams=copies,
            derived=derived,
            models={card.name: card.checksum for card in cards},
            model_files=tuple(model_files),
            settings=settings,
            keys=used,
            events=events,
        )
        objects.end()
        write_contents(root, contents)
        return BackedUp(contents, objects.new_bytes, objects.all_bytes)


def keep_newest(root: Path, keep: int) -> int:
    """Remove all backups but the newest `keep`, and their own pieces; returns the freed bytes.

    Raises:
        PermanentError: another process writes a backup, whose pieces no manifest names yet.
        CorruptArtifactError: a manifest is damaged; nothing was removed.
    """
    with _locked(root):
        found = numbers(root)
        kept: set[str] = set()
        for number in found[-keep:]:
            kept |= set(read_contents(root, number).names())
        for number in found[:-keep]:
            manifest_path(root, number).unlink()
        sync(root / MANIFESTS)
        return Objects(root).remove_others(kept)


def _last_events(root: Path, keys: Keys) -> EventsCopy | None:
    """The events of the last backup, if they are under the same keys."""
    try:
        before = read_contents(root)
    except (NotFoundError, CorruptArtifactError):
        return None
    is_same = before.keys is not None and (before.keys.store, before.keys.epoch) == (keys.store, keys.epoch)
    return before.events if is_same else None


async def _floors(client: Client, shards: int) -> dict[str, int]:
    floors = {}
    writers = (streams.writer_durable(streams.CONSOLIDATION_LIFECYCLE, shard) for shard in range(shards))
    for name in (*READERS, *writers):
        try:
            info = await client.jetstream().consumer_info(subjects.EVENTS_STREAM, name)
        except NoStreamError:
            continue
        floors[name] = info.ack_floor.stream_seq if info.ack_floor else 0
    return floors


async def _require_log(client: Client) -> None:
    if not await _exists(client, subjects.EVENTS_STREAM):
        raise PermanentError(f"stream {subjects.EVENTS_STREAM} does not exist; run `helix provision`")


async def _exists(client: Client, stream: str) -> bool:
    try:
        await client.jetstream().stream_info(stream)
    except NoStreamError:
        return False
    return True


@contextlib.contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Hold the folder of the backups, which may be new."""
    (root / OBJECTS).mkdir(parents=True, exist_ok=True)
    with (root / LOCK).open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise PermanentError(f"another process writes a backup into {root}") from error
        handle.write(str(os.getpid()))
        sync(root)
        yield
