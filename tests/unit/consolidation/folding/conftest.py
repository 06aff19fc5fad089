"""A shard that decides by slots."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from helix_consolidation.stores.shard import Shard
from tests.unit.consolidation.conftest import Bench
from tests.unit.consolidation.slots import decide_by_slot


@pytest.fixture
def slots(tmp_path: Path) -> Iterator[Bench]:
    """A shard that decides by slots."""
    bench = Bench(tmp_path, Shard.open(tmp_path, maintain_every=64, decide=decide_by_slot))
    yield bench
    bench.shard.close()
