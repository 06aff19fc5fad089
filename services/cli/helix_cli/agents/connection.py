"""Where the hooks of an agent find the gateway, and for whom they speak."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from shlex import quote
from typing import Final
from urllib.parse import urlsplit

from helix_cli.home.addresses import require_encrypted
from helix_cli.home.folder import HomeFolder
from helix_memory.recall import checks
from helix_shared.errors import InvalidInputError

PROGRAM: Final = "helix_hook.py"
SCHEMES: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Connection:
    """The gateway and the caller."""

    agent: str
    gateway: str
    """Address, like http://127.0.0.1:7464."""
    tenant: str
    user: str
    token_file: Path | None = None
    ca_file: Path | None = None

    @property
    def url(self) -> str:
        """Where the hooks of the agent are served."""
        return f"{self.gateway.rstrip('/')}/hooks/{self.agent}"

    @property
    def headers(self) -> dict[str, str]:
        """Headers that name the caller."""
        return {"Helix-Tenant": self.tenant} | ({"Helix-User": self.user} if self.user else {})

    @property
    def is_plain(self) -> bool:
        """Whether a hook of type http can say this: no secret, no own CA, no character that it changes."""
        if self.token_file or self.ca_file or self.gateway.startswith("https:"):
            return False
        return all(value.isascii() and "$" not in value for value in self.headers.values())

    def text(self) -> str:
        """The file that the program reads."""
        parts = urlsplit(self.url)
        port = parts.port or SCHEMES[parts.scheme]
        lines = [f"{parts.scheme} {parts.hostname} {port} {parts.path}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        files = {"token_file": self.token_file, "ca_file": self.ca_file}
        lines += [f"{name} {path}" for name, path in files.items() if path]
        return "\n".join(lines) + "\n"


def checked(connection: Connection) -> Connection:
    """The connection, with absolute paths.

    Raises:
        InvalidInputError: a field breaks its limit.
    """
    try:
        parts = urlsplit(connection.gateway)
        is_address = parts.scheme in SCHEMES and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_address = False
    if not is_address or any(one in connection.gateway for one in " \t\r\n?#@"):
        raise InvalidInputError("--gateway", "must be an address like http://127.0.0.1:7464")
    if connection.token_file:
        require_encrypted("--gateway", connection.gateway)
    checks.tenant(connection.tenant)
    checks.name("--user", connection.user)
    files = {}
    for name in ("token_file", "ca_file"):
        path: Path | None = getattr(connection, name)
        files[name] = path.expanduser().absolute() if path else None
        if path and not path.expanduser().is_file():
            raise InvalidInputError(f"--{name.replace('_', '-')}", f"{path} is no file")
    return Connection(connection.agent, connection.gateway, connection.tenant, connection.user, **files)


@dataclass(frozen=True, slots=True)
class Installed:
    """The files of one installation below the home: the program, which all share, and its connection."""

    folder: Path
    name: str

    @classmethod
    def of(cls, home: Path, agent: str, project: Path | None) -> Installed:
        """Those of an agent for the user, or for a project."""
        suffix = f"-{hashlib.sha256(str(project).encode()).hexdigest()[:12]}" if project else ""
        return cls(HomeFolder.at(home).root / "agents", f"{agent}{suffix}")

    @property
    def program(self) -> Path:
        """Copy of `helix_hook`."""
        return self.folder / PROGRAM

    @property
    def connection(self) -> Path:
        """The file that it reads."""
        return self.folder / f"{self.name}.conf"

    @property
    def command(self) -> str:
        """The command line of a hook."""
        return " ".join(map(quote, [sys.executable, "-I", "-S", str(self.program), str(self.connection)]))


def program_text() -> str:
    """The program that is installed."""
    return resources.files("helix_cli.agents").joinpath(PROGRAM).read_text(encoding="utf-8")


def is_ours(entry: object) -> bool:
    """Whether an entry of a hook was installed by `helix agent`."""
    if not isinstance(entry, dict):
        return False
    command, url, headers = entry.get("command"), entry.get("url"), entry.get("headers")
    if isinstance(command, str) and f"/agents/{PROGRAM}" in command:
        return True
    return (
        isinstance(url, str) and "/hooks/" in url and isinstance(headers, dict) and "Helix-Tenant" in headers
    )
