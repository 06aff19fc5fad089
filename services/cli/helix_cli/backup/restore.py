"""`helix restore`: a backup becomes the data of an empty home, whole or not at all.

Everything is prepared in a folder of its own (`HomeFolder.restoring`), by a NATS server of its own, and gets
its place by one rename. What a restore that is killed leaves there is in the clear; the next command of the
home removes it. Sequences and times of the log are those of the backup. Events whose keys are destroyed are
left out. Once the state key is (by any erasure after the backup), the log alone is restored, and `helix up`
makes every memory again from it (ops/decisions/0082). The home gets as many shards as the backup has (0110).
"""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from helix_cli.backup.contents import Contents, FileCopy, ShardCopy, check_pieces
from helix_cli.backup.coordination import continue_leases, place_tenants
from helix_cli.backup.derived_copy import publish_derived
from helix_cli.backup.event_copy import publish_events
from helix_cli.backup.log_writing import WrittenLog, name_log
from helix_cli.backup.objects import Objects, Pieces
from helix_cli.backup.sealed import SealedObjects
from helix_cli.backup.stream_copy import restore
from helix_cli.clients.broker import connected_client, run_async
from helix_cli.home.folder import HomeFolder
from helix_cli.home.leftovers import end_leftovers
from helix_cli.home.lock import locked
from helix_cli.output.terminal import note
from helix_cli.stack.secured import own_nats
from helix_consolidation.delivery.streams.stream_state import event_stream
from helix_memory import subjects
from helix_shared.artifacts.files.durability import sync, write_synced
from helix_shared.artifacts.generation.folders import CURRENT, SIGNALS, folder_of
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.broker.provisioning.provision import provision
from helix_shared.encoders.store import folder_with_checksum
from helix_shared.errors import CorruptArtifactError, InvalidInputError, PermanentError
from helix_shared.keys.key_store import KEYS, KeyStore
from helix_shared.shard_map import ShardMap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nats.aio.client import Client

    from helix_cli.home.addresses import Server
    from helix_shared.artifacts.generation.manifest import StreamState


@dataclass(frozen=True, slots=True)
class Restored:
    """What became of a backup."""

    contents: Contents
    missing_models: tuple[str, ...]
    """Models of generations that the home does not have."""
    has_state: bool = True
    """Whether the generations and everything besides the log are restored."""
    events: WrittenLog | None = None
    """None where the backup is in the clear."""


def restore_backup(root: Path, contents: Contents, home: HomeFolder, *, keys: Path | None = None) -> Restored:
    """Make a backup the data of `home`, after every piece is checked; `keys`: the folder with its keys.

    Raises:
        InvalidInputError: the backup is under keys, and `keys` is missing or of another instance.
        CorruptArtifactError: a piece is missing or damaged; nothing was changed.
        PermanentError: the home has data already, or `helix up` runs there.
    """
    check_pieces(root, contents)
    home.root.mkdir(parents=True, exist_ok=True)
    with locked(home), _keys_of(contents, keys) as store:
        end_leftovers(home, say=note)
        place, draft = _place_of(home), home.restoring
        try:
            restored = _restore_into(HomeFolder.at(draft), root, contents, home, store)
            _sync_tree(draft / home.data.name)
            if place.exists():
                place.rmdir()
            (draft / home.data.name).rename(place)
            sync(place.parent)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return restored


def _place_of(home: HomeFolder) -> Path:
    """Where the data gets its place by a rename: `data` may be a link to a folder of another disk.

    Raises:
        PermanentError: there is something, or no rename is possible.
    """
    place = home.data.resolve() if home.data.is_symlink() else home.data
    if place.exists() and not (place.is_dir() and not any(place.iterdir())):
        raise PermanentError(f"{home.data} is not empty: restore into a new home, or move it away")
    if place.is_mount():
        raise PermanentError(f"{home.data} is a mount: link it to a folder below the mount instead")
    return place


@contextlib.contextmanager
def _keys_of(contents: Contents, folder: Path | None) -> Iterator[KeyStore | None]:
    """The keys of a backup, held; None where it is in the clear."""
    if contents.keys is None:
        yield None
        return
    if folder is None:
        raise InvalidInputError("--keys", "the backup is encrypted: name the folder with its keys")
    with KeyStore.held(folder, create=False) as store:
        if store.name != contents.keys.store:
            raise InvalidInputError("--keys", f"{folder} holds the keys of another instance")
        yield store


