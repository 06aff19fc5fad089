"""The folder `security` of a home: its files, and the credentials that commands and services take from it.

```
state.json         users of NATS with the hashes of their passwords
nats-access.conf   TLS and users for another NATS server, to be included in its configuration
ca.pem ca.key      the authority of this home; server.pem server.key what NATS and gRPC show
nats/<user>        user:password of one user
tokens.json        SHA-256 of the static tokens of the gRPC services
tokens/<name>      the token of the operator and of the forwarder
```
"""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from helix_memory.transport.credentials import CallCredentials, NatsCredentials
from helix_shared.machine.whole_file import write_whole

OPERATOR: Final = "operator"
FORWARDER: Final = "forwarder"
SECRET_MODE: Final = 0o600


@dataclass(frozen=True, slots=True)
class SecurityFolder:
    """Paths below `security` of a home."""

    root: Path

    @classmethod
    def of(cls, home: Path) -> SecurityFolder:
        """That of a home."""
        return cls(home.expanduser().absolute() / "security")

    @property
    def exists(self) -> bool:
        """Whether `helix security init` has made it."""
        return self.state.exists()

    @property
    def state(self) -> Path:
        """Users and hashes."""
        return self.root / "state.json"

    @property
    def ca(self) -> Path:
        """Certificate of the authority."""
        return self.root / "ca.pem"

    @property
    def certificate(self) -> Path:
        """Certificate of NATS and of the gRPC services."""
        return self.root / "server.pem"

    @property
    def key(self) -> Path:
        """Its key."""
        return self.root / "server.key"

    @property
    def tokens(self) -> Path:
        """Hashes of the static tokens."""
        return self.root / "tokens.json"

    def nats_file(self, user: str) -> Path:
        """Name and password of a user of NATS."""
        return self.root / "nats" / user

    def token_file(self, name: str) -> Path:
        """The token of the operator or of the forwarder."""
        return self.root / "tokens" / name

    def nats_credentials(self, user: str = OPERATOR) -> NatsCredentials | None:
        """A user of NATS; None without this folder."""
        return NatsCredentials(self.nats_file(user), self.ca) if self.exists else None

    def call_credentials(self, name: str = OPERATOR) -> CallCredentials | None:
        """How the gRPC services are called; None without this folder."""
        return CallCredentials(token_file=self.token_file(name), ca_file=self.ca) if self.exists else None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the folder, so that two commands do not change it at once."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (self.root / "lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield


def write_secret(path: Path, content: str | bytes) -> None:
    """Replace a file that nobody else may read, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    body = content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape")
    write_whole(path, body, mode=SECRET_MODE, synced=True)
