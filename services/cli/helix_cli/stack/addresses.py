"""Where a command finds NATS and the query service.

An address comes from the option or its environment variable, else from the `helix up` that runs on the
home. There is no default address: with a wrong home it could reach another instance of Helix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from helix_cli.output.terminal import note
from helix_cli.stack.home import HomeFolder, RunRecord, is_starting, running_record
from helix_memory.transport.polling import poll
from helix_shared.errors import InvalidInputError, TemporaryError

USUAL_NATS_PORT: Final = 4222
USUAL_QUERY_PORT: Final = 7461
USUAL_DEEP_PORT: Final = 7463
"""Ports of `helix up` where they are free."""
START_SECONDS: Final = 120.0
"""How long a command waits for a `helix up` that is starting; the first start builds a model."""
NATS_VARIABLE: Final = "HELIX_NATS_URL"
QUERY_VARIABLE: Final = "HELIX_RECALL_ADDRESS"
DEEP_VARIABLE: Final = "HELIX_RECALL_DEEP_ADDRESS"
"""Not HELIX_DEEP_...: those are settings of the service."""


@dataclass(frozen=True, slots=True)
class Server:
    """Address of a server and the instance of Helix it must belong to; an empty instance is any."""

    address: str
    instance: str = ""


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


def _server(option: str, home: Path, address: Callable[[RunRecord], str], *, wait: bool) -> Server:
    if option:
        return Server(option)
    record = _wait_for_record(home, wait_seconds=START_SECONDS if wait else 0.0)
    return Server(address(record), record.instance)


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
