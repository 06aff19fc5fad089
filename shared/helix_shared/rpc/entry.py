"""The entry of a process that answers calls."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from helix_shared.errors import CONFIG_ERROR_EXIT, InvalidInputError, TemporaryError
from helix_shared.machine.processes import resume_garbage_collection

T_co = TypeVar("T_co", covariant=True)
FAILED_EXIT = 1


class Service(Protocol[T_co]):
    """What a composition root makes."""

    def run(self) -> Coroutine[Any, Any, T_co]:
        """Serve until SIGTERM or SIGINT."""


def run_service(create: Callable[[], Service[T_co]]) -> T_co:
    """What a service returns at its end.

    Exits with 78 where a setting is wrong, and with 1 where the start failed and may work later; the reason
    is on standard error.
    """
    try:
        service = create()
        resume_garbage_collection()
        return asyncio.run(service.run())
    except InvalidInputError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(CONFIG_ERROR_EXIT)
    except TemporaryError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(FAILED_EXIT)
