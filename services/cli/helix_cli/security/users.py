"""The users of NATS: their state (hashes of passwords, never passwords) and the text of the configuration."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import bcrypt

from helix_cli.security.folder import write_secret
from helix_cli.security.permissions import (
    SERVICE_USERS,
    Rights,
    inbox_subject,
    rights_of_service,
    rights_of_tenant,
)
from helix_shared.broker.server import config_text
from helix_shared.errors import PermanentError

if TYPE_CHECKING:
    from pathlib import Path

    from helix_cli.security.folder import SecurityFolder

SECRET_BYTES: Final = 32
BCRYPT_ROUNDS: Final = 5
"""Few, because the secrets are random: nobody can guess them, and the server hashes at every connection."""
_VERSION: Final = 1


@dataclass(slots=True)
class User:
    """A user of NATS; `hashes` by number: the newest is in its file, an older one is still valid."""

    name: str
    tenant: str = ""
    roles: tuple[str, ...] = ()
    hashes: dict[int, str] = field(default_factory=dict)

    @property
    def rights(self) -> Rights:
        """What it may do."""
        return rights_of_tenant(self.tenant, self.roles) if self.tenant else rights_of_service(self.name)

    @property
    def number(self) -> int:
        """Number of the newest secret; 0: there is none."""
        return max(self.hashes, default=0)

    def renewed(self, folder: SecurityFolder) -> str:
        """Make a new secret, for its file; the newest before and that of the file stay valid, others end."""
        password = secrets.token_urlsafe(SECRET_BYTES)
        number = self.number + 1
        hashed = bcrypt.hashpw(password.encode(), bcrypt.gensalt(BCRYPT_ROUNDS)).decode()
        valid = {self.number, self._number_in(folder.nats_file(self.name))}
        self.hashes = {known: one for known, one in self.hashes.items() if known in valid} | {number: hashed}
        return f"{self.name}.{number}:{password}\n"

    def _number_in(self, path: Path) -> int:
        """Number of the secret in a file; 0: it has none."""
        try:
            number = path.read_text(encoding="utf-8").partition(":")[0].removeprefix(f"{self.name}.")
        except (OSError, ValueError):
            return 0
        return int(number) if number.isdecimal() else 0

    def has_secret(self, content: bytes) -> bool:
        """Whether the content of its file is a secret that is valid."""
        login, _, password = content.decode(errors="replace").strip().partition(":")
        known = {f"{self.name}.{number}": hashed for number, hashed in self.hashes.items()}
        try:
            return login in known and bcrypt.checkpw(password.encode(), known[login].encode())
        except ValueError:  # no secret of ours is that long, or the hash is damaged
            return False

    def end_older(self) -> None:
        """Only the newest secret stays valid."""
        self.hashes = {self.number: self.hashes[self.number]}


@dataclass(slots=True)
class State:
    """All users, the names in the certificate, and whether older secrets of services still are valid."""

    users: dict[str, User]
    hosts: tuple[str, ...] = ()
    rotation: int = 0
    """Counts rotations; `helix up` restarts its services when it grows."""
    is_rotating: bool = False
    """Until the services run with the new secrets."""
    own_authority: bool = True

    @classmethod
    def empty(cls) -> State:
        """A user for every service, none with a secret."""
        return cls({name: User(name) for name in SERVICE_USERS})

    def renew(self, folder: SecurityFolder, users: Iterable[User]) -> None:
        """New secrets of these users, and save: a secret is known before its file has it."""
        renewed = {user.name: user.renewed(folder) for user in users}
        self.save(folder)
        for name, secret in renewed.items():
            write_secret(folder.nats_file(name), secret)

    def save(self, folder: SecurityFolder) -> None:
        """Write the state and the configuration that follows from it."""
        write_secret(folder.state, json.dumps(self._fields(), indent=2) + "\n")
        write_secret(folder.root / "nats-access.conf", nats_access(folder, self))

    def _fields(self) -> dict[str, Any]:
        return {
            "version": _VERSION,
            "rotation": self.rotation,
            "is_rotating": self.is_rotating,
            "own_authority": self.own_authority,
            "hosts": list(self.hosts),
            "users": {
                user.name: {"tenant": user.tenant, "roles": list(user.roles), "hashes": user.hashes}
                for user in self.users.values()
            },
        }


def read_state(folder: SecurityFolder) -> State:
    """The state of a folder.

    Raises:
        PermanentError: there is none, or it is damaged.
    """
    try:
        fields = json.loads(folder.state.read_bytes())
        if fields["version"] != _VERSION:
            raise PermanentError(f"{folder.state} is of version {fields['version']}; run that release")
        users = {name: _user(name, one) for name, one in fields["users"].items()}
        # a release may add a service
        users |= {name: User(name) for name in SERVICE_USERS if name not in users}
        return State(
            users,
            tuple(fields["hosts"]),
            int(fields["rotation"]),
            fields["is_rotating"] is True,
            fields["own_authority"] is True,
        )
    except FileNotFoundError as error:
        raise PermanentError(f"{folder.root} is empty; run `helix security init`") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise PermanentError(f"{folder.state} is damaged; restore it from a backup") from error


def nats_access(folder: SecurityFolder, state: State) -> str:
    """TLS and users, as text for the configuration of nats-server. It holds hashes, no passwords."""
    lines = [
        "tls {",
        f"  cert_file: {config_text(str(folder.certificate))}",
        f"  key_file: {config_text(str(folder.key))}",
        "  # clients send nothing before the handshake: a false server cannot get a password in the clear",
        "  handshake_first: true",
        "}",
        "authorization {",
        "  users: [",
    ]
    for user in state.users.values():
        lines += [f"    {line}" for line in _entries(user)]
    return "\n".join([*lines, "  ]", "}", ""])


def _entries(user: User) -> Iterator[str]:
    rights = user.rights
    permissions: dict[str, Any] = {
        "publish": {"allow": list(rights.publish)},
        "subscribe": {"allow": [*rights.subscribe, inbox_subject(user.name)]},
    }
    if rights.responds:
        permissions["allow_responses"] = {"max": 1, "expires": "5m"}
    for number, hashed in sorted(user.hashes.items()):
        # JSON is valid in a configuration of nats-server
        yield json.dumps({"user": f"{user.name}.{number}", "password": hashed, "permissions": permissions})


def _user(name: str, fields: Mapping[str, Any]) -> User:
    hashes = {int(number): str(hashed) for number, hashed in fields["hashes"].items()}
    return User(name, str(fields["tenant"]), tuple(fields["roles"]), hashes)
