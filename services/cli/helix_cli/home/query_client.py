"""The client of the query service that a command uses. Not in `addresses`, because gRPC is slow to import."""

from __future__ import annotations

from helix_cli.home.addresses import Server
from helix_memory.transport.recall_client import RecallClient


def query_client(server: Server) -> RecallClient:
    """A client of the query service at `server`, of its instance alone; a context manager."""
    return RecallClient(server.address, instance=server.instance, credentials=server.calls)
