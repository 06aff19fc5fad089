"""What the workers publish for one event, made in this process by a rebuild and by the lab.

The functions and the messages are the services' own; only NATS and the processes are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nats.aio.client import Client
from nats.aio.msg import Msg

from helix_doc2query.app import derivation_of
from helix_doc2query.settings import Doc2querySettings
from helix_ingest.extraction.values import LoggedEvent
from helix_ingest.memories_builder import EDGE, VERSION, MemoriesBuilder
from helix_ingest.settings import IngestSettings
from helix_kg.consumer import DERIVATION as KG
from helix_memory import subjects
from helix_shared.broker.worker.derive import Derivation
from helix_shared.broker.worker.derived import DerivedMessage
from helix_shared.encoders.encoder import Encoder
from helix_shared.errors import PermanentError


@dataclass(frozen=True, slots=True)
class Workers:
    """Ingest, and what is derived from its messages."""

    ingest: MemoriesBuilder
    derivations: tuple[Derivation, ...]

    @classmethod
    def configured(cls, encoder: Encoder) -> Workers:
        """The workers with one encoder, by the settings of this process.

        Raises:
            InvalidInputError: a setting is unknown or out of bounds.
            NotFoundError: the folder of the T5 model has no model.
        """
        ingest = MemoriesBuilder(encoder, IngestSettings.load().most_tokens(encoder.card))
        return cls(ingest, (derivation_of(Doc2querySettings.load()), KG))

    @property
    def version(self) -> str:
        """Changes when the same event may give other messages."""
        return ", ".join(f"{edge} {version}" for edge, version in self.versions.items())

    @property
    def versions(self) -> dict[str, str]:
        """By edge, what the messages of these workers state that they are made with."""
        return {
            EDGE: f"{VERSION} {self.ingest.settings}",
            **{one.edge: one.version for one in self.derivations},
        }

    def messages(self, logged: LoggedEvent, earlier: list[LoggedEvent]) -> Sequence[DerivedMessage]:
        """The messages of an event; `earlier` are turns of its session, oldest first.

        Raises:
            PermanentError: ingest refuses the event.
        """
        return self._with_derived(self.ingest.build(logged, earlier))

    def of_refused(self, subject: str, sequence: int) -> Sequence[DerivedMessage]:
        """The messages, without rows, of an event that ingest refuses."""
        address = subjects.parse_event_subject(subject)
        tenant = address.tenant_id if address else subjects.UNKNOWN_TENANT
        kind = address.kind if address else "unknown"
        return self._with_derived(self.ingest.build_empty(tenant, kind, sequence))

    def _with_derived(self, memories: DerivedMessage) -> Sequence[DerivedMessage]:
        return (memories, *(self._derived(worker, memories) for worker in self.derivations))

    def _derived(self, worker: Derivation, memories: DerivedMessage) -> DerivedMessage:
        try:
            return worker.derived_message(memories.subject, memories.body)
        except PermanentError:
            return worker.without_rows(memories.origin)


def delivered(client: Client, message: DerivedMessage, sequence: int) -> Msg:
    """A message as HELIX_DERIVED delivers it; `client` need not be connected."""
    return Msg(
        _client=client,
        subject=message.subject,
        reply=_reply(subjects.DERIVED_STREAM, sequence, 0),
        data=message.body,
        headers=dict(message.headers),
    )


def delivered_event(client: Client, subject: str, body: bytes, sequence: int, at: int) -> Msg:
    """An event as HELIX_EVENTS delivers it; `at` is when it was stored, in microseconds."""
    reply = _reply(subjects.EVENTS_STREAM, sequence, at * 1_000)
    return Msg(_client=client, subject=subject, reply=reply, data=body, headers={})


def _reply(stream: str, sequence: int, nanoseconds: int) -> str:
    return f"$JS.ACK.{stream}.replay.1.{sequence}.{sequence}.{nanoseconds}.0"
