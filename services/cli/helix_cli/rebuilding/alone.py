"""A rebuild where no `helix up` runs: the home's own NATS server is started on its data, for nothing else.

It is the way out where the stack or the data folder does not start.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from helix_cli.clients.broker import provision_server
from helix_cli.home.folder import HomeFolder
from helix_cli.home.leftovers import end_leftovers
from helix_cli.home.lock import locked
from helix_cli.stack.secured import own_nats
from helix_shared.errors import NotFoundError

if TYPE_CHECKING:
    from helix_cli.home.addresses import Server
    from helix_cli.rebuilding.progress import Say


@contextlib.contextmanager
def own_server(home: HomeFolder, *, say: Say, needs_log: bool = True) -> Iterator[Server]:
    """The NATS server of the home, provisioned, while its lock is held; its streams may be new.

    Raises:
        PermanentError: a `helix up` or another rebuild runs on the home.
        NotFoundError: the home has no log, and `needs_log`.
        TemporaryError: the server does not answer.
        UnauthenticatedError: the home is secured, and the file of its operator has another secret.
    """
    if needs_log and not (home.nats / "store").is_dir():
        raise NotFoundError(f"{home.nats} has no log: a rebuild makes memories from HELIX_EVENTS")
    with locked(home):
        end_leftovers(home, say=say)
        with own_nats(home, home.nats) as server:
            provision_server(server.address, credentials=server.nats)
            yield server
