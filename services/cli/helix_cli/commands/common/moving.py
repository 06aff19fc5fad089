"""What `helix shards move` does with a home: the settings of its `helix up`, and the model of its vectors."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from helix_cli.clients.broker import client_of, run_async
from helix_cli.home.addresses import nats_server
from helix_cli.home.record import running_record
from helix_cli.moving.move import Move, until_followed
from helix_cli.output.terminal import note
from helix_cli.rebuilding.served import Served
from helix_cli.stack.settings_in_use import settings_in_use
from helix_ingest.settings import IngestSettings
from helix_shared.encoders.store import folder_with_checksum
from helix_shared.errors import NotFoundError

if TYPE_CHECKING:
    from pathlib import Path

    from helix_cli.home.addresses import Server
    from helix_cli.home.folder import HomeFolder
    from helix_cli.moving.move import Moved


def move_tenant(home: HomeFolder, tenant_id: str, target: int, *, nats: str) -> Moved:
    """Move a tenant, and wait until the writers serve it from there, where they run.

    Raises:
        NotFoundError: the model of the vectors is not installed.
        InvalidInputError: as `Move.run`, or a setting of a worker is not that of the `helix up`.
        TemporaryError, PermanentError, LostLeaseError: as `Move.run`.
    """
    record = running_record(home)
    server, model = nats_server(nats, home.root, wait=False), _model(home, target)
    with contextlib.ExitStack() as stack:
        if record is not None:
            stack.enter_context(settings_in_use(record.settings))
        os.nice(IngestSettings.load().niceness)
        moved = run_async(_moved(server, home, tenant_id, target, model))
    if record is not None and not until_followed(home.data_of, moved):
        note("the writers did not publish with the new map yet; their logs say why")
    return moved


async def _moved(server: Server, home: HomeFolder, tenant_id: str, target: int, model: Path) -> Moved:
    async with client_of(server) as client:
        return await Move(client, tenant_id, target, home.data_of, model, note).run()


def _model(home: HomeFolder, shard: int) -> Path:
    checksum = Served.look(home.data_of(shard)).model_checksum
    found = folder_with_checksum(home.models, checksum)
    if found is None:
        raise NotFoundError(f"the model of the vectors of shard {shard} is not in {home.models}")
    return found
