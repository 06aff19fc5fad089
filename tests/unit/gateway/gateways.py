"""The ASGI application of a gateway whose client answers as a test says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Self

import httpx

from helix_gateway.app import application
from helix_gateway.settings import GatewaySettings
from helix_memory.recall.v1 import recall_pb2
from helix_shared.telemetry.health import Health

HOST = "127.0.0.1:7464"


class StubHelix:
    """Remembers for whom it acts; every call is answered by `answer`."""

    def __init__(self, answer: Callable[..., Awaitable[Any]] | None = None) -> None:
        self.answer = answer
        self.callers: list[dict[str, Any]] = []
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def acting_as(self, **caller: Any) -> Self:
        """As the client."""
        self.callers.append(caller)
        return self

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any, **options: Any) -> Any:
            self.calls.append((name, args, options))
            return (
                recall_pb2.GetStatusResponse() if self.answer is None else await self.answer(*args, **options)
            )

        return call


def client_of(helix: StubHelix, **settings: Any) -> httpx.AsyncClient:
    """A client of a gateway over this Helix."""
    app: Any = application(GatewaySettings.load(**settings), helix, Health())  # type: ignore[arg-type]  # a stub
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=f"http://{HOST}")
