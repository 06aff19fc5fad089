"""What the resources of MCP show of long lists, and what they say is left out."""

from typing import Any

import pytest

from helix_gateway.callers import Caller
from helix_gateway.mcp.resources import SESSION_MEMORIES, read
from helix_memory.client import MemoryPage, Profile
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import NotFoundError


class Session:
    """Stands for the client: a session of so many memories, in the pages of the query service."""

    def __init__(self, count: int) -> None:
        self.texts = [f"Step {number}" for number in range(count)]

    def page(self, texts: list[str], size: int, token: str) -> MemoryPage:
        """From the place that the token names."""
        first = int(token or 0)
        memories = [recall_pb2.Memory(text=one) for one in texts[first : first + size]]
        following = str(first + size) if first + size < len(texts) else ""
        return MemoryPage.of(recall_pb2.TimelineResponse(memories=memories, next_page_token=following))

    async def timeline(self, *, session: str, page_size: int, page_token: str = "") -> MemoryPage:
        """The oldest first."""
        return self.page(self.texts if session == "s" else [], page_size, page_token)

    async def list(self, *, sessions: list[str], page_size: int, page_token: str = "") -> MemoryPage:
        """The newest first."""
        assert sessions == ["s"]
        return self.page(self.texts[::-1], page_size, page_token)


@pytest.mark.parametrize("count", [1, 199, 200, 201, 999, SESSION_MEMORIES])
async def test_a_session_is_read_whole(count: int) -> None:
    """The first first, and nothing else."""
    text = await read(Caller(Session(count), "acme", "ana"), "helix://session/s")  # type: ignore[arg-type]
    assert text.split("\n") == [f"Step {number}" for number in range(count)]


async def test_of_a_longer_session_the_newest_are_read_and_it_says_so() -> None:
    """The first line is no memory."""
    caller = Caller(Session(SESSION_MEMORIES + 5), "acme", "ana")  # type: ignore[arg-type]  # a stub
    note, *lines = (await read(caller, "helix://session/s")).split("\n")
    assert "Only the newest 1,000 memories" in note
    assert lines == [f"Step {number}" for number in range(5, SESSION_MEMORIES + 5)]


@pytest.mark.parametrize("uri", ["helix://session/other", "helix://session/", "helix://sessions"])
async def test_what_is_not_there_is_not_found(uri: str) -> None:
    """It is no empty text."""
    with pytest.raises(NotFoundError):
        await read(Caller(Session(3), "acme", "ana"), uri)  # type: ignore[arg-type]  # a stub


async def test_a_profile_says_how_much_is_left_out() -> None:
    """Where the budget had no room."""

    class Known:
        """Stands for the client."""

        async def profile(self) -> Profile:
            """One line of three."""
            profile = recall_pb2.Profile(text="About the user:\n- likes figs", left_out=2)
            return Profile.of(recall_pb2.GetProfileResponse(profile=profile))

    caller: Any = Caller(Known(), "acme", "ana")  # type: ignore[arg-type]  # a stub
    assert (await read(caller, "helix://profile")).endswith("figs\n[2 more lines are left out.]")
