"""Loading: generated memories through the four artifact writers, in columns, and published once.

Texts are varied by two processes while this one writes. The generation is one consolidation goes on from:
its state file counts every event as answered. `kept` decides where it stands; `broker` makes a stream that
goes on after it.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from helix_consolidation.folding.context import ConsolidationState
from helix_consolidation.folding.incoming_rows import Model
from helix_consolidation.ledger.event_reach import EVERYBODY
from helix_consolidation.ledger.ledger import FACTS, NO_DUPLICATE
from helix_consolidation.ledger.memory_status import NEVER, MemoryStatus
from helix_consolidation.stores.publish import PublicationInfo, publish_generation
from helix_consolidation.stores.rows import Additions, RecordFields, records_of
from helix_lab.bench.generate.base import CHAT, DOCUMENT, FACT, KINDS, Base
from helix_lab.bench.generate.indexing import LexiconAside
from helix_lab.bench.generate.layout import AUDIENCES, BEGIN, DAYS, NOBODY, Layout, lay_out, tenant_name
from helix_lab.bench.generate.noise import Noise, moved, noise_of
from helix_lab.bench.generate.vary import Material, Varied, material_of, vary
from helix_memory.events import MEMORY_TYPES
from helix_memory.subjects import EVENTS_STREAM
from helix_shared.artifacts.generation.live_stores import Live
from helix_shared.artifacts.generation.manifest import StreamState, digest_of
from helix_shared.artifacts.graph.snapshot import Link
from helix_shared.artifacts.signals.columns import signals_of
from helix_shared.edges import memories_schema
from helix_shared.identity import memory_id

if TYPE_CHECKING:
    from numpy.typing import NDArray

FACTS_FILE: Final = "bench.json"
BATCH: Final = 10_000
PROCESSES: Final = 2
IN_FLIGHT: Final = 4
"""Batches being varied or waiting: what memory they take is bounded."""
ALONE: Final = 5_000
"""Up to here starting processes costs more than it saves."""

FACT_TYPES: Final = ("semantic", "procedural", "decision", "episodic")
"""Types a stated fact is given in turn; turns and code keep what ingest found."""
KNOWN_ITEMS: Final = 400
KNOWN_WORDS: Final = 9

_TIME: Final = pa.timestamp("us", tz="UTC")
Tick = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Facts:
    """What a run has to know of built data; kept beside it as `bench.json`."""

    n: int
    seed: int
    tenant: str
    """The largest tenant, the one that is asked."""
    tenant_memories: int
    events: int
    """Sequence of the last event: a stream goes on after it."""
    model: str
    build_seconds: float
    questions: list[str]
    """Real questions, about nothing in particular here."""
    known_items: list[tuple[str, str]] = field(default_factory=list)
    """Words out of a memory everybody of the tenant sees, and its id."""


@dataclass(slots=True)
class _Loader:
    base: Base
    layout: Layout
    noise: Noise
    live: Live
    sequences: NDArray[np.int64]
    pieces: NDArray[np.int32]
    seed: int
    ids: list[str] = field(default_factory=list)
    known_items: list[tuple[str, str]] = field(default_factory=list)


def build(base: Base, folder: Path, n: int, *, seed: int, tick: Tick = lambda _: None) -> Facts:
    """Fill the new folder `folder` with generation 1 of `n` memories; `tick` hears how many were written."""
    started = time.monotonic()
    layout = lay_out(n, base.kinds, seed=seed)
    sequences, pieces = _events(layout)
    noise = noise_of(base.vectors)
    live = Live.create(folder / "live", dimensions=base.vectors.shape[1])
    loader = _Loader(base, layout, noise, live, sequences, pieces, seed)
    try:
        with LexiconAside(live, folder / "live") as lexicon:
            for start, varied in _varied(material_of(base, n), layout, seed):
                lexicon.upsert(_write(loader, start, varied))
                tick(len(varied.texts))
        live.vectors.maintain()
        # as the writer would have, long before there were so many links
        live.fold_graph_now()
        _publish(loader, folder)
    finally:
        live.close()
    model = base.rows["model"][0].as_py()
    facts = Facts(
        n=n,
        seed=seed,
        tenant=tenant_name(0),
        tenant_memories=int((layout.tenant == 0).sum()),
        events=int(sequences[-1]),
        model=model,
        build_seconds=round(time.monotonic() - started, 1),
        questions=base.questions,
        known_items=_spread(loader.known_items, KNOWN_ITEMS),
    )
    (folder / FACTS_FILE).write_text(json.dumps(asdict(facts)) + "\n")
    return facts


def read_facts(folder: Path) -> Facts:
    """What `build` left beside the data."""
    return Facts(**json.loads((folder / FACTS_FILE).read_text()))


def _events(layout: Layout) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Sequence of the event behind each memory, and its piece: a document is one event of several."""
    document = layout.kind == KINDS.index(DOCUMENT)
    begins = ~document | (layout.position == 0)
    return np.cumsum(begins).astype(np.int64), np.where(document, layout.position, 0).astype(np.int32)


