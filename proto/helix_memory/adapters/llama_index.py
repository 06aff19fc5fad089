"""LlamaIndex: `HelixMemoryBlock`, the long-term part of a `Memory`."""

from __future__ import annotations

from typing import Any

from helix_memory.adapters import missing_extra
from helix_memory.adapters.turns import each_written, last_question, session_token
from helix_memory.client import AsyncHelix, Written

try:
    from llama_index.core.base.llms.types import ChatMessage, TextBlock
    from llama_index.core.memory import BaseMemoryBlock
    from pydantic import ConfigDict, Field, PrivateAttr
except ModuleNotFoundError as error:
    raise missing_extra("llama-index", error) from error


class HelixMemoryBlock(BaseMemoryBlock[str]):
    """Keeps the messages that leave the short-term memory, and recalls what answers the last message.

        Memory.from_defaults(session_id="s1", memory_blocks=[HelixMemoryBlock(helix=helix)])

    It recalls from all sessions of the client's user; `options` are those of `recall` ("sessions" for
    some alone). Where Helix abstains the block is empty.
    System messages and blocks without text are not kept.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    helix: AsyncHelix
    name: str = "Helix"
    options: dict[str, Any] = Field(default_factory=dict)
    _written: Written | None = PrivateAttr(default=None)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        """The memories for the last message, packed for a prompt; the session of the call is no filter."""
        del block_kwargs
        query = last_question([_text_of(one) for one in messages or [] if one.role == "user"])
        if not query:
            return ""
        found = await self.helix.recall(query, **{"after": self._written or (), **self.options})
        return found.context

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Keep messages as turns of their session; one that breaks a limit is refused after the others."""
        turns = ((one, _text_of(one), _ROLES.get(one.role.value)) for one in messages)
        await each_written(
            (
                self.helix.message(
                    text, role=role, session=session_token(str(one.additional_kwargs.get("session_id") or ""))
                )
                for one, text, role in turns
                if text and role
            ),
            self._note,
        )

    def _note(self, written: Written) -> None:
        self._written = written


_ROLES: Any = {
    "user": "user",
    "assistant": "assistant",
    "chatbot": "assistant",
    "model": "assistant",
    "tool": "tool",
}


def _text_of(message: ChatMessage) -> str:
    return "\n".join(block.text for block in message.blocks if isinstance(block, TextBlock)).strip()
