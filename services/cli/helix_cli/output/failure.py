"""Failures at the command line: one line on standard error, an exit code, no traceback.

| code | meaning |
|---|---|
| 0 | done |
| 1 | something was refused or failed |
| 2 | usage, or input that breaks a limit |
| 3 | NATS or the query service does not answer |
| 78 | bad configuration |
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

import typer
from typer.core import TyperGroup

from helix_cli.output.terminal import complain
from helix_shared.errors import HelixError, InvalidInputError, OverloadedError, TemporaryError

FAILED_EXIT: Final = 1
USAGE_EXIT: Final = 2
UNREACHABLE_EXIT: Final = 3

EXIT_CODES: Final = (
    "Exit codes: 0 done, 1 refused or failed, 2 usage or invalid input,\n3 not reachable, 78 configuration."
)

T = TypeVar("T")


def exit_code(error: HelixError) -> int:
    """The exit code that an error of the tree stands for."""
    if isinstance(error, InvalidInputError):
        return USAGE_EXIT
    if isinstance(error, TemporaryError) and not isinstance(error, OverloadedError):
        return UNREACHABLE_EXIT
    return FAILED_EXIT


class HelixGroup(TyperGroup):
    """The command group whose commands may simply raise: it words the error and sets the exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        try:
            return super().invoke(ctx)
        except HelixError as error:
            complain(str(error))
            raise typer.Exit(exit_code(error)) from error
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            complain(str(error))
            raise typer.Exit(FAILED_EXIT) from error


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also where a loop runs already (a test or a notebook uses `Stack`)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
