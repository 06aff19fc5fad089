"""The paths of MCP: /mcp with Helix's own names, and /mcp/NAMES with those of other memory servers."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.routing import Route

from helix_gateway.door import BODY_BYTES
from helix_gateway.mcp.names import NAMES
from helix_gateway.mcp.server import mcp_server
from helix_gateway.mcp.tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PATH: Final = "/mcp"


class McpDoors:
    """The MCP servers of one gateway. Each message is an exchange of its own: there are no sessions."""

    def __init__(self) -> None:
        tools = {PATH: TOOLS, **{f"{PATH}/{name}": others for name, others in NAMES.items()}}
        self._managers = {
            path: StreamableHTTPSessionManager(
                mcp_server(some), json_response=True, stateless=True, max_request_body_size=BODY_BYTES
            )
            for path, some in tools.items()
        }

    def routes(self) -> list[Route]:
        """One route for each server; a stream from the server (GET) would hold a place and bring nothing."""
        return [
            Route(path, StreamableHTTPASGIApp(one), methods=["POST"]) for path, one in self._managers.items()
        ]

    @contextlib.asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serve inside."""
        async with contextlib.AsyncExitStack() as stack:
            for one in self._managers.values():
                await stack.enter_async_context(one.run())
            yield
