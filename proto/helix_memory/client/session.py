"""One conversation or run: what is written in it has its name."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Protocol, Self, Unpack
from uuid import uuid4

from helix_memory.client import arguments
from helix_memory.client.options import ScopeOptions
from helix_memory.client.remembering import Remembering
from helix_memory.errors import HelixError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from helix_memory.client.options import RecallOptions
    from helix_memory.client.results import Recalled, Written


class Recalls(Protocol):
    """`Helix.recall`."""

    def __call__(self, query: str, /, **options: Unpack[RecallOptions]) -> Recalled:
        """Recall."""


class Session(Remembering):
    """Writes that the session started when it is entered, and that it ended when it is left.

    with helix.session("trip") as trip:
        trip.message("We fly to Porto on Friday.", speaker="Ana")
    """

    def __init__(
        self,
        name: str,
        options: ScopeOptions,
        *,
        write: Callable[[str, dict[str, Any]], Written],
        recall: Recalls,
    ) -> None:
        """`Helix.session` makes it."""
        self.id = name or uuid4().hex
        """Its name, under which later programs can go on."""
        self._options = options
        arguments.known_options(options, ScopeOptions)
        self._write_event = write
        self._recall = recall

    def recall(self, query: str, **options: Unpack[RecallOptions]) -> Recalled:
        """As `Helix.recall`: from all sessions, unless `sessions` names some."""
        return self._recall(query, **options)

    def __enter__(self) -> Self:
        self._write("session", {"phase": "started"})
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # an error of the program is worth more than one of the last event
        with contextlib.suppress(*(() if kind is None else (HelixError,))):
            self._write("session", {"phase": "ended"})

    def _write(self, kind: str, fields: dict[str, Any]) -> Written:
        other = fields.get("session", self.id)
        if other != self.id:
            raise InvalidInputError("session", f"must be absent in the session {self.id}, or be its name")
        return self._write_event(kind, {**self._options, **fields, "session": self.id})
