"""`helix backup`: everything of an instance, while it runs, in an order that needs no pause.

1. How far the readers of the log are. What they acknowledged is derived, or in a generation.
2. The derived messages. What is removed from that stream is in a generation.
3. The current generation: it holds all that was acknowledged or removed before.
4. The log and the other streams: the log holds every event of the generation, and more.

After a restore the readers continue where they were in step 1, so some messages come twice, which changes
nothing. The manifest is written last. Until then this process holds the keys (`helix_shared.keys`): an
erasure that comes meanwhile destroys them afterwards, with all that was encrypted.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Iterator
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
    FileCopy,
    Keys,
    manifest_path,
    numbers,
    read_contents,
    write_contents,
)
from helix_cli.backup.derived_copy import copy_derived
from helix_cli.backup.event_copy import copy_events
from helix_cli.backup.objects import OBJECTS, Objects
from helix_cli.backup.sealed import SealedObjects
from helix_cli.backup.stream_copy import snapshot
from helix_memory import subjects
from helix_shared.artifacts.files.durability import sha256_of, sync
from helix_shared.artifacts.files.held_folder import HeldFolder
from helix_shared.artifacts.generation.folders import GENERATIONS, current_number, folder_of
from helix_shared.artifacts.generation.manifest import MANIFEST_NAME, Manifest
from helix_shared.artifacts.learned_adapters import ADAPTERS, CARD, read_learned_card, tenants_with_cards
from helix_shared.broker import streams
from helix_shared.broker.shard_bucket import require_one_shard
from helix_shared.broker.stored_at import IMPORTS
from helix_shared.encoders.store import list_models, model_folder
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
READERS: Final = (streams.INGEST, streams.CONSOLIDATION_LIFECYCLE, streams.EXTRACT)
"""Consumers of the log."""
ATTEMPTS: Final = 5
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
    data: Path,
    models: Path,
    settings: dict[str, str],
    with_models: bool,
) -> BackedUp:
    """Write the next backup into the folder `root`.

    Raises:
        PermanentError: another process writes there, NATS refuses a snapshot, or there are several shards.
        TemporaryError: NATS does not answer, or an erasure has the keys; no backup was made.
        CorruptArtifactError: a file of the generation is damaged; no backup was made.
    """
    await require_one_shard(client.jetstream(), "a backup")
    with _locked(root), KeyStore.held(data / KEYS) as keys:
        objects = Objects(root)
        sealed = SealedObjects(objects, keys.state_key)
        objects.clear_drafts()
        floors = await _floors(client)
        derived = await copy_derived(client, sealed)
        manifest, files = await asyncio.to_thread(_generation, data, sealed)
        files += await asyncio.to_thread(_adapters, data, sealed)
        used = Keys(store=keys.name, epoch=keys.epoch, state=keys.state_name)
        await _require_log(client)
        events = await copy_events(client, objects, keys, _last_events(root, used))
        copies = {}
        for stream in STREAMS:
            if await _exists(client, stream):
                copies[stream] = await snapshot(client, stream, sealed)
        cards = list_models(models)
        model_files = await asyncio.to_thread(_models, models, objects) if with_models else []
        contents = Contents(
            number=max(numbers(root), default=0) + 1,
            made_at=datetime.now(UTC),
            helix=version("helix-memory"),
            last_sequence=events.last,
            generation=manifest.generation if manifest else 0,
            applied_sequence=manifest.applied_sequence if manifest else 0,
            epoch=manifest.epoch if manifest else 0,
            floors=floors,
            streams=copies,
            derived=derived,
            files=tuple(files),
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


async def _floors(client: Client) -> dict[str, int]:
    floors = {}
    for name in READERS:
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


def _generation(data: Path, sealed: SealedObjects) -> tuple[Manifest | None, list[FileCopy]]:
    """Keep the current generation; it may be retired meanwhile, so its files are opened first."""
    for _ in range(ATTEMPTS):
        number = current_number(data)
        if number is None:
            return None, []
        folder = folder_of(data, number)
        try:
            held = HeldFolder(folder, None)
        except (FileNotFoundError, CorruptArtifactError):
            continue
        with contextlib.closing(held):
            manifest = Manifest.read(held.path)
            path = f"{GENERATIONS}/{folder.name}"
            copies = [
                FileCopy(
                    path=f"{path}/{entry.path}",
                    size=entry.size,
                    sha256=entry.sha256,
                    pieces=sealed.put_file(held.path / entry.path, entry.sha256),
                )
                for entry in manifest.files
            ]
            copies.append(_sealed_file(held.path / MANIFEST_NAME, f"{path}/{MANIFEST_NAME}", sealed))
        return manifest, copies
    raise TemporaryError(f"generations of {data} were replaced faster than they were opened; try again")


def _adapters(data: Path, sealed: SealedObjects) -> list[FileCopy]:
    copies: list[FileCopy] = []
    for tenant in tenants_with_cards(data):
        with contextlib.suppress(NotFoundError):
            card = read_learned_card(data, tenant)
            try:
                copies += [
                    _sealed_file(data / ADAPTERS / tenant / name, f"{ADAPTERS}/{tenant}/{name}", sealed)
                    for name in (card.adapter_file, card.memories_file, CARD)
                ]
            except FileNotFoundError as error:
                raise TemporaryError(f"the adapter of {tenant} was replaced meanwhile; try again") from error
    return copies


def _models(models: Path, objects: Objects) -> list[FileCopy]:
    copies = []
    for card in list_models(models):
        folder = model_folder(models, card.name)
        copies += [
            _file(path, f"{folder.name}/{path.relative_to(folder).as_posix()}", objects)
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        ]
    return copies


def _sealed_file(path: Path, name: str, sealed: SealedObjects) -> FileCopy:
    digest, size = sha256_of(path), path.stat().st_size
    return FileCopy(path=name, size=size, sha256=digest, pieces=sealed.put_file(path, digest))


def _file(path: Path, name: str, objects: Objects) -> FileCopy:
    digest, size = sha256_of(path), path.stat().st_size
    objects.put_file(path, digest, size)
    return FileCopy(path=name, size=size, sha256=digest)


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
