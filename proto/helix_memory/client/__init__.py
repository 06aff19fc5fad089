"""The client: what a program imports to remember and to recall.

    from helix_memory.client import Helix

`Helix` is for plain programs and threads, `AsyncHelix` for asyncio; both have the same methods. `options` has
what the methods take, `results` and `pages` what they return. Errors are those of `helix_memory.errors`.
Needs the extra [client], which is nats-py.
"""

from __future__ import annotations

from helix_memory.client.async_helix import AsyncHelix, AsyncSession
from helix_memory.client.helix import Helix
from helix_memory.client.pages import EntityEntry, EntityPage, MemoryPage, SessionEntry, SessionPage
from helix_memory.client.results import (
    Memory,
    MemoryStates,
    Profile,
    ProfileLine,
    Recalled,
    RecalledMemory,
    StoredMemory,
    Written,
)
from helix_memory.client.session import Session
from helix_memory.errors import (
    DeniedError,
    HelixError,
    InvalidInputError,
    NotFoundError,
    OtherInstanceError,
    OverdueError,
    OverloadedError,
    PermanentError,
    TemporaryError,
    UnauthenticatedError,
)

__all__ = [
    "AsyncHelix",
    "AsyncSession",
    "DeniedError",
    "EntityEntry",
    "EntityPage",
    "Helix",
    "HelixError",
    "InvalidInputError",
    "Memory",
    "MemoryPage",
    "MemoryStates",
    "NotFoundError",
    "OtherInstanceError",
    "OverdueError",
    "OverloadedError",
    "PermanentError",
    "Profile",
    "ProfileLine",
    "Recalled",
    "RecalledMemory",
    "Session",
    "SessionEntry",
    "SessionPage",
    "StoredMemory",
    "TemporaryError",
    "UnauthenticatedError",
    "Written",
]
