"""What can be read under an address: the profile of the user, and a session from its beginning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import mcp_types as types

from helix_gateway.mcp.results import MemoryFound
from helix_shared.errors import NotFoundError
from helix_shared.rpc.access.credential import RECALL

if TYPE_CHECKING:
    from helix_gateway.callers import Caller

PROFILE: Final = "helix://profile"
SESSION: Final = "helix://session/"
TEXT: Final = "text/plain"
SESSION_MEMORIES: Final = 200
"""Memories of a session that its resource shows; the tool `timeline` has the pages."""

RESOURCES: Final = (
    types.Resource(
        uri=PROFILE,
        name="profile",
        title="Profile",
        description="What the user's own statements say about them.",
        mime_type=TEXT,
    ),
)
TEMPLATES: Final = (
    types.ResourceTemplate(
        uri_template=f"{SESSION}{{id}}",
        name="session",
        title="Session",
        description="What is remembered of one session, the first first.",
        mime_type=TEXT,
    ),
)


async def read(caller: Caller, uri: str) -> str:
    """The text of a resource.

    Raises:
        NotFoundError: there is no such resource.
        HelixError: as the client.
    """
    caller.require(RECALL)
    if uri == PROFILE:
        return (await caller.helix.profile()).text
    if uri.startswith(SESSION):
        page = await caller.helix.timeline(session=uri.removeprefix(SESSION), page_size=SESSION_MEMORIES)
        return "\n".join(_line(MemoryFound.of(one)) for one in page.memories)
    raise NotFoundError(f"there is no resource {uri[:200]!r}; {PROFILE} and {SESSION}ID are")


def _line(memory: MemoryFound) -> str:
    when = "" if memory.occurred_at is None else f"{memory.occurred_at:%Y-%m-%d %H:%M} "
    who = f"{memory.speaker}: " if memory.speaker else ""
    return f"{when}{who}{memory.text}"
