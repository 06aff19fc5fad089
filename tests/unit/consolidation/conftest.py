"""Hand-made messages, and a shard on real stores that they are applied to."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasketch import MinHash
from nats.aio.client import Client
from nats.aio.msg import Msg

from helix_consolidation.stores.outcome import Outcome
from helix_consolidation.stores.publish import PublicationInfo
from helix_consolidation.stores.shard import Shard
from helix_memory import events, subjects
from helix_shared import edges
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.generation.manifest import Manifest, StreamState
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.identity import content_hash, memory_id, statement_id
from helix_shared.pairs import verdicts

DIMENSIONS = 8
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
NOW = int(NOON.timestamp() * 1e6)
FIRST = memory_id("acme", "e1", 0)
SECOND = memory_id("acme", "e2", 0)


def unit_vector(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """A random unit vector, seeded by the text."""
    seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest())
    vector = np.random.default_rng(seed).normal(size=dimensions)
    return list(vector / np.linalg.norm(vector))


def signature(text: str) -> bytes:
    """MinHash over the words of a text."""
    minhash = MinHash(num_perm=edges.MINHASH_PERMUTATIONS, seed=1, hashfunc=zlib.crc32)
    for word in text.lower().split():
        minhash.update(word.encode())
    return minhash.hashvalues.astype("<u4").tobytes()


def row(tenant: str, event: str, sequence: int, text: str, **fields: Any) -> dict[str, Any]:
    """One row of the memories edge; `fields` override."""
    piece = fields.get("piece", 0)
    dimensions = fields.pop("dimensions", DIMENSIONS)
    base = {
        "memory_id": memory_id(tenant, event, piece),
        "tenant_id": tenant,
        "type": "semantic",
        "text": text,
        "role": "user",
        "event_id": event,
        "event_kind": "message",
        "stream_sequence": sequence,
        "revision_sequence": sequence,
        "piece": piece,
        "char_end": len(text),
        "content_hash": content_hash(text),
        "minhash": signature(text),
        "token_count": len(text.split()),
        "created_at": NOON,
        "occurred_at": NOON + timedelta(seconds=sequence),
        "salience": 0.5,
        "confidence": 0.5,
        "priority": 1.0,
        "source_class": "user",
        "speech_act": "statement",
        "about": "",
        "vector": unit_vector(text, dimensions),
        "model": "model-a",
    }
    return edges.empty_row(edges.memories_schema(dimensions)) | base | fields


def statement(
    tenant: str, event: str, sequence: int, text: str, *, window: int, number: int = 0, **fields: Any
) -> dict[str, Any]:
    """One row of the statements edge: extracted from `event`, its window ends at the event `window`."""
    given = {
        "memory_id": statement_id(memory_id(tenant, event, 0), number),
        "piece": edges.FIRST_STATEMENT_PIECE + number,
        "revision_sequence": window,
        "derived_from": memory_id(tenant, event, 0),
        "expansions": [f"question about {text}"],
        "links": [{"edge": "MENTIONS", "kind": "name", "name": "odile", "surface": "Odile", "weight": 1.0}],
    }
    return row(tenant, event, sequence, text, **given, **fields)


def message(
    stream: str,
    subject: str,
    body: bytes,
    sequence: int,
    *,
    delivered: int = 1,
    headers: dict[str, str] | None = None,
) -> Msg:
    """A delivered message as nats-py returns it."""
    reply = f"$JS.ACK.{stream}.consumer.{delivered}.{sequence}.1.{NOW * 1000}.0"
    return Msg(_client=Client(), subject=subject, reply=reply, data=body, headers=headers)


@dataclass
class Stream:
    """Derived messages, numbered as in HELIX_DERIVED."""

    last: int = 0
    sent: list[Msg] = field(default_factory=list)

    def memories(
        self,
        tenant: str,
        event: str,
        sequence: int,
        rows: Sequence[dict[str, Any]],
        *,
        document: str = "",
        user: str = "",
        acl: Sequence[str] = (),
        keeps: Sequence[str] = (),
        is_deletion: bool = False,
    ) -> Msg:
        """The memories message of an event; `user` and `acl` matter if it replaces a document."""
        dimensions = len(rows[0]["vector"]) if rows else DIMENSIONS
        schema = edges.memories_schema(dimensions)
        return self._send(
            "memories", tenant, event, sequence, rows, schema, document, user, acl, keeps, is_deletion
        )

    def expansions(
        self, tenant: str, event: str, sequence: int, questions: Sequence[str], *, piece: int = 0
    ) -> Msg:
        """The expansions of one memory of an event; without questions a message without rows."""
        row = {"memory_id": memory_id(tenant, event, piece), "expansions": list(questions)}
        rows = [row] if questions else []
        return self._send("expansions", tenant, event, sequence, rows, edges.expansions_schema(), "")

    def links(self, tenant: str, event: str, sequence: int, names: Sequence[str], *, piece: int = 0) -> Msg:
        """The links of one memory of an event; without names a message without rows."""
        rows = [
            {
                "memory_id": memory_id(tenant, event, piece),
                "edge": "MENTIONS",
                "kind": "name",
                "name": name.lower(),
                "surface": name,
                "weight": 1.0,
            }
            for name in names
        ]
        return self._send("links", tenant, event, sequence, rows, edges.links_schema(), "")

    def statements(self, tenant: str, event: str, sequence: int, rows: Sequence[dict[str, Any]]) -> Msg:
        """The statements message of the window that ends with an event; see `statement`."""
        schema = edges.statements_schema(DIMENSIONS)
        return self._send("statements", tenant, event, sequence, rows, schema, "")

    def verdicts(self, tenant: str, event: str, sequence: int, rows: Sequence[dict[str, Any]]) -> Msg:
        """The verdicts about pairs of the memories of an event with earlier ones."""
        return self._send("verdicts", tenant, event, sequence, rows, verdicts.SCHEMA, "")

    def _send(
        self,
        edge: str,
        tenant: str,
        event: str,
        sequence: int,
        rows: Any,
        schema: Any,
        document: str,
        user: str = "",
        acl: Sequence[str] = (),
        keeps: Sequence[str] = (),
        is_deletion: bool = False,
    ) -> Msg:
        self.last += 1
        fields = {"user_id": user, "acl": tuple(acl), "keeps": tuple(keeps), "is_deletion": is_deletion}
        origin = edges.Origin(edge, tenant, event, "message", sequence, document, **fields)
        body = edges.encode(origin, rows, schema)
        headers = {subjects.EVENT_SEQUENCE_HEADER: str(sequence)}
        sent = message(
            subjects.DERIVED_STREAM, subjects.derived_subject(edge, tenant), body, self.last, headers=headers
        )
        self.sent.append(sent)
        return sent


def lifecycle(event: events.Event, sequence: int) -> Msg:
    """A lifecycle event as HELIX_EVENTS delivers it."""
    return message(subjects.EVENTS_STREAM, events.subject_of(event), events.encode_event(event), sequence)


@dataclass
class Bench:
    """A shard, and helpers to read it."""

    folder: Path
    shard: Shard

    def apply(self, *messages: Msg, now: int = NOW, log_end: int = 10**9) -> Outcome:
        """Apply one batch."""
        return self.shard.apply(messages, now=now, log_end=log_end)

    def rows(self) -> dict[str, dict[str, Any]]:
        """All stored records by memory id."""
        live = self.shard._live
        if live is None:
            return {}
        records = live.vectors.scan(live.vectors.schema.names).to_pylist()
        return {record["memory_id"]: record for record in records}

    def found(self, query: str) -> list[str]:
        """Publish; memory ids that the published lexicon finds for the tenant, best first."""
        generation = Generation.open(self.folder, self.publish().generation)
        hits = generation.lexicon.search(query, Selection(tenant_id="acme"), limit=10)
        ids: list[str] = generation.vectors.take(hits.ordinals, ["memory_id"])["memory_id"].to_pylist()
        generation.close()
        return ids

    def publish(self, epoch: int = 1) -> Manifest:
        """Publish what was applied."""
        circumstances = PublicationInfo(epoch, StreamState(name="HELIX_EVENTS", created_at=NOON), NOON)
        return self.shard.publish(circumstances, ensure_lease=lambda: None)

    def reopened(self) -> Bench:
        """Restart from CURRENT in the same folder."""
        self.shard.close()
        decide = self.shard.decide
        return Bench(self.folder, Shard.open(self.folder, maintain_every=64, decide=decide))


@pytest.fixture
def make_bench(tmp_path: Path) -> Iterable[Callable[[], Bench]]:
    """Create empty shards."""
    benches: list[Bench] = []

    def make() -> Bench:
        folder = tmp_path / str(len(benches))
        benches.append(Bench(folder, Shard.open(folder, maintain_every=64)))
        return benches[-1]

    yield make
    for bench in benches:
        bench.shard.close()


@pytest.fixture
def bench(make_bench: Callable[[], Bench]) -> Bench:
    """An empty shard."""
    return make_bench()


@pytest.fixture
def stream() -> Stream:
    """An empty stream of derived messages."""
    return Stream()
