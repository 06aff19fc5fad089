"""Where a command finds NATS and the query service.

An address comes from the option or its environment variable, else from the `helix up` that runs on the
home. There is no default address: with a wrong home it could reach another instance of Helix.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from helix_cli.home.folder import HomeFolder
from helix_cli.home.lock import is_starting
from helix_cli.home.record import RunRecord, running_record
from helix_cli.output.terminal import note
from helix_cli.security.folder import SecurityFolder
from helix_memory.transport.credentials import CallCredentials, NatsCredentials, is_loopback
from helix_memory.transport.polling import poll
from helix_shared.errors import InvalidInputError, TemporaryError

USUAL_NATS_PORT: Final = 4222
USUAL_QUERY_PORT: Final = 7461
USUAL_DEEP_PORT: Final = 7463
USUAL_GATEWAY_PORT: Final = 7464
"""Ports of `helix up` where they are free."""
START_SECONDS: Final = 120.0
"""How long a command waits for a `helix up` that is starting; the first start builds a model."""
NATS_VARIABLE: Final = "HELIX_NATS_URL"
QUERY_VARIABLE: Final = "HELIX_RECALL_ADDRESS"
DEEP_VARIABLE: Final = "HELIX_RECALL_DEEP_ADDRESS"
"""Not HELIX_DEEP_...: those are settings of the service."""
MCP_VARIABLE: Final = "HELIX_MCP_URL"
"""Not HELIX_GATEWAY_...: likewise."""

CALL_VARIABLES: Final = {
    "token_file": "HELIX_TOKEN_FILE",
    "ca_file": "HELIX_TLS_CA",
    "cert_file": "HELIX_TLS_CERT",
    "key_file": "HELIX_TLS_KEY",
}
NATS_VARIABLES: Final = {"credentials_file": "HELIX_NATS_CREDENTIALS", "ca_file": "HELIX_NATS_CA"}
"""Files with credentials; for each that is not set, that of the home is used."""


@dataclass(frozen=True, slots=True)
class Server:
    """Address of a server and the instance of Helix it must belong to; an empty instance is any."""

    address: str
    instance: str = ""
    calls: CallCredentials | None = None
    """How it is called, if it is a gRPC service; None: in the clear and without a token."""
    nats: NatsCredentials | None = None
    """The user, if it is NATS; None: without one."""


def nats_server(option: str, home: Path, *, wait: bool = True) -> Server:
    """Where NATS listens; with `wait`, wait for a `helix up` that is starting on the home.

    Raises:
        TemporaryError: no address is given and nothing runs on the home, or nothing listens yet.
    """
    return _server(option, home, lambda record: record.nats_url, wait=wait)


def query_server(option: str, home: Path, *, wait: bool = True) -> Server:
    """Where the query service listens; with `wait`, wait for a `helix up` that is starting on the home.

    Raises:
        TemporaryError: no address is given and nothing runs on the home, or nothing listens yet.
    """
    return _server(option, home, lambda record: record.query_address, wait=wait)


def query_of_shard(server: Server, shard: int) -> Server:
    """The query service of one shard, of those that `server` names; one that serves all stays."""
    addresses = server.address.split(",")
    return replace(server, address=addresses[shard]) if shard < len(addresses) > 1 else server


def deep_server(option: str, home: Path) -> Server:
    """Where the deep service listens; waits for a `helix up` that is starting on the home.

    Raises:
        TemporaryError: no address is given and nothing runs on the home, or nothing listens yet.
        InvalidInputError: the `helix up` of the home runs no deep service.
    """
    server = _server(option, home, lambda record: record.deep_address, wait=True)
    if not server.address:
        raise InvalidInputError(
            "--deep",
            "no deep service runs in this home; set HELIX_DEEP_BASE_URL, HELIX_DEEP_MODEL and "
            "HELIX_DEEP_TENANTS and start `helix up` again, or name one with --deep-address "
            f"({DEEP_VARIABLE})",
        )
    return server


@dataclass(frozen=True, slots=True)
class GatewayPlace:
    """Where the gateway is, and what a caller needs to reach it."""

    url: str
    """http://host:port or https://host:port."""
    is_secured: bool
    """It wants a token."""
    ca_file: Path | None = None


def gateway_place(option: str, home: Path) -> GatewayPlace:
    """Where the gateway listens; waits for a `helix up` that is starting on the home.

    Raises:
        TemporaryError: no address is given and nothing runs on the home, or nothing listens yet.
        InvalidInputError: the `helix up` of the home runs no gateway.
    """
    if option:
        return GatewayPlace(option.rstrip("/"), is_secured=False)
    record = _wait_for_record(home, wait_seconds=START_SECONDS)
    if not record.gateway_url:
        raise InvalidInputError(
            "--url",
            "no gateway runs in this home; start `helix up` with --copies gateway=1, or `helix gateway` and "
            f"name its address with --url ({MCP_VARIABLE})",
        )
    ca_file = SecurityFolder.of(home).ca if record.is_secured else None
    return GatewayPlace(record.gateway_url, record.is_secured, ca_file)


def require_encrypted(option: str, url: str) -> None:
    """Refuse an address of a gateway to which a token would go in the clear, unless it is of this machine.

    Raises:
        InvalidInputError: `option` is such an address.
    """
    parts = urlsplit(url)
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise InvalidInputError(
            option, f"the token would be sent in the clear to {parts.hostname}; use https"
        )


def _server(option: str, home: Path, address: Callable[[RunRecord], str], *, wait: bool) -> Server:
    if option:
        return Server(option, calls=calls_with(None), nats=_nats_with(None))
    record = _wait_for_record(home, wait_seconds=START_SECONDS if wait else 0.0)
    folder = SecurityFolder.of(home) if record.is_secured else None
    calls, nats = (folder.call_credentials(), folder.nats_credentials()) if folder else (None, None)
    return Server(address(record), record.instance, calls_with(calls), _nats_with(nats))


def calls_with(own: CallCredentials | None) -> CallCredentials | None:
    """How gRPC services are called: `own`, with the files that the variables of `CALL_VARIABLES` name."""
    given = _files(CALL_VARIABLES)
    return replace(own or CallCredentials(), **given) if given else own


def _nats_with(own: NatsCredentials | None) -> NatsCredentials | None:
    """Likewise the user of NATS, and `NATS_VARIABLES`."""
    given = _files(NATS_VARIABLES)
    return replace(own or NatsCredentials(), **given) if given else own


def _files(variables: Mapping[str, str]) -> dict[str, Any]:
    """The files that variables of the environment name, by the field that each is for."""
    named = ((field, os.environ.get(name)) for field, name in variables.items())
    return {field: Path(value).expanduser() for field, value in named if value}


def _wait_for_record(home: Path, *, wait_seconds: float) -> RunRecord:
    """Record of the `helix up` on the home; waits while one is starting there."""
    folder = HomeFolder.at(home)
    is_announced = False
    for _ in poll(wait_seconds):
        if (record := running_record(folder)) is not None:
            return record
        if not is_starting(folder):
            raise TemporaryError(
                f"nothing runs in this home ({folder.root}); start it with `helix up`, choose another with "
                f"--home or HELIX_HOME, or name addresses with --nats and --query ({NATS_VARIABLE}, "
                f"{QUERY_VARIABLE})"
            )
        if wait_seconds and not is_announced:
            note(f"`helix up` is starting in this home ({folder.root}); waiting up to {wait_seconds:g} s")
            is_announced = True
    waited = f" after {wait_seconds:g} s" if wait_seconds else ""
    raise TemporaryError(
        f"`helix up` is starting in this home ({folder.root}), but nothing listens yet{waited}"
    )