def _varied(material: Material, layout: Layout, seed: int) -> Iterator[tuple[int, Varied]]:
    """Batches in order, each with its first ordinal."""
    starts = range(0, len(layout), BATCH)
    if len(layout) <= ALONE:
        for start in starts:
            yield start, vary(material, layout.base[start : start + BATCH].tolist(), seed=_mixed(seed, start))
        return
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, spawned, initializer=_equip, initargs=(material,)) as pool:
        waiting: deque[tuple[int, Future[Varied]]] = deque()
        for start in starts:
            waiting.append((start, _submit(pool, layout, start, seed)))
            if len(waiting) >= IN_FLIGHT:
                first, batch = waiting.popleft()
                yield first, batch.result()
        for first, batch in waiting:
            yield first, batch.result()


_EQUIPMENT: dict[str, Material] = {}
"""What a process of the pool varies; set once when it starts, because it is too large for every batch."""


def _equip(material: Material) -> None:
    _EQUIPMENT["material"] = material


def _vary_there(rows: list[int], seed: int) -> Varied:
    return vary(_EQUIPMENT["material"], rows, seed=seed)


def _submit(pool: Executor, layout: Layout, start: int, seed: int) -> Future[Varied]:
    return pool.submit(_vary_there, layout.base[start : start + BATCH].tolist(), _mixed(seed, start))


def _mixed(seed: int, start: int) -> int:
    return seed * 1_000_003 + start


def _write(loader: _Loader, start: int, varied: Varied) -> pa.Table:
    """One batch into vectors, signals and graph; returns the records for the lexicon."""
    edge = _edge_rows(loader, start, varied)
    placed = [
        RecordFields(start + row, Additions(expansions=tuple(expansions)), MemoryStatus(), "")
        for row, expansions in enumerate(varied.expansions)
    ]
    records = records_of(edge, placed)
    loader.live.vectors.upsert(records)
    loader.live.signals.append(*signals_of(records))
    tenants = edge["tenant_id"].to_pylist()
    for row, (tenant, links) in enumerate(zip(tenants, varied.links, strict=True)):
        loader.live.graph.set_links(start + row, tenant, [Link(*link) for link in links])
    ids = edge["memory_id"].to_pylist()
    loader.ids += ids
    loader.known_items += _known_items(loader, start, varied, ids)
    return records


def _edge_rows(loader: _Loader, start: int, varied: Varied) -> pa.Table:
    """Rows of the memories edge: what a variant does not change is its base's."""
    part = slice(start, start + len(varied.texts))
    layout = loader.layout
    rows = loader.base.rows.take(pa.array(layout.base[part]))
    vectors = moved(loader.noise, layout.base[part], layout.session[part], seed=_mixed(loader.seed, start))
    times = layout.occurred_at[part]
    shift = pa.array(times - rows["occurred_at"].cast(pa.int64()).to_numpy())
    columns: dict[str, Any] = {
        **_scopes(loader, part),
        "text": varied.texts,
        "title": varied.titles,
        "context": varied.contexts,
        "content_hash": varied.content_hashes,
        "minhash": varied.minhashes,
        "occurred_at": pa.array(times).cast(_TIME),
        "created_at": pa.array(times + 1_000_000).cast(_TIME),
        "event_start": _shifted(rows["event_start"], shift),
        "event_end": _shifted(rows["event_end"], shift),
        "type": _types(rows["type"].to_pylist(), layout.kind[part]),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1]),
    }
    schema = memories_schema(vectors.shape[1])
    return pa.table(
        [
            _column(columns[name], kind) if name in columns else rows[name].cast(kind)
            for name, kind in zip(schema.names, schema.types, strict=True)
        ],
        schema=schema,
    )


def _column(values: Any, kind: pa.DataType) -> Any:
    return values.cast(kind) if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values, kind)


