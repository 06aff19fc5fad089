"""Imports FastStream without Uvicorn, which serves HTTP.

FastStream imports it wherever it is installed, in workers, too, and a tenth of FastStream's import is spent
on it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any, Final

HTTP_SERVER: Final = "uvicorn"


@contextlib.contextmanager
def _hidden(name: str) -> Iterator[None]:
    """An import of `name` fails, as where it is not installed; if it is imported already, it stays."""
    modules: dict[str, Any] = sys.modules
    if name in modules:
        yield
        return
    modules[name] = None
    try:
        yield
    finally:
        del modules[name]


with _hidden(HTTP_SERVER):
    from faststream import FastStream
    from faststream.nats import NatsBroker
    from faststream.nats.security import NatsSecurity, NatsUserPassword

__all__ = ["FastStream", "NatsBroker", "NatsSecurity", "NatsUserPassword"]
