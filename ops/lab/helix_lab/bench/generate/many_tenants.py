"""Shards with thousands of tenants: the data folders of one instance, written through the real writers.

Every tenant has two sessions; the others are drawn by a power law, so that a few tenants have most memories.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import count, islice
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_lab.bench.generate.base_memories import read_base, texts
from helix_lab.bench.generate.layout import Layout, lay_out
from helix_lab.bench.generate.load import Advance, build
from helix_lab.sets.vector_store import VectorStore
from helix_memory.sharding import hashed_shard
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.model import read_card
from helix_shared.encoders.store import default_model
from helix_shared.shard_map import ShardMap, ShardPlace, folder_of_shard

if TYPE_CHECKING:
    from pathlib import Path

EXPONENT: Final = 1.5
SESSIONS: Final = 2
"""Of every tenant, at least."""
SIZES_FILE: Final = "sizes.json"
"""Memories by tenant, beside the generations of a shard."""


def build_shards(
    folder: Path,
    models: Path,
    data: Path | None,
    vectors: Path,
    *,
    shards: int,
    tenants: int,
    memories: int,
    seed: int = 7,
    advance: Advance = lambda _: None,
) -> None:
    """Fill `folder` with the data of `shards` shards that have `tenants` and `memories` in all.

    `vectors` is the folder of the lab's embeddings. A shard that is there is left as it is.
    """
    model = default_model(models)
    with VectorStore(vectors, model=read_card(model).checksum) as store:
        encoder = Encoder.load(model, lanes=2, cache=store)
        with encoder:
            base = read_base(texts(data), encoder)
    map_ = ShardMap(shards=shards, starts=(0,) * shards)
    for shard in range(shards):
        root = folder_of_shard(folder, shard)
        if (root / SIZES_FILE).exists():
            continue
        root.mkdir(parents=True, exist_ok=True)
        names = tenant_names(shard, shards, tenants // shards)
        layout = shared_out(memories // shards, base.kinds, names, seed=seed + shard)
        place = ShardPlace(shard=shard, map=map_)
        build(base, root, len(layout), seed=seed + shard, layout=layout, place=place, advance=advance)
        sizes = np.bincount(layout.tenant, minlength=len(names)).tolist()
        (root / SIZES_FILE).write_text(json.dumps(dict(zip(names, sizes, strict=True))))


def tenant_names(shard: int, shards: int, number: int) -> list[str]:
    """The first names that hashing places in a shard."""
    every = (f"tenant-{one}" for one in count())
    return list(islice((name for name in every if hashed_shard(name, shards) == shard), number))


def shared_out(n: int, kinds: np.ndarray, names: Sequence[str], *, seed: int) -> Layout:
    """`n` memories of the tenants `names`, each with `SESSIONS` sessions or more."""
    layout = lay_out(n, kinds, seed=seed, tenants=names, exponent=EXPONENT)
    _, first = np.unique(layout.session, return_index=True)
    owner = layout.tenant[first].copy()
    drawn = np.random.default_rng([seed, 2]).permutation(len(owner))[: SESSIONS * len(names)]
    owner[drawn] = np.arange(len(drawn)) % len(names)
    return replace(layout, tenant=owner[layout.session])
