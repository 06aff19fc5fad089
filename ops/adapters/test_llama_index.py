"""A memory block of LlamaIndex, alone and in a `Memory`."""

from __future__ import annotations

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory

from helix_memory.adapters.llama_index import HelixMemoryBlock
from helix_memory.client import AsyncHelix


async def test_what_left_the_short_term_memory_is_recalled(async_helix: AsyncHelix) -> None:
    """Turns keep their role and their session; the block is empty where nothing answers."""
    block = HelixMemoryBlock(helix=async_helix)
    await block.aput([], session_id="s 1")
    assert await block.aget([]) == ""
    await block.aput(
        [
            ChatMessage(role="system", content="Be kind."),
            ChatMessage(role="user", content="I cannot eat peanuts."),
            ChatMessage(role="assistant", content="I will remember that."),
        ],
        from_short_term_memory=True,
        session_id="s1",
    )
    question = [ChatMessage(role="user", content="which food must I avoid, am I allergic to peanuts?")]
    assert "I cannot eat peanuts." in await block.aget(question, session_id="other")
    kept = (await async_helix.list(sessions=["s1"])).memories
    assert {(one.role, one.text) for one in kept} == {
        ("user", "I cannot eat peanuts."),
        ("assistant", "I will remember that."),
    }


async def test_a_memory_uses_the_block(async_helix: AsyncHelix) -> None:
    """LlamaIndex puts into it what its queue has no room for, and its context into the prompt."""
    memory = Memory.from_defaults(
        session_id="s2",
        token_limit=60,
        token_flush_size=20,
        chat_history_token_ratio=0.5,
        memory_blocks=[HelixMemoryBlock(helix=async_helix)],
    )
    said = ["My sister Lena lives in Ghent.", "I moved to Porto in May.", "My cat is called Miso."]
    for text in said:
        await memory.aput_messages(
            [ChatMessage(role="user", content=text), ChatMessage(role="assistant", content="Noted. " * 12)]
        )
    await memory.aput(ChatMessage(role="user", content="In which city does my sister Lena live?"))
    prompt = "\n".join(str(one.content) for one in await memory.aget())
    assert "Lena lives in Ghent" in prompt
