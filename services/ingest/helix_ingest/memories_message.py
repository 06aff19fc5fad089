"""The answer to an event: its memories in one message, made from the event and the turns before it alone.

Needs no broker, so the lab calls it as it is; `consumer` delivers events to it and publishes the answers.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any, Final

from helix_ingest.embed import embed
from helix_ingest.extraction.draft import Draft, Logged
from helix_ingest.extraction.drafts import drafts_of
from helix_ingest.kept import kept_columns
from helix_ingest.rows import rows_of
from helix_memory.events import CorrectEvent, DocumentEvent
from helix_shared import edges
from helix_shared.broker.worker.derived import DerivedMessage
from helix_shared.encoders.encoder import Encoder

EDGE: Final = "memories"
VERSION: Final = "5"
"""Part of the de-duplication id: raise it when the same event should make other memories."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers with the vectors of one encoder; pieces have `most_tokens` at most."""

    encoder: Encoder
    most_tokens: int

    def of(self, logged: Logged, before: list[Logged]) -> DerivedMessage:
        """The memories message of an event; `before` are earlier turns of its session, oldest first.

        Runs in a lane: embedding releases the GIL.
        """
        event = logged.event
        origin = edges.Origin(
            EDGE, event.tenant_id, event.event_id, event.kind, logged.sequence, model=self.encoder.card.id
        )
        if isinstance(event, DocumentEvent):
            origin = replace(
                origin,
                replaces_document=event.document_id,
                is_deletion=event.deleted,
                user_id=event.user_id,
                acl=tuple(event.acl),
            )
        rows = self._rows(logged, before)
        if isinstance(event, CorrectEvent):
            origin = replace(origin, keeps=kept_columns(event, rows))
        return self._message(origin, rows)

    def empty(self, tenant_id: str, kind: str, sequence: int) -> DerivedMessage:
        """The answer of an event without memories that cannot be read."""
        return self._message(
            edges.Origin(EDGE, tenant_id, "", kind, sequence, model=self.encoder.card.id), []
        )

    def _rows(self, logged: Logged, before: list[Logged]) -> list[dict[str, Any]]:
        count = functools.cache(self.encoder.count_tokens)
        drafts: list[Draft] = drafts_of(logged, before, most_tokens=self.most_tokens, count_tokens=count)
        if not drafts:
            return []
        tokens = [count(draft.text) for draft in drafts]
        return rows_of(drafts, embed(drafts, self.encoder), tokens, model=self.encoder.card.id)

    def _message(self, origin: edges.Origin, rows: list[dict[str, Any]]) -> DerivedMessage:
        return DerivedMessage.of(
            origin, rows, edges.memories_schema(self.encoder.card.dimensions), version=VERSION
        )
