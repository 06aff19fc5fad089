"""The tools under the names of other memory servers, for prompts that use those names.

They do what Helix can undo: what deletes there hides here. What deletes everything is not served.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from helix_gateway.mcp.names.mem0 import MEM0, OPENMEMORY
from helix_gateway.mcp.names.server_memory import SERVER_MEMORY

if TYPE_CHECKING:
    from helix_gateway.mcp.tool import Tool

NAMES: Final[Mapping[str, tuple[Tool, ...]]] = {
    "mem0": MEM0,
    "openmemory": OPENMEMORY,
    "server-memory": SERVER_MEMORY,
}