def _scopes(loader: _Loader, part: slice) -> dict[str, Any]:
    """Where each memory belongs, and which event it came of."""
    layout = loader.layout
    sequences, pieces = loader.sequences[part].tolist(), loader.pieces[part].tolist()
    tenants = [tenant_name(code) for code in layout.tenant[part].tolist()]
    events = [f"{loader.seed}-{sequence}" for sequence in sequences]
    sessions = layout.session[part].tolist()
    kinds = [KINDS[kind] for kind in layout.kind[part].tolist()]
    origins = list(zip(tenants, events, pieces, strict=True))
    audiences = layout.audience[part].tolist()
    return {
        "memory_id": [memory_id(*origin) for origin in origins],
        "tenant_id": tenants,
        "user_id": [f"user-{user:02d}" for user in layout.user[part].tolist()],
        "project_id": [f"project-{project}" for project in layout.project[part].tolist()],
        "session_id": [
            "" if kind == DOCUMENT else f"s{session}" for kind, session in zip(kinds, sessions, strict=True)
        ],
        "document_id": [
            f"d{session}" if kind == DOCUMENT else "" for kind, session in zip(kinds, sessions, strict=True)
        ],
        "acl": [[] if audience == NOBODY else [AUDIENCES[audience]] for audience in audiences],
        "shared": (~layout.private[part]).tolist(),
        "event_id": events,
        "event_kind": [_event_kind(kind) for kind in kinds],
        "stream_sequence": sequences,
        "revision_sequence": sequences,
        "piece": pieces,
    }


def _event_kind(kind: str) -> str:
    return {CHAT: "message", DOCUMENT: "document"}.get(kind, "memory")


def _types(found: list[str], kinds: NDArray[np.int8]) -> list[str]:
    fact = KINDS.index(FACT)
    return [
        FACT_TYPES[row % len(FACT_TYPES)] if kind == fact or name not in MEMORY_TYPES else name
        for row, (name, kind) in enumerate(zip(found, kinds.tolist(), strict=True))
    ]


def _shifted(times: pa.ChunkedArray, shift: pa.Array) -> Any:
    """Times of the base moved with their text; unknown ones stay so."""
    moment = times.combine_chunks().cast(pa.int64())
    state = moment.is_valid()
    moved_to = moment.fill_null(0).to_numpy() + shift.to_numpy()
    return pa.array(moved_to, mask=~state.to_numpy(zero_copy_only=False)).cast(_TIME)


def _known_items(loader: _Loader, start: int, varied: Varied, ids: list[str]) -> Iterator[tuple[str, str]]:
    """Words in a row out of memories everybody in the asked tenant sees; about enough from every batch."""
    layout = loader.layout
    part = slice(start, start + len(ids))
    seen = (layout.tenant[part] == 0) & ~layout.private[part] & (layout.audience[part] == NOBODY)
    rows = np.flatnonzero(seen).tolist()
    drawn = random.Random(_mixed(loader.seed, start))  # noqa: S311  repeatable, no secret
    batches = -(-len(layout) // BATCH)
    for row in sorted(drawn.sample(rows, min(len(rows), 2 * KNOWN_ITEMS // batches + 8))):
        words = varied.texts[row].split()
        if len(words) > KNOWN_WORDS:
            first = drawn.randrange(len(words) - KNOWN_WORDS)
            yield " ".join(words[first : first + KNOWN_WORDS]), ids[row]


def _spread(items: list[tuple[str, str]], count: int) -> list[tuple[str, str]]:
    step = max(1.0, len(items) / count)
    return [items[int(k * step)] for k in range(min(count, len(items)))]


def _publish(loader: _Loader, folder: Path) -> None:
    """Generation 1, of a writer whose lease came before any that a new bucket gives."""
    state = ConsolidationState()
    facts = np.zeros(len(loader.ids), FACTS)
    facts["memory_id"] = np.array(loader.ids, "S32")
    facts["is_there"] = facts["is_latest"] = True
    facts["duplicate_of"], facts["expires_at"] = NO_DUPLICATE, NEVER
    state.ledger.fill(
        facts,
        [tenant_name(0)],
        [EVERYBODY],
        corrects={},
        superseded_by={},
        digest=int(digest_of(loader.ids), 16),
    )
    name, _, checksum = loader.base.rows["model"][0].as_py().rpartition("@")
    state.model = Model(name, checksum, loader.base.vectors.shape[1])
    last = int(loader.sequences[-1])
    state.applied.skip_to(last)
    # without a time of creation: any stream that goes on after `last` is the right one
    stream = StreamState(name=EVENTS_STREAM, first_sequence=1, last_sequence=last)
    publish_generation(
        folder,
        loader.live,
        state,
        None,
        PublicationInfo(0, stream, BEGIN + timedelta(days=DAYS)),
        ensure_lease=lambda: None,
    )
