"""What can be written, by a client and inside a session alike."""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Unpack

from helix_memory.client.options import EventOptions, RememberOptions
from helix_memory.client.results import Written

if TYPE_CHECKING:
    from helix_memory.events.content import MediaType, Role
    from helix_memory.vocabulary.memory_types import MemoryType


class Remembering(ABC):
    """Writes events that memories are made from."""

    @abstractmethod
    def _write(self, kind: str, fields: dict[str, Any]) -> Written:
        """Write an event of a kind with these fields and options."""

    def remember(self, text: str, **options: Unpack[RememberOptions]) -> Written:
        """Keep a text as a memory of its own, as it is; at most 100,000 characters."""
        return self._write("memory", {"text": text, **options})

    def message(
        self, text: str, *, role: Role = "user", speaker: str = "", **options: Unpack[EventOptions]
    ) -> Written:
        """Keep a turn of a conversation: who said what. Give it a `session`, which is its context."""
        return self._write("message", {"text": text, "role": role, "speaker": speaker, **options})

    def tool(
        self,
        tool: str,
        *,
        command: str = "",
        file_path: str = "",
        exit_status: int | None = None,
        output: str = "",
        error: str = "",
        **options: Unpack[EventOptions],
    ) -> Written:
        """Keep a tool call and its result; command, file path, output or error must hold text."""
        fields = {"command": command, "file_path": file_path, "output": output, "error": error}
        return self._write("tool", {"tool": tool, "exit_status": exit_status, **fields, **options})

    def document(
        self,
        document_id: str,
        body: str | bytes = "",
        *,
        title: str = "",
        media_type: MediaType = "text/plain",
        source_uri: str = "",
        type: MemoryType | None = None,  # noqa: A002  the field's name
        deleted: bool = False,
        **options: Unpack[EventOptions],
    ) -> Written:
        """Keep a document in place of its version before; `deleted` removes it. A PDF comes as bytes."""
        fields: dict[str, Any] = {"title": title, "source_uri": source_uri, "type": type, "deleted": deleted}
        if isinstance(body, bytes):
            fields |= {"body_base64": base64.b64encode(body).decode(), "media_type": "application/pdf"}
        else:
            fields |= {"body": body, "media_type": media_type}
        return self._write("document", {"document_id": document_id, **fields, **options})
