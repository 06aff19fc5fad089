"""Choice of ports on 127.0.0.1."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Final

from helix_shared.broker.server import free_port
from helix_shared.errors import InvalidInputError

HIGHEST_PORT: Final = 65535


def choose_port(wanted: int | None, *, usual: int, option: str) -> int:
    """Return `wanted`; for 0 any free port; for None `usual`, or any free port if that is taken.

    Raises:
        InvalidInputError: `wanted` is taken.
    """
    if wanted is None:
        return usual if is_free(usual) else free_port()
    if wanted == 0:
        return free_port()
    if not is_free(wanted):
        raise InvalidInputError(option, f"port {wanted} is taken; choose another, or 0 for any")
    return wanted


def metrics_ports(copies: Mapping[str, int], environment: Mapping[str, str]) -> dict[str, int]:
    """Metrics port by process, like `ingest-2`: the port set for the service plus the index of the process.

    Leaves out a service without a port. Ignores a value that is no port: the service refuses it.

    Raises:
        InvalidInputError: a port is too high, taken, or used twice; names the variable and the process.
    """
    ports: dict[str, int] = {}
    for service, count in copies.items():
        variable = f"HELIX_{service.upper()}_METRICS_PORT"
        first = environment.get(variable, "")
        if not first.isdecimal() or int(first) == 0:
            continue
        for number in range(1, count + 1):
            name, port = f"{service}-{number}", int(first) + number - 1
            if port > HIGHEST_PORT:
                raise InvalidInputError(variable, f"gives {name} port {port}; the highest is {HIGHEST_PORT}")
            if taken := next((other for other, used in ports.items() if used == port), ""):
                raise InvalidInputError(variable, f"gives {name} port {port}, which {taken} has already")
            if not is_free(port):
                raise InvalidInputError(variable, f"gives {name} port {port}, which is taken; choose another")
            ports[name] = port
    return ports


def is_free(port: int) -> bool:
    """Whether a server can listen on `port` now; a port in TIME_WAIT is free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
