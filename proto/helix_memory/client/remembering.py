"""What can be written, by a client and inside a session alike."""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, Unpack

from helix_memory import limits
from helix_memory.client import arguments
from helix_memory.client.options import EventOptions, RememberOptions
from helix_memory.client.results import Written
from helix_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from helix_memory.events.content import MediaType, Role
    from helix_memory.vocabulary.memory_types import MemoryType

_PDF: Final = "application/pdf"
_TEXT: Final = "text/plain"


class Remembering(ABC):
    """Writes events that memories are made from."""

    @abstractmethod
    def _write(self, kind: str, fields: dict[str, Any]) -> Written:
        """Write an event of a kind with these fields and options."""

    def remember(self, text: str, **options: Unpack[RememberOptions]) -> Written:
        """Keep a text as a memory of its own, as it is; at most 100,000 characters."""
        arguments.known_options(options, RememberOptions)
        return self._write("memory", {"text": text, **options})

    def message(
        self, text: str, *, role: Role = "user", speaker: str = "", **options: Unpack[EventOptions]
    ) -> Written:
        """Keep a turn of a conversation: who said what. Give it a `session`, which is its context."""
        arguments.known_options(options, EventOptions)
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
        arguments.known_options(options, EventOptions)
        fields = {"command": command, "file_path": file_path, "output": output, "error": error}
        return self._write("tool", {"tool": tool, "exit_status": exit_status, **fields, **options})

    def document(
        self,
        document_id: str,
        body: str | bytes = "",
        *,
        title: str = "",
        media_type: MediaType | None = None,
        source_uri: str = "",
        type: MemoryType | None = None,  # noqa: A002  the field's name
        deleted: bool = False,
        **options: Unpack[EventOptions],
    ) -> Written:
        """Keep a document in place of its version before; `deleted` removes it, and excludes `body`.

        `media_type` is by default text/plain for text, and application/pdf for bytes. Bytes of any other type
        must be UTF-8; a PDF has at most 180,000 bytes.
        """
        arguments.known_options(options, EventOptions)
        arguments.switch("deleted", deleted)
        fields: dict[str, Any] = {"title": title, "source_uri": source_uri, "type": type, "deleted": deleted}
        fields |= {"media_type": media_type or _TEXT, **({} if deleted else _content(body, media_type))}
        if deleted and body:
            raise InvalidInputError("body", "excludes deleted")
        return self._write("document", {"document_id": document_id, **fields, **options})


def _content(body: object, media_type: MediaType | None) -> dict[str, Any]:
    """Content and media type of a document that is not deleted.

    Raises:
        InvalidInputError: the body is not what its media type needs, or is too long.
    """
    if not isinstance(body, str | bytes):
        raise InvalidInputError("body", f"must be text or bytes, not {type(body).__name__}")
    if not body.strip():
        raise InvalidInputError("body", "must hold more than white space, unless the document is deleted")
    if isinstance(body, bytes) and media_type in (None, _PDF):
        if len(body) > limits.DOCUMENT_BYTES:
            raise InvalidInputError("body", f"must have at most {limits.DOCUMENT_BYTES} bytes")
        return {"body_base64": base64.b64encode(body).decode(), "media_type": _PDF}
    if media_type == _PDF:
        raise InvalidInputError("media_type", f"must not be {_PDF} for text; a PDF comes as bytes")
    if isinstance(body, bytes):
        try:
            body = body.decode()
        except UnicodeDecodeError as error:
            raise InvalidInputError("body", f"of {media_type} must be UTF-8") from error
    return {"body": body, "media_type": media_type or _TEXT}
