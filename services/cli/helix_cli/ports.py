"""Choosing where to listen on 127.0.0.1: the usual port if it is free, a given one, or any."""

from __future__ import annotations

import socket

from helix_shared.broker.server import free_port
from helix_shared.errors import InvalidInputError


def choose_port(wanted: int | None, *, usual: int, option: str) -> int:
    """`wanted`; any free port for 0; for None `usual`, or any free port where that is taken.

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


def is_free(port: int) -> bool:
    """Whether a server could listen on `port` now; a port in TIME_WAIT is free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
