"""Builds the memories message of an event from the event and the turns before it.

It needs no broker, so the lab calls it directly; `consumer` publishes what it builds.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any, Final

from helix_ingest.embed import embed
from helix_ingest.extraction.drafts import drafts_of
from helix_ingest.extraction.values import LoggedEvent
from helix_ingest.kept_columns import kept_columns
from helix_ingest.rows import rows_of
from helix_memory.events import CorrectEvent, DocumentEvent
from helix_shared import edges
from helix_shared.broker.worker.derived import DerivedMessage
from helix_shared.encoders.encoder import Encoder

EDGE: Final = "memories"
VERSION: Final = "29"
"""Part of the de-duplication id: raise it when the same event should give other memories."""


@dataclass(frozen=True, slots=True)
class MemoriesBuilder:
    """Builds messages with the vectors of one encoder; a piece has at most `most_tokens` tokens."""

    encoder: Encoder
    most_tokens: int

    @property
    def settings(self) -> str:
        """The settings that change the memories of an event, as generations list them."""
        return f"piece_tokens={self.most_tokens}"

    def build(self, logged: LoggedEvent, earlier: list[LoggedEvent]) -> DerivedMessage:
        """The message of an event; `earlier` are turns of its session, oldest first.

        Runs in a lane: embedding releases the GIL.
        """
        event = logged.event
        origin = self._origin(event.tenant_id, event.event_id, event.kind, logged.sequence)
        if isinstance(event, DocumentEvent):
            origin = replace(
                origin,
                replaces_document=event.document_id,
                is_deletion=event.deleted,
                user_id=event.user_id,
                acl=tuple(event.acl),
            )
        rows = self._rows(logged, earlier)
        if isinstance(event, CorrectEvent):
            origin = replace(origin, keeps=kept_columns(event, rows))
        return self._message(origin, rows)

    def build_empty(self, tenant_id: str, kind: str, sequence: int) -> DerivedMessage:
        """The message of an event that cannot be read; it has no rows."""
        return self._message(self._origin(tenant_id, "", kind, sequence), [])

    def _origin(self, tenant_id: str, event_id: str, kind: str, sequence: int) -> edges.Origin:
        return edges.Origin(EDGE, tenant_id, event_id, kind, sequence, model=self.encoder.card.id)

    def _rows(self, logged: LoggedEvent, earlier: list[LoggedEvent]) -> list[dict[str, Any]]:
        count = functools.cache(self.encoder.count_tokens)
        drafts = drafts_of(logged, earlier, most_tokens=self.most_tokens, count_tokens=count)
        if not drafts:
            return []
        tokens = [count(draft.text) for draft in drafts]
        vectors, codes = embed(drafts, self.encoder)
        rows = rows_of(drafts, vectors, tokens, model=self.encoder.card.id)
        return [row | {"token_codes": own.tobytes()} for row, own in zip(rows, codes, strict=True)]

    def _message(self, origin: edges.Origin, rows: list[dict[str, Any]]) -> DerivedMessage:
        schema = edges.memories_schema(self.encoder.card.dimensions)
        return DerivedMessage.of(origin, rows, schema, version=VERSION, settings=self.settings)
