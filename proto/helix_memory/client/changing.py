"""What changes or judges memories that exist: each is an event about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Unpack

from helix_memory.client import arguments, messages
from helix_memory.client.options import ActorOptions, CorrectOptions, MemoryRef, SelectOptions
from helix_memory.client.results import Written
from helix_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from helix_memory.recall.v1 import recall_pb2
    from helix_memory.transport.recall_client import RecallClient


_WHOLES: Final = ("of_session", "of_document", "of_user")
"""What selects all memories of something."""


class Changing(ABC):
    """Writes events about existing memories, which reach those that the caller could recall."""

    _reader: RecallClient
    _scope: recall_pb2.Scope

    @abstractmethod
    def _write(self, kind: str, fields: dict[str, Any]) -> Written:
        """Write an event of a kind with these fields and options."""

    def correct(self, memory: MemoryRef, text: str, **options: Unpack[CorrectOptions]) -> Written:
        """Give a memory its next version: its new text, and new values of the options that are set."""
        arguments.known_options(options, CorrectOptions)
        return self._act("correct", {"memory_id": messages.id_of(memory), "text": text, **options})

    def forget(self, *memories: MemoryRef, **options: Unpack[SelectOptions]) -> Written:
        """Hide memories from answers: these with all their versions, or all of a session, document or user.

        `restore` undoes it.
        """
        return self._act("forget", self._selected(memories, options))

    def restore(self, *memories: MemoryRef, **options: Unpack[SelectOptions]) -> Written:
        """Show memories again that `forget` or decay hides."""
        return self._act("forget", {"restore": True, **self._selected(memories, options)})

    def undo(
        self, memory: MemoryRef, *, other: MemoryRef | None = None, **options: Unpack[ActorOptions]
    ) -> Written:
        """Take back how a memory was related to others, or to one other: what it closed holds again.

        `history` shows these relations. Nothing decides them again.
        """
        arguments.known_options(options, ActorOptions)
        fields = {
            "memory_id": messages.id_of(memory),
            "other": "" if other is None else messages.id_of(other, "other"),
        }
        return self._act("undo", {**fields, **options})

    def erase(self, *memories: MemoryRef, **options: Unpack[SelectOptions]) -> Written:
        """Remove memories for good: these with all of their events, or those of a session, document or user.

        `receipt` tells what was removed from which place, and what is still to be done.
        """
        return self._act("erase", self._selected(memories, options))

    def receipt(self, erased: Written) -> recall_pb2.GetErasureResponse:
        """What an erasure removed, place by place, as `recall.proto` describes.

        Raises:
            NotFoundError: it is none of this caller, or it was not carried out yet.
        """
        return self._reader.erasure(self._scope, arguments.written("erased", erased).event_id)

    def feedback(
        self,
        *,
        helpful: Iterable[MemoryRef] = (),
        unhelpful: Iterable[MemoryRef] = (),
        query: str = "",
        **options: Unpack[ActorOptions],
    ) -> Written:
        """Say which recalled memories helped and which did not; at least one.

        With `query`, the log keeps the question, so that the tenant's words can be learned from it.
        """
        arguments.known_options(options, ActorOptions)
        fields = {
            "helpful": messages.ids_of("helpful", helpful),
            "unhelpful": messages.ids_of("unhelpful", unhelpful),
            "query": query,
        }
        return self._act("feedback", {**fields, **options})

    def _selected(self, memories: Sequence[MemoryRef], options: SelectOptions) -> dict[str, Any]:
        arguments.known_options(options, SelectOptions)
        if bool(memories) + sum(bool(options.get(name)) for name in _WHOLES) != 1:
            names = ", ".join(("memories", *_WHOLES))
            raise InvalidInputError("memories", f"exactly one of {names} must be given")
        return {"memory_ids": list(map(messages.id_of, memories)), **options}

    def _act(self, kind: str, fields: dict[str, Any]) -> Written:
        return self._write(kind, {"acl": list(self._scope.principals), **fields})
