"""One message on HELIX_DERIVED: body, subject, id and headers.

Every worker publishes with it; `helix_shared.edges` writes the body, consolidation reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from helix_memory import subjects
from helix_shared import edges
from helix_shared.broker.traced import sending
from helix_shared.broker.worker.rederive import Rederived

if TYPE_CHECKING:
    import pyarrow as pa

    from helix_memory.transport.publisher import Publishes


@dataclass(frozen=True, slots=True)
class DerivedMessage:
    """The result of a worker for one event; with a new `version` it can be published again."""

    origin: edges.Origin
    version: str
    body: bytes
    redrives: int = 0
    """How often the event was redriven: a result of each time is stored."""
    settings: str = ""
    """Settings of the worker that change the result for the same event."""

    @classmethod
    def of(
        cls,
        origin: edges.Origin,
        rows: Sequence[dict[str, Any]],
        schema: pa.Schema,
        *,
        version: str,
        settings: str = "",
    ) -> Self:
        """The message that holds `rows`."""
        return cls(origin, version, edges.encode(origin, rows, schema), settings=settings)

    @property
    def made_with(self) -> str:
        """Version and settings of the worker; a generation lists those of its messages."""
        return f"{self.version} {self.settings}".strip()

    @property
    def subject(self) -> str:
        """Subject it is published on."""
        return subjects.derived_subject(self.origin.edge, self.origin.tenant_id)

    @property
    def message_id(self) -> str:
        """De-duplication id: the stream drops a repetition."""
        version = f"{self.version}:redrive-{self.redrives}" if self.redrives else self.version
        return subjects.derived_message_id(self.origin.edge, self.origin.event_sequence, version)

    @property
    def headers(self) -> Mapping[str, str]:
        """Sequence of the event, what made the message, number of redrives: readable without the body."""
        redriven = {subjects.REDRIVE_HEADER: str(self.redrives)} if self.redrives else {}
        return {
            subjects.EVENT_SEQUENCE_HEADER: str(self.origin.event_sequence),
            subjects.MADE_WITH_HEADER: self.made_with,
            **redriven,
        }

    @property
    def rederived(self) -> Rederived:
        """The message as the reply to a request."""
        return Rederived(self.body, self.made_with)

    async def publish(self, publisher: Publishes) -> None:
        """Publish the message.

        Raises:
            TemporaryError: the stream does not acknowledge.
        """
        with sending(self.origin, self.message_id, len(self.body)) as trace:
            headers = {**self.headers, **trace}
            await publisher.publish(self.subject, self.body, message_id=self.message_id, headers=headers)
