"""One operation: its place in the API, its request and reply, and the call of the client."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from helix_gateway.operations.replies import Reply
    from helix_gateway.operations.requests import Arguments
    from helix_memory.client import AsyncHelix

PREFIX: Final = "/v1"
_PARAMETER: Final = re.compile(r"{(\w+)}")

Run = Callable[["AsyncHelix", Any], Awaitable[Any]]
"""Calls the client with a request of the operation."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What a request to one path does."""

    name: str
    """That of the client's method."""
    method: str
    path: str
    """Below `PREFIX`; parameters in braces are fields of the request."""
    role: str | None
    """That a credential needs; None: any."""
    summary: str
    request: type[Arguments]
    reply: Reply
    run: Run
    recalling: Run | None = None
    """What it does for a caller who may also recall; None: the same."""
    takes_slashes: bool = False
    """Whether the last parameter of the path may hold `/`."""

    @property
    def route(self) -> str:
        """The path in the form of Starlette, below `PREFIX`."""
        return f"{self.path[:-1]}:path}}" if self.takes_slashes else self.path

    @property
    def parameters(self) -> list[str]:
        """The fields of the request that the path has."""
        return _PARAMETER.findall(self.path)