def _restore_into(
    draft: HomeFolder, root: Path, contents: Contents, home: HomeFolder, store: KeyStore | None
) -> Restored:
    """Everything below `draft`, with the models and the users of `home`."""
    objects = Objects(root)
    pieces: Pieces = objects if store is None else SealedObjects(objects, store.state_key)
    has_state = store is None or (contents.keys is not None and store.state_name == contents.keys.state)
    if not has_state:
        contents = contents.without_state()
    for shard, copy in enumerate(contents.shards):
        data = draft.data_of(shard)
        data.mkdir(parents=True, exist_ok=True)
        if isinstance(pieces, SealedObjects):
            for file in copy.files:
                pieces.copy_to(file.pieces, file.sha256, data / file.path)
        else:
            _files(copy.files, data, objects)
    log, published = _streams(contents, home, draft.nats, objects, pieces, store)
    made = [_finish_generation(copy, draft.data_of(shard), log) for shard, copy in enumerate(contents.shards)]
    _files(contents.model_files, home.models, objects, keep=True)
    if store is not None:
        store.copy_to(draft.data / KEYS)
    models = {one.model.checksum: one.model.name for one in made if one is not None}
    missing = (name for checksum, name in models.items() if not folder_with_checksum(home.models, checksum))
    return Restored(contents, tuple(missing), has_state, published)


def _files(files: tuple[FileCopy, ...], folder: Path, objects: Objects, *, keep: bool = False) -> None:
    """Write files below `folder`; `keep`: those that are there stay."""
    for file in files:
        if not (keep and (folder / file.path).exists()):
            objects.copy_to(file.sha256, folder / file.path)


def _streams(
    contents: Contents,
    home: HomeFolder,
    folder: Path,
    objects: Objects,
    pieces: Pieces,
    store: KeyStore | None,
) -> tuple[StreamState, WrittenLog | None]:
    """Restore the streams by a server on `folder`, with the users of the home; returns what its log is."""

    async def work(server: Server) -> tuple[StreamState, WrittenLog | None]:
        async with connected_client(server.address, credentials=server.nats) as client:
            for name, copy in contents.streams.items():
                await restore(client, name, copy, pieces)
            # without a key that opens it hashing places every tenant: nothing is applied then
            places = None if contents.shard_map is None else ShardMap.decoded(pieces.read(contents.shard_map))
            await place_tenants(client.jetstream(), places, shards=len(contents.shards))
            await provision(client.jetstream(), endpoint=subjects.ANSWERS_STREAM in contents.streams)
            published = None
            if contents.events is not None and store is not None:
                published = await publish_events(client, contents.events, objects, store)
            await publish_derived(client, contents.derived, pieces)
            await _continue_readers(client, contents)
            return await event_stream(client.jetstream()), published

    with own_nats(home, folder) as server:
        return run_async(work(server))


async def _continue_readers(client: Client, contents: Contents) -> None:
    """Let the readers of the log continue where they were, and the lease count on."""
    jetstream = client.jetstream()
    for name, floor in contents.floors.items():
        if floor:
            await jetstream.reset_consumer(subjects.EVENTS_STREAM, name, floor + 1)
    await continue_leases(jetstream, max(one.epoch for one in contents.shards))


def _finish_generation(copy: ShardCopy, data: Path, log: StreamState) -> Manifest | None:
    """Name the restored log in the manifest of a shard's generation, and make it the current one."""
    if not copy.generation:
        return None
    folder = folder_of(data, copy.generation)
    # without a memory it has no file, and no backup has folders
    (folder / SIGNALS).mkdir(exist_ok=True)
    manifest = Manifest.read(folder)
    if log.last_sequence < manifest.applied_sequence:
        raise CorruptArtifactError(
            f"the log of the backup ends at {log.last_sequence}, its generation has applied "
            f"{manifest.applied_sequence}"
        )
    manifest = name_log(folder, log)
    write_synced(data / CURRENT, f"{copy.generation}\n".encode("ascii"))
    return manifest


def _sync_tree(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            sync(path)
