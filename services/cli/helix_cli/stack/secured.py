"""The security folder as a stack uses it: settings of the services, users of NATS, and rotations.

Without the folder nothing is secured, and everything listens on 127.0.0.1. A rotation is noticed by the
supervisor: NATS learns the new secrets, the services restart with them, then the old ones end.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from helix_cli.home.addresses import Server, calls_with
from helix_cli.home.record import ALONE_RECORD, RunRecord, remove_record, start_time, write_record
from helix_cli.security.folder import FORWARDER, SecurityFolder
from helix_cli.security.setup import end_rotation, recover
from helix_cli.security.users import nats_access, read_state
from helix_cli.stack.children import NatsChild
from helix_cli.stack.services import CONSOLIDATION, DEEP, EXTRACT, GATEWAY, INGEST, QUERY
from helix_shared.broker.server import NatsServer

if TYPE_CHECKING:
    from pathlib import Path

    from helix_cli.home.folder import HomeFolder
    from helix_cli.stack.supervisor import Say
    from helix_memory.transport.credentials import CallCredentials, NatsCredentials

NATS_SERVICES: Final = (INGEST, "doc2query", "kg", CONSOLIDATION, FORWARDER, EXTRACT, GATEWAY)
_ALONE: Final = "nats"
"""Name of the process of `own_nats`."""


@contextlib.contextmanager
def own_nats(home: HomeFolder, folder: Path) -> Iterator[Server]:
    """Inside, a NATS server runs on `folder` for a command that holds the lock of the home.

    It has the users of the home, if the home is secured: no other program of the machine comes in meanwhile.
    Whoever starts next on the home ends it, if this process is killed.

    Raises:
        PermanentError, TemporaryError: it does not start.
        InvalidInputError: the security folder of the home is damaged.
    """
    security, name = SecurityFolder.of(home.root), f"helix-alone-{uuid.uuid4().hex}"
    credentials = security.nats_credentials() if security.exists else None

    def access() -> str:
        return nats_access(security, read_state(security)) if security.exists else ""

    try:
        with NatsServer(folder, name=name, access=access) as server:
            if (process := server.process) is not None:
                pids, started = {_ALONE: process.pid}, {_ALONE: start_time(process.pid)}
                write_record(home, RunRecord(server.url, "", name, pids, started), name=ALONE_RECORD)
            yield Server(server.url, name, nats=credentials)
    finally:
        remove_record(home, name=ALONE_RECORD)


class Secured:
    """Security of one stack; the folder counts if it is there when the stack starts."""

    def __init__(self, home: HomeFolder, *, say: Say) -> None:
        self._home = home
        self._nats: NatsChild | None = None
        self._folder = SecurityFolder.of(home.root)
        self._say = say
        self._seen: tuple[int, int] | None = None
        self.is_on = False

    def start(self) -> None:
        """Look whether the folder is there; a rotation that was killed ends before anything has its secrets.

        Raises:
            PermanentError, InvalidInputError: the folder is damaged.
        """
        self.is_on = self._folder.exists
        if self.is_on:
            recover(self._folder)
        self._seen = self._stamp()
        if not self.is_on:
            self._say("no authentication: every program of this machine may act for every tenant")

    @property
    def nats(self) -> NatsCredentials | None:
        """The operator's user of NATS."""
        return self._folder.nats_credentials() if self.is_on else None

    @property
    def calls(self) -> CallCredentials | None:
        """How the operator calls the services, as commands do."""
        return calls_with(self._folder.call_credentials()) if self.is_on else None

    def _nats_access(self) -> str:
        return nats_access(self._folder, read_state(self._folder)) if self.is_on else ""

    def settings(self, service: str, environment: Mapping[str, str]) -> dict[str, str]:
        """Variables of a service; what `environment` sets is left to it, such as another kind of tokens."""
        if not self.is_on:
            return {}
        values: dict[str, object] = {}
        if service in NATS_SERVICES:
            values |= {
                "NATS_CREDENTIALS_FILE": self._folder.nats_file(service),
                "CA_FILE" if service == GATEWAY else "NATS_CA_FILE": self._folder.ca,
            }
        if service in (QUERY, DEEP, GATEWAY):
            values |= {
                "AUTH": "tokens",
                "TOKENS_FILE": self._folder.tokens,
                "TLS_CERT_FILE": self._folder.certificate,
                "TLS_KEY_FILE": self._folder.key,
            }
        if service == DEEP:
            values["QUERY_CA_FILE"] = self._folder.ca
        if service == FORWARDER:
            values |= {"TOKEN_FILE": self._folder.token_file(FORWARDER), "ACCESS_CA_FILE": self._folder.ca}
        named = {f"HELIX_{service.upper()}_{name}": str(value) for name, value in values.items()}
        return {name: value for name, value in named.items() if name not in environment}

    def nats_child(self, *, port: int, name: str) -> NatsChild:
        """The NATS server of the stack."""
        self._nats = NatsChild(NatsServer(self._home.nats, port=port, name=name, access=self._nats_access))
        return self._nats

    def look(self, *, restart: Callable[[], None]) -> None:
        """Take over changed users; restart the services where a rotation wants it."""
        if not self.is_on or self._nats is None or (stamp := self._stamp()) == self._seen:
            return
        is_rotating = read_state(self._folder).is_rotating
        self._nats.reload()
        if is_rotating:
            self._say("`helix security rotate`: restarting the services with new secrets")
            restart()
            end_rotation(self._folder)
            # before the reading: what another command changes while or after it is taken over next time
            stamp = self._stamp()
            self._nats.reload()
        self._seen = stamp

    def _stamp(self) -> tuple[int, int] | None:
        try:
            found = self._folder.state.stat()
        except FileNotFoundError:
            return None
        return found.st_mtime_ns, found.st_ino
