"""How often memories were served, taken over from the generation whose place is taken.

A rebuild from the log does not know it: HELIX_ACCESS keeps accesses for a week.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from nats.aio.client import Client
from nats.aio.msg import Msg

from helix_consolidation.stores.state_files import STATE_FILE
from helix_memory import limits, subjects
from helix_shared.accesses import LAST_MOMENT, MOST_ACCESSES, AccessedMemory, encode_accesses
from helix_shared.artifacts.generation.folders import SIGNALS
from helix_shared.artifacts.signals.columns import code
from helix_shared.artifacts.signals.reader import Signals

if TYPE_CHECKING:
    from helix_consolidation.stores.shard import Shard

TAKEN_OVER = "taken over"
"""In the place of the creation time of HELIX_ACCESS, while the counts are taken over."""


def take_over_accesses(shard: Shard, generation: Path, *, now: int) -> int:
    """Add the counts of the folder `generation` to those of `shard`, once; returns how many memories had any.

    `now` is in microseconds. Memories that the shard does not have are skipped.
    """
    counted = add_accesses(shard, generation, now=now)
    before = json.loads((generation / STATE_FILE).read_bytes())
    shard.state.set_access_stream(before.get("access_stream", ""))
    shard.state.accessed = before.get("accessed", 0)
    return counted


def add_accesses(shard: Shard, generation: Path, *, now: int, tenant_id: str = "") -> int:
    """Add the counts of a tenant, or of all; returns how many memories had any. `now` is in microseconds.

    Up to where `shard` counted HELIX_ACCESS stays as it is.
    """
    signals = Signals.open(generation / SIGNALS)
    counts, times = signals.access_count, signals.last_accessed_at
    is_counted = counts > 0
    if tenant_id:
        is_counted &= signals.tenant_code == code(tenant_id)
    counted = np.flatnonzero(is_counted)
    by_tenant: defaultdict[str, list[AccessedMemory]] = defaultdict(list)
    # erased memories have no record
    for record in signals.records(counted):
        row = record["ordinal"]
        last_at = min(max(int(times[row]), 0), LAST_MOMENT)
        one = AccessedMemory(record["memory_id"], min(int(counts[row]), MOST_ACCESSES), last_at)
        by_tenant[record["tenant_id"]].append(one)
    parts = [
        (tenant, memories[start : start + limits.ACCESSED_MEMORIES])
        for tenant, memories in by_tenant.items()
        for start in range(0, len(memories), limits.ACCESSED_MEMORIES)
    ]
    state, client = shard.state, Client()
    position = state.access_stream, state.accessed
    state.set_access_stream(TAKEN_OVER)
    shard.apply_accesses([_message(client, *part, n, now) for n, part in enumerate(parts, 1)], now=now)
    state.access_stream, state.accessed = position
    return len(counted)


def _message(client: Client, tenant: str, memories: list[AccessedMemory], number: int, now: int) -> Msg:
    reply = f"$JS.ACK.{subjects.ACCESS_STREAM}.taken-over.1.{number}.{number}.{now * 1_000}.0"
    return Msg(
        _client=client,
        subject=subjects.access_subject(tenant),
        reply=reply,
        data=encode_accesses(memories),
        headers={},
    )
