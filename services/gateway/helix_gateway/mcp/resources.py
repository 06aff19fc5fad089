"""What can be read under an address: the profile of the user, and a session. What is left out is said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mcp_types as types

from helix_gateway.mcp.results import MemoryFound
from helix_memory import limits
from helix_shared.errors import NotFoundError
from helix_shared.rpc.access.credential import RECALL

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from helix_gateway.callers import Caller
    from helix_memory.client import Memory, MemoryPage

PROFILE: Final = "helix://profile"
SESSION: Final = "helix://session/"
TEXT: Final = "text/plain"
SESSION_MEMORIES: Final = 1_000
"""Memories of a session that its resource shows, the newest; the tool `timeline` has all of them."""

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
        description=f"What is remembered of one session, the first first; of more than {SESSION_MEMORIES:,} "
        "memories the newest.",
        mime_type=TEXT,
    ),
)


async def read(caller: Caller, uri: str) -> str:
    """The text of a resource.

    Raises:
        NotFoundError: there is no such resource, or this caller has no memory of the session.
        HelixError: as the client.
    """
    caller.require(RECALL)
    if uri == PROFILE:
        profile = await caller.helix.profile()
        more = f"[{profile.left_out} more lines are left out.]" if profile.left_out else ""
        return "\n".join(filter(None, (profile.text, more)))
    if uri.startswith(SESSION) and (session := uri.removeprefix(SESSION)):
        return await _session(caller, session)
    raise NotFoundError(f"there is no resource {uri[:200]!r}; {PROFILE} and {SESSION}ID are")


async def _session(caller: Caller, session: str) -> str:
    """A whole session in the order of the log; of a longer one the newest memories by their times."""
    found, is_cut = await _pages(caller.helix.timeline, session=session)
    if not found:
        raise NotFoundError(f"nothing of a session {session[:200]!r} is remembered")
    if is_cut:
        found = (await _pages(caller.helix.list, sessions=[session]))[0][::-1]
    lines = [_line(MemoryFound.of(one)) for one in found]
    if is_cut:
        left_out = f"[Only the newest {len(found):,} memories; the tool `timeline` shows the earlier ones.]"
        lines.insert(0, left_out)
    return "\n".join(lines)


async def _pages(listed: Callable[..., Awaitable[MemoryPage]], **options: Any) -> tuple[list[Memory], bool]:
    """The first `SESSION_MEMORIES` of a list, and whether there are more."""
    found: list[Memory] = []
    while True:
        page = await listed(page_size=limits.PAGE_SIZE, **options)
        found += page.memories
        if not page.next_page_token or len(found) >= SESSION_MEMORIES:
            return found, bool(page.next_page_token)
        options["page_token"] = page.next_page_token


def _line(memory: MemoryFound) -> str:
    when = "" if memory.occurred_at is None else f"{memory.occurred_at:%Y-%m-%d %H:%M} "
    who = f"{memory.speaker}: " if memory.speaker else ""
    return f"{when}{who}{memory.text}"
