"""Removes from a text of a transcript what must not become a memory.

That is what a memory system injected, ours or another (else every recall would be remembered again, and again
recalled), what the program put between the words of its user, and what the user marked as private.
"""

from __future__ import annotations

import re
from typing import Final

from helix_memory.events.private_passages import without_private

INJECTED: Final = frozenset({
    "system-reminder", "system_reminder",
    "ide_opened_file", "ide_selection", "ide_diagnostics", "user-prompt-submit-hook",
    "memory-context", "memory_context", "memory-recall", "memory_recall", "memory_blocks", "memories",
    "recalled-memory", "recalled_memory", "openviking-context",
})  # fmt: skip
"""Names of tags around injected texts."""
INJECTED_BEGINNINGS: Final = (
    "helix",
    "hindsight",
    "mem0",
    "claude-mem",
    "supermemory",
    "openmemory",
    "letta",
)
"""What the names of such tags of a vendor begin with, before - or _."""
INJECTED_ENDS: Final = ("_memories", "-memories")
"""As in <vendor_memories>."""
MEMORY_SERVERS: Final = frozenset({
    "helix", "mem", "mem0", "memory", "memories", "openmemory", "hindsight", "supermemory", "graphiti", "zep",
    "letta", "cognee", "memobase", "mempalace", "agentmemory",
})  # fmt: skip
"""Words in the names of MCP servers that remember."""

_TAG: Final = re.compile(r"<(?P<slash>/?)(?P<name>[a-z0-9][\w-]{0,60})(?:\s[^<>]*)?>", re.IGNORECASE)
_SERVER: Final = re.compile(r"\Amcp__(?P<server>.+?)__")


def cleaned(text: str) -> str:
    """The text without injected blocks and private passages."""
    return without_private(without_injected(text)) if "<" in text else text


def without_injected(text: str) -> str:
    """The text without blocks in the tags of memory systems and programs; keeps a tag that is not closed."""
    tags = [(tag, tag["name"].lower()) for tag in _TAG.finditer(text) if _is_injected(tag["name"].lower())]
    last_closing = {name: tag.start() for tag, name in tags if tag["slash"]}
    kept, at, opened = [], 0, ""
    for tag, name in tags:
        if opened:
            if tag["slash"] and name == opened:
                at, opened = tag.end(), ""
        elif not tag["slash"] and last_closing.get(name, 0) > tag.start():
            kept.append(text[at : tag.start()])
            opened = name
    return "".join([*kept, text[at:]])


def is_memory_tool(tool: str) -> bool:
    """Whether a tool is of an MCP server that remembers: what it returns is remembered already."""
    server = _SERVER.match(tool)
    return server is not None and not MEMORY_SERVERS.isdisjoint(re.split(r"[\W_]+", server["server"].lower()))


def _is_injected(name: str) -> bool:
    if name in INJECTED or name.endswith(INJECTED_ENDS):
        return True
    return any(name.startswith((f"{vendor}-", f"{vendor}_")) for vendor in INJECTED_BEGINNINGS)
