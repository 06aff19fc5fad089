"""A memory service of Google ADK: sessions, searches, explicit memories, deletions."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai.types import Content, FunctionCall, Part

from helix_memory.adapters.google_adk import HelixMemoryService
from helix_memory.client import AsyncHelix, InvalidInputError


def _event(number: int, author: str, *parts: Part) -> Event:
    content = Content(parts=list(parts), role="user" if author == "user" else "model")
    return Event(id=f"e{number}", author=author, content=content, timestamp=1_790_000_000.0 + number)


def _session(*events: Event, user: str = "ana", app: str = "helper") -> Session:
    return Session(id="Trip to Porto / 1", app_name=app, user_id=user, events=list(events))


async def _texts(service: HelixMemoryService, query: str, **who: str) -> list[str]:
    found = await service.search_memory(**{"app_name": "helper", "user_id": "ana", "query": query, **who})
    return [one.content.parts[0].text for one in found.memories]


async def test_a_session_is_recalled_by_its_user_in_its_app_alone(async_helix: AsyncHelix) -> None:
    """Texts, author and time come back; calls and thoughts are not kept."""
    service = HelixMemoryService(async_helix)
    await service.add_session_to_memory(
        _session(
            _event(0, "user", Part(text="My cat is called Miso.")),
            _event(1, "helper", Part(text="hm", thought=True), Part(text="I will remember that.")),
            _event(2, "helper", Part(function_call=FunctionCall(name="buy", args={}))),
        )
    )
    found = await service.search_memory(app_name="helper", user_id="ana", query="what is my cat's name?")
    assert found.memories[0].content.parts[0].text == "My cat is called Miso."
    assert found.memories[0].author == "user"
    assert found.memories[0].timestamp == "2026-09-21T14:13:20+00:00"
    assert await _texts(service, "what is my cat's name?", user_id="ben") == []
    assert await _texts(service, "what is my cat's name?", app_name="other") == []


async def test_a_session_that_is_added_again_adds_what_is_new(async_helix: AsyncHelix) -> None:
    """Events have ids; a deleted one does not come back."""
    service = HelixMemoryService(async_helix)
    first = _event(0, "user", Part(text="I work at the harbour as a crane driver."))
    second = _event(1, "user", Part(text="I have worked as a teacher since May."))
    await service.add_session_to_memory(_session(first))
    await service.add_session_to_memory(_session(first, second))
    found = await service.search_memory(app_name="helper", user_id="ana", query="where do I work?")
    texts = [one.content.parts[0].text for one in found.memories]
    assert sorted(texts) == sorted(set(texts))
    assert len(texts) == 2
    crane = next(one for one in found.memories if "crane" in one.content.parts[0].text)
    await service.delete_memory(app_name="helper", user_id="ana", memory_id=crane.id)
    await service.add_session_to_memory(_session(first, second))
    assert await _texts(service, "where do I work?") == ["I have worked as a teacher since May."]


async def test_explicit_memories_and_their_metadata(async_helix: AsyncHelix) -> None:
    """What Helix keeps of the metadata comes back; another key is refused before anything is written."""
    service = HelixMemoryService(async_helix)

    def entry(text: str, **metadata: Any) -> MemoryEntry:
        return MemoryEntry(content=Content(parts=[Part(text=text)]), custom_metadata=metadata, id="m1")

    with pytest.raises(InvalidInputError) as refused:
        await service.add_memory(
            app_name="helper", user_id="ana", memories=[entry("fine"), entry("a", ttl="6h")]
        )
    assert refused.value.field == "memories.1.custom_metadata.ttl"
    for _ in range(2):
        note = entry("Ana prefers trains to planes.", tags=["travel"], pinned=True)
        await service.add_memory(app_name="helper", user_id="ana", memories=[note])
    found = await service.search_memory(app_name="helper", user_id="ana", query="how does Ana travel?")
    assert len(found.memories) == 1
    assert found.memories[0].custom_metadata["categories"] == ["travel"]
    assert found.memories[0].custom_metadata["pinned"] is True
