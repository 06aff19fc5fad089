"""Writes generated memories through the four artifact writers, in columns, and publishes them once.

Texts are varied by two processes while this one writes. Consolidation can continue from the generation: its
state file counts every event as answered.
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
from typing import Final

import numpy as np
import pyarrow as pa

from helix_consolidation.ledger.consolidation_state import ConsolidationState, Model
from helix_consolidation.ledger.event_reach import EVERYBODY, NO_TIME
from helix_consolidation.ledger.facts import FACTS, NO_DUPLICATE, MemoryStatus
from helix_consolidation.ledger.indexes import SourceIndex
from helix_consolidation.stores.publish import PublicationInfo, publish_generation
from helix_consolidation.stores.rows import Additions, RecordFields, records_of
from helix_lab.bench.generate.base_memories import Base
from helix_lab.bench.generate.edge_rows import EdgeSource, batch_seed, edge_rows, events_of
from helix_lab.bench.generate.layout import BEGIN, DAYS, NOBODY, Layout, lay_out
from helix_lab.bench.generate.lexicon_process import LexiconProcess
from helix_lab.bench.generate.variant_vectors import noise_of
from helix_lab.bench.generate.variants import Material, Varied, material_of, vary
from helix_lab.sets.data import spread
from helix_memory.subjects import EVENTS_STREAM
from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.artifacts.generation.live_stores import Live
from helix_shared.artifacts.generation.manifest import FORMAT_VERSION, Manifest, StreamState, digest_of
from helix_shared.artifacts.graph.snapshot import Link
from helix_shared.artifacts.signals.columns import signals_of
from helix_shared.errors import InvalidInputError
from helix_shared.machine.processes import end_with_parent
from helix_shared.shard_map import ONLY_SHARD, ShardPlace

BUILD_INFO_FILE: Final = "bench.json"
BATCH: Final = 10_000
PROCESSES: Final = 2
IN_FLIGHT: Final = 4
"""Batches being varied or waiting: what memory they take is bounded."""
SINGLE_PROCESS_UP_TO: Final = 5_000
"""Up to here starting processes costs more than it saves."""

PHRASE_QUERIES: Final = 400
PHRASE_WORDS: Final = 9

Advance = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class BuildInfo:
    """Information about built data that a run needs; stored beside it as `bench.json`."""

    n: int
    seed: int
    tenant: str
    """The largest tenant; all queries are its."""
    tenant_memories: int
    events: int
    """Sequence of the last event: the stream continues after it."""
    model: str
    build_seconds: float
    questions: list[str]
    """Real questions; no generated memory answers them."""
    phrase_queries: list[tuple[str, str]] = field(default_factory=list)
    """Words of a memory that everybody of the tenant sees, with its id."""


@dataclass(slots=True)
class _Loader:
    source: EdgeSource
    live: Live
    ids: list[str] = field(default_factory=list)
    phrase_queries: list[tuple[str, str]] = field(default_factory=list)


def build(
    base: Base,
    folder: Path,
    n: int,
    *,
    seed: int,
    advance: Advance = lambda _: None,
    layout: Layout | None = None,
    place: ShardPlace = ONLY_SHARD,
) -> BuildInfo:
    """Fill the new folder `folder` with generation 1 of `n` memories; `advance` gets the number written.

    `layout` is the usual one unless another is given, `place` the shard that holds its tenants.
    """
    started = time.monotonic()
    layout = layout or lay_out(n, base.kinds, seed=seed)
    sequences, pieces = events_of(layout)
    noise = noise_of(base.vectors)
    live = Live.create(folder / "live", dimensions=base.vectors.shape[1])
    loader = _Loader(EdgeSource(base, layout, noise, sequences, pieces, seed), live)
    try:
        with LexiconProcess(live, folder / "live") as lexicon:
            for start, varied in _varied(material_of(base, n), layout, seed):
                lexicon.upsert(_write(loader, start, varied))
                advance(len(varied.texts))
        live.vectors.maintain()
        # the writer would have compacted it long before there were so many links
        live.compact_graph_now()
        _publish(loader, folder, place)
    finally:
        live.close()
    model = base.rows["model"][0].as_py()
    info = BuildInfo(
        n=n,
        seed=seed,
        tenant=layout.tenants[0],
        tenant_memories=int((layout.tenant == 0).sum()),
        events=int(sequences[-1]),
        model=model,
        build_seconds=round(time.monotonic() - started, 1),
        questions=base.questions,
        phrase_queries=spread(loader.phrase_queries, PHRASE_QUERIES),
    )
    (folder / BUILD_INFO_FILE).write_text(json.dumps(asdict(info)) + "\n")
    return info


def read_build_info(folder: Path) -> BuildInfo:
    """What `build` left beside the data.

    Raises:
        InvalidInputError: the folder holds no such data, or a generation of another format.
        CorruptArtifactError: its generation has no readable manifest.
    """
    try:
        info = BuildInfo(**json.loads((folder / BUILD_INFO_FILE).read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise InvalidInputError("built", f"{folder} holds no data of `helix-lab bench`") from error
    found = Manifest.read(folder_of(folder, 1)).format_version
    if found != FORMAT_VERSION:
        # a query service would wait for a generation that it can read
        raise InvalidInputError("built", f"has format {found}, not {FORMAT_VERSION}: build the data again")
    return info


def _varied(material: Material, layout: Layout, seed: int) -> Iterator[tuple[int, Varied]]:
    """Batches in order, each with its first ordinal."""
    starts = range(0, len(layout), BATCH)
    if len(layout) <= SINGLE_PROCESS_UP_TO:
        for start in starts:
            yield (
                start,
                vary(material, layout.base[start : start + BATCH].tolist(), seed=batch_seed(seed, start)),
            )
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
"""What a process of the pool varies; set once at its start, because it is too large to send with every batch.
"""


def _equip(material: Material) -> None:
    end_with_parent()
    _EQUIPMENT["material"] = material


def _vary_there(rows: list[int], seed: int) -> Varied:
    return vary(_EQUIPMENT["material"], rows, seed=seed)


def _submit(pool: Executor, layout: Layout, start: int, seed: int) -> Future[Varied]:
    return pool.submit(_vary_there, layout.base[start : start + BATCH].tolist(), batch_seed(seed, start))


def _write(loader: _Loader, start: int, varied: Varied) -> pa.Table:
    """One batch into vectors, signals and graph; returns the records for the lexicon."""
    edge = edge_rows(loader.source, start, varied)
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
    loader.phrase_queries += _phrase_queries(loader, start, varied, ids)
    return records


def _phrase_queries(loader: _Loader, start: int, varied: Varied, ids: list[str]) -> Iterator[tuple[str, str]]:
    """Words in a row of memories visible to everyone in the largest tenant; enough from every batch."""
    layout = loader.source.layout
    part = slice(start, start + len(ids))
    seen = (layout.tenant[part] == 0) & ~layout.private[part] & (layout.audience[part] == NOBODY)
    rows = np.flatnonzero(seen).tolist()
    drawn = random.Random(batch_seed(loader.source.seed, start))  # noqa: S311  repeatable, no secret
    batches = -(-len(layout) // BATCH)
    for row in sorted(drawn.sample(rows, min(len(rows), 2 * PHRASE_QUERIES // batches + 8))):
        words = varied.texts[row].split()
        if len(words) > PHRASE_WORDS:
            first = drawn.randrange(len(words) - PHRASE_WORDS)
            yield " ".join(words[first : first + PHRASE_WORDS]), ids[row]


def _publish(loader: _Loader, folder: Path, place: ShardPlace) -> None:
    """Publish generation 1 with an epoch before any that a new lease bucket gives."""
    state = ConsolidationState()
    info = np.zeros(len(loader.ids), FACTS)
    info["memory_id"] = np.array(loader.ids, "S32")
    info["is_there"] = info["is_latest"] = True
    info["duplicate_of"], info["expires_at"], info["decayed_at"] = NO_DUPLICATE, NO_TIME, NO_TIME
    state.ledger.fill(
        info,
        [loader.source.layout.tenants[0]],
        [EVERYBODY],
        corrects={},
        sources=SourceIndex(),
        superseded_by={},
        closed={},
        digest=int(digest_of(loader.ids), 16),
    )
    name, _, checksum = loader.source.base.rows["model"][0].as_py().rpartition("@")
    state.model = Model(name, checksum, loader.source.base.vectors.shape[1])
    last = int(loader.source.sequences[-1])
    state.applied.skip_to(last)
    # without a creation time every stream that continues after `last` is accepted
    stream = StreamState(name=EVENTS_STREAM, first_sequence=1, last_sequence=last)
    publish_generation(
        folder,
        loader.live,
        state,
        None,
        PublicationInfo(0, stream, BEGIN + timedelta(days=DAYS)),
        ensure_lease=lambda: None,
        place=place,
    )
