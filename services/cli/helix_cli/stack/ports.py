"""Choice of ports on 127.0.0.1."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from helix_cli.home.addresses import (
    USUAL_DEEP_PORT,
    USUAL_GATEWAY_PORT,
    USUAL_NATS_PORT,
    USUAL_QUERY_PORT,
)
from helix_cli.stack.services import DEEP, FORWARDER, GATEWAY, QUERY
from helix_shared.broker.server import free_port
from helix_shared.errors import InvalidInputError

HIGHEST_PORT: Final = 65535


@dataclass(frozen=True, slots=True)
class WantedPorts:
    """Ports that a stack is asked for: 0 is any, None the usual one, or any if that is taken."""

    nats: int | None = None
    query: int | None = None
    gateway: int | None = None


@dataclass(frozen=True, slots=True)
class StackPorts:
    """Ports of a stack; 0 where it has no such service."""

    nats: int = 0
    query: tuple[int, ...] = ()
    """By shard."""
    access: tuple[int, ...] = ()
    """Likewise."""
    deep: int = 0
    gateway: int = 0

    @property
    def nats_url(self) -> str:
        """Address of NATS."""
        return f"nats://127.0.0.1:{self.nats}"

    @property
    def query_addresses(self) -> list[str]:
        """Addresses of the query services, by shard."""
        return [f"127.0.0.1:{port}" for port in self.query]

    @property
    def deep_address(self) -> str:
        """Address of the deep service; empty where there is none."""
        return f"127.0.0.1:{self.deep}" if self.deep else ""

    @property
    def every(self) -> frozenset[int]:
        """All of them; what takes another port must not take one of these before its service listens."""
        return frozenset((self.nats, *self.query, *self.access, self.deep, self.gateway)) - {0}


def choose_ports(
    wanted: WantedPorts, copies: Mapping[str, int], *, reserved: Iterable[int] = ()
) -> StackPorts:
    """The ports of a stack with these processes; `reserved` are those that metrics have.

    Raises:
        InvalidInputError: a wanted port is taken, or wanted twice.
    """
    # any port is good for a stack whose others are any as well, as in tests
    others = None if wanted.query is None else 0
    gateway = others if wanted.gateway is None else wanted.gateway
    chosen = _Distinct(reserved, named=(wanted.nats, wanted.query, wanted.gateway))
    query = chosen.port(wanted.query, usual=USUAL_QUERY_PORT, option="--port")
    return StackPorts(
        nats=chosen.port(wanted.nats, usual=USUAL_NATS_PORT, option="--nats-port"),
        query=(query, *(chosen.port(0) for _ in range(1, copies[QUERY]))),
        access=tuple(chosen.port(0) for _ in range(copies[FORWARDER])),
        deep=chosen.port(others, usual=USUAL_DEEP_PORT, option=DEEP) if copies[DEEP] else 0,
        gateway=chosen.port(gateway, usual=USUAL_GATEWAY_PORT, option="--gateway-port")
        if copies[GATEWAY]
        else 0,
    )


class _Distinct:
    """Chooses ports, none twice: nothing listens on them yet, so each looks free again."""

    def __init__(self, reserved: Iterable[int], *, named: Iterable[int | None]) -> None:
        """No port is one of the `reserved`; one that is `named` is for whom it is named."""
        self._chosen = set(reserved)
        self._named = set(filter(None, named))

    def port(self, wanted: int | None, *, usual: int = 0, option: str = "") -> int:
        """As `choose_port`, and none that was chosen before."""
        port = choose_port(wanted, usual=usual, option=option)
        while port in self._chosen or (not wanted and port in self._named):
            if wanted:
                raise InvalidInputError(option, f"port {wanted} is wanted twice; choose another, or 0")
            port = free_port()
        self._chosen.add(port)
        return port


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
