"""A data folder written by the real artifact writers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from helix_shared.artifacts.generation.live_stores import Live
from helix_shared.artifacts.generation.manifest import Counts, Manifest, ModelIdentity, StreamState, digest_of
from helix_shared.artifacts.generation.publishing import publish
from helix_shared.artifacts.graph.snapshot import Link
from helix_shared.artifacts.lexicon.writer import entries_of
from helix_shared.artifacts.signals.columns import signals_of
from helix_shared.artifacts.vectors.records import record_schema
from helix_shared.edges import empty_row
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.minhash import minhash
from helix_shared.identity import content_hash, memory_id

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)


@dataclass
class Corpus:
    """Live stores and their published generations in one data folder."""

    root: Path
    encoder: Encoder
    live: Live
    published: int = 0
    ordinals: dict[str, int] = field(default_factory=dict)

    @classmethod
    def create(cls, root: Path, encoder: Encoder) -> "Corpus":
        """Empty stores in `root`."""
        live = Live.create(root / "live", dimensions=encoder.card.dimensions)
        return cls(root, encoder, live)

    def add(self, rows: Sequence[dict[str, Any]]) -> list[str]:
        """Write rows to all stores; return ids. `name` identifies a memory, `entities` are its links."""
        links = [row.get("entities", ()) for row in rows]
        records = [
            self._record({key: value for key, value in row.items() if key != "entities"}) for row in rows
        ]
        table = pa.Table.from_pylist(records, schema=record_schema(self.encoder.card.dimensions))
        self.live.vectors.upsert(table)
        self.live.signals.append(*signals_of(table))
        self.live.lexicon.delete(table["ordinal"].to_pylist())
        self.live.lexicon.upsert(entries_of(table))
        self.live.lexicon.commit()
        for record, names in zip(records, links, strict=True):
            mentions = [Link("MENTIONS", "name", name.lower(), name, 1.0) for name in names]
            self.live.graph.set_links(record["ordinal"], record["tenant_id"], mentions)
        return [record["memory_id"] for record in records]

    def publish(
        self, *, epoch: int = 1, checksum: str = "", extras: Mapping[str, bytes] = MappingProxyType({})
    ) -> int:
        """Publish the stores as the next generation, with more files."""
        number = self.published + 1
        card = self.encoder.card
        ids = self.live.vectors.scan(["memory_id"])["memory_id"].to_pylist()
        manifest = Manifest(
            generation=number,
            parent=self.published,
            epoch=epoch,
            published_at=NOW,
            stream=StreamState(name="HELIX_EVENTS"),
            applied_sequence=number * 10,
            derived_sequence=number * 20,
            counts=Counts(memories=self.live.vectors.count, hidden=self.live.vectors.hidden_count),
            digest=digest_of(ids),
            model=ModelIdentity(
                name=card.name, checksum=checksum or card.checksum, dimensions=card.dimensions
            ),
        )
        publish(self.root, self.live, manifest, extras=extras)
        self.published = number
        return number

    def _record(self, fields: dict[str, Any]) -> dict[str, Any]:
        name = fields.pop("name", fields["text"])
        key = f"{fields.get('tenant_id', 'acme')}/{name}"
        ordinal = self.ordinals.setdefault(key, len(self.ordinals))
        row: dict[str, Any] = empty_row(record_schema(self.encoder.card.dimensions))
        row |= {"salience": 0.5, "confidence": 0.5}
        row |= {"tenant_id": "acme", "type": "episodic", "audience": ["*"], "priority": 1.0, "role": "user"}
        row |= {
            "event_id": key.replace(" ", "_")[:100],
            "event_kind": "message",
            "is_latest": True,
            "source_class": "user",
        }
        row |= {"created_at": NOW - timedelta(days=10), "occurred_at": NOW - timedelta(days=10)}
        row |= fields
        vector, codes = self.encoder.embed_with_codes(row["text"])
        row |= {
            "ordinal": ordinal,
            "memory_id": memory_id(row["tenant_id"], key, 0),
            "stream_sequence": fields.get("stream_sequence", ordinal + 1),
            "revision_sequence": ordinal + 1,
            "event_at": row.get("event_start") or row["occurred_at"],
            "content_hash": content_hash(row["text"]),
            "minhash": minhash(row["text"]),
            "token_count": self.encoder.count_tokens(row["text"]),
            "vector": vector,
            "token_codes": codes.tobytes(),
            "model": self.encoder.card.checksum,
        }
        return row
