"""`helix restore`: a backup becomes the data of an empty home, whole or not at all.

Everything is prepared in `restoring` below the home, by a NATS server of its own, and gets its place by one
rename. Sequences and times of the log are those of the backup.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from helix_cli.backup.contents import Contents, FileCopy, check_pieces
from helix_cli.backup.derived_copy import publish_derived
from helix_cli.backup.objects import Objects
from helix_cli.backup.stream_copy import restore
from helix_cli.clients.broker import connected_client, run_async
from helix_cli.stack.home import HomeFolder, locked
from helix_cli.stack.secured import own_nats
from helix_consolidation.delivery.stream_state import event_stream
from helix_memory import subjects
from helix_shared.artifacts.files.durability import sync, write_synced
from helix_shared.artifacts.generation.folders import CURRENT, folder_of
from helix_shared.artifacts.generation.manifest import MANIFEST_NAME, Manifest
from helix_shared.broker import streams
from helix_shared.encoders.store import folder_with_checksum
from helix_shared.errors import CorruptArtifactError, PermanentError

if TYPE_CHECKING:
    from nats.aio.client import Client

    from helix_shared.artifacts.generation.manifest import StreamState

RESTORING: Final = "restoring"


@dataclass(frozen=True, slots=True)
class Restored:
    """What became of a backup."""

    contents: Contents
    model: str
    """Model of the generation; empty where there is none."""
    has_model: bool
    """Whether the home has it."""


def restore_backup(root: Path, contents: Contents, home: HomeFolder) -> Restored:
    """Make a backup the data of `home`, after every piece is checked.

    Raises:
        CorruptArtifactError: a piece is missing or damaged; nothing was changed.
        PermanentError: the home has data already, or `helix up` runs there.
    """
    check_pieces(root, contents)
    home.root.mkdir(parents=True, exist_ok=True)
    with locked(home):
        if home.data.exists() and any(home.data.iterdir()):
            raise PermanentError(f"{home.data} is not empty: restore into a new home, or move it away")
        draft = home.root / RESTORING
        shutil.rmtree(draft, ignore_errors=True)
        try:
            data = HomeFolder.at(draft).data
            objects = Objects(root)
            _files(contents.files, data, objects)
            log = _streams(contents, home, HomeFolder.at(draft).nats, objects)
            model = _finish_generation(contents, data, log)
            _files(contents.model_files, home.models, objects, keep=True)
            _sync_tree(data)
            if home.data.exists():
                home.data.rmdir()
            data.rename(home.data)
            sync(home.root)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    name, checksum = (model.model.name, model.model.checksum) if model else ("", "")
    return Restored(contents, name, not name or folder_with_checksum(home.models, checksum) is not None)


def _files(files: tuple[FileCopy, ...], folder: Path, objects: Objects, *, keep: bool = False) -> None:
    """Write files below `folder`; `keep`: those that are there stay."""
    for file in files:
        if not (keep and (folder / file.path).exists()):
            objects.copy_to(file.sha256, folder / file.path)


def _streams(contents: Contents, home: HomeFolder, folder: Path, objects: Objects) -> StreamState:
    """Restore the streams by a server on `folder`, with the users of the home; returns what its log is."""
    server, credentials = own_nats(home, folder)

    async def work() -> StreamState:
        async with connected_client(server.url, credentials=credentials) as client:
            for name, copy in contents.streams.items():
                await restore(client, name, copy, objects)
            await streams.provision(client.jetstream(), endpoint=subjects.ANSWERS_STREAM in contents.streams)
            await publish_derived(client, contents.derived, objects)
            await _continue_readers(client, contents)
            return await event_stream(client.jetstream())

    with server:
        return run_async(work())


async def _continue_readers(client: Client, contents: Contents) -> None:
    """Let the readers of the log continue where they were, and the lease count on."""
    jetstream = client.jetstream()
    for name, floor in contents.floors.items():
        if floor:
            await jetstream.reset_consumer(subjects.EVENTS_STREAM, name, floor + 1)
    # a writer refuses a generation whose epoch its lease does not follow
    await jetstream.purge_stream(streams.LEASE_STREAM, seq=contents.epoch + 1)


def _finish_generation(contents: Contents, data: Path, log: StreamState) -> Manifest | None:
    """Name the restored log in the manifest of the generation, and make it the current one."""
    if not contents.generation:
        return None
    folder = folder_of(data, contents.generation)
    manifest = Manifest.read(folder)
    if log.last_sequence < manifest.applied_sequence:
        raise CorruptArtifactError(
            f"the log of the backup ends at {log.last_sequence}, its generation has applied "
            f"{manifest.applied_sequence}"
        )
    stream = manifest.stream.model_copy(update={"created_at": log.created_at})
    manifest = manifest.model_copy(update={"stream": stream})
    write_synced(folder / MANIFEST_NAME, manifest.sealed())
    write_synced(data / CURRENT, f"{contents.generation}\n".encode("ascii"))
    return manifest


def _sync_tree(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            sync(path)
