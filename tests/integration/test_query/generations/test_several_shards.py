"""Several shards in one query process: loaded when asked for, evicted under a budget, found by tenant."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from helix_memory.recall.v1 import recall_pb2
from helix_memory.sharding import SHARD_KEY, hashed_shard
from helix_shared.artifacts.generation.folders import folder_of
from helix_shared.shard_map import ShardMap, ShardPlace, folder_of_shard

pytestmark = pytest.mark.integration

MAP = ShardMap(shards=2, starts=(0, 0))
TENANTS = [next(f"t{n}" for n in range(99) if hashed_shard(f"t{n}", 2) == shard) for shard in (0, 1)]
"""One of each shard."""
SMALL = {"HELIX_QUERY_SHARDS_MEMORY_MIB": "16"}


class TwoShards:
    """Data folders of two shards, each with memories of its tenant."""

    def __init__(self, root: Path, corpus_type: Any, encoder: Any, *, padding: int = 0) -> None:
        self.root = root
        self.corpora = [corpus_type.create(folder_of_shard(root, shard), encoder) for shard in (0, 1)]
        for shard in (0, 1):
            self.add(shard, TENANTS[shard], "The lamp of the pier is green.")
            self.publish(shard, padding=padding)

    def add(self, shard: int, tenant: str, text: str) -> None:
        """Write one memory."""
        self.corpora[shard].add([{"tenant_id": tenant, "text": text}])

    def publish(self, shard: int, map_: ShardMap = MAP, *, padding: int = 0) -> int:
        """Publish a shard as the next generation; `padding` MiB of a file that nobody reads come along."""
        extras = {"shard.json": ShardPlace(shard=shard, map=map_).encoded()}
        if padding:
            extras["padding"] = bytes(padding << 20)
        number: int = self.corpora[shard].publish(extras=extras)
        return number


@pytest.fixture
def two(tmp_path: Path, corpus_type: Any, encoder: Any) -> Any:
    """Makes two shards."""
    made: list[TwoShards] = []

    def make(*, padding: int = 0) -> TwoShards:
        made.append(TwoShards(tmp_path / "data", corpus_type, encoder, padding=padding))
        return made[-1]

    yield make
    for one in made:
        for corpus in one.corpora:
            corpus.live.close()


@pytest.fixture
def served(start: Callable[..., Any], two: Any) -> Callable[..., tuple[Any, TwoShards]]:
    """Starts one process for both shards."""

    def begin(*, padding: int = 0, shards: str = "0,1", **settings: str) -> tuple[Any, TwoShards]:
        data = two(padding=padding)
        service = start(data.root, HELIX_QUERY_SHARDS=shards, **settings)
        service.wait_for(lambda at: at.health() == "SERVING")
        return service, data

    return begin


def texts(service: Any, tenant: str, **fields: Any) -> list[str]:
    """What a recall of a tenant finds."""
    return [
        one.memory.text
        for one in service.recall("which colour has the lamp", tenant=tenant, **fields).memories
    ]


def evictions(service: Any) -> int:
    """Shards evicted so far, as the log tells."""
    return int(service.log.read_text().count('"event": "shard_evicted"'))


def test_tenants_of_both_shards_are_answered(served: Any) -> None:
    """The second shard is loaded by its first recall; the status counts both, and is that of each tenant."""
    service, _ = served()
    assert service.log.read_text().count("generation_served") == 1
    for tenant in TENANTS:
        assert texts(service, tenant) == ["The lamp of the pier is green."]
    assert service.log.read_text().count("generation_served") == 2
    assert service.status().memories == 2
    scope = recall_pb2.Scope(tenant_id=TENANTS[1])
    assert service.stub().GetStatus(recall_pb2.GetStatusRequest(scope=scope), timeout=5).memories == 1
    assert evictions(service) == 0


def test_calls_that_wait_for_a_shard_load_it_once(served: Any) -> None:
    """Eight first recalls at a time."""
    service, _ = served()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: texts(service, TENANTS[1]), range(8)))
    assert found == [["The lamp of the pier is green."]] * 8
    assert service.log.read_text().count("generation_served") == 2


def test_an_eviction_fails_no_recall(served: Any) -> None:
    """The budget has room for one shard; recalls of both go on meanwhile."""
    service, _ = served(padding=9, **SMALL)
    is_over = threading.Event()
    answered = [0, 0]

    def ask(shard: int) -> None:
        while not is_over.is_set():
            assert texts(service, TENANTS[shard]) == ["The lamp of the pier is green."]
            answered[shard] += 1

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask, shard) for shard in (0, 1, 0, 1)]
        try:
            service.wait_for(lambda at: evictions(at) >= 6 or any(one.done() for one in asking))
        finally:
            is_over.set()
        for one in asking:
            one.result()
    assert min(answered) > 0


def test_an_evicted_shard_comes_back_with_its_newest_generation(served: Any) -> None:
    """It was published, and the one that was served removed, while the shard was not loaded."""
    service, data = served(padding=9, **SMALL)
    assert texts(service, TENANTS[1])
    service.wait_for(lambda at: evictions(at) == 1)
    data.add(0, TENANTS[0], "The lamp of the tower is red.")
    number = data.publish(0)

    shutil.rmtree(folder_of(folder_of_shard(data.root, 0), number - 1))
    found = texts(service, TENANTS[0], min_seq=number * 10)
    assert set(found) == {"The lamp of the pier is green.", "The lamp of the tower is red."}


def test_an_idle_shard_is_evicted(served: Any) -> None:
    """Both, and each is loaded again when asked for."""
    service, _ = served(HELIX_QUERY_SHARD_IDLE_SECONDS="0.2")
    service.wait_for(lambda at: evictions(at) >= 1)
    assert texts(service, TENANTS[0])


def test_a_tenant_of_another_process_is_refused_by_name(served: Any) -> None:
    """FAILED_PRECONDITION and the number of its shard, also when that was never loaded here."""
    service, _ = served(shards="0")
    with pytest.raises(grpc.RpcError) as refused:
        texts(service, TENANTS[1])
    assert refused.value.code() == grpc.StatusCode.FAILED_PRECONDITION
    assert (SHARD_KEY, "1") in [(key, value) for key, value in refused.value.trailing_metadata()]


def test_a_moved_tenant_is_found(served: Any) -> None:
    """Recalls go on while its shards publish the new map one after the other; the newer one is believed."""
    service, data = served()
    tenant = TENANTS[0]
    assert texts(service, tenant) == ["The lamp of the pier is green."]
    moved = MAP.moving(tenant, 1, sequence=100)
    data.add(1, tenant, "The lamp of the pier is green.")
    data.add(1, tenant, "The lamp moved to the other shard.")
    first = data.publish(1, moved)
    service.wait_for(lambda _: len(texts(service, tenant)) == 2)
    data.publish(0, moved)
    service.wait_for(lambda at: at.status().generation == first)
    assert len(texts(service, tenant)) == 2


def test_a_folder_of_another_shard_is_not_served(two: Any, start: Any) -> None:
    """Two folders were exchanged by mistake: the reason is told."""
    data = two()
    other = folder_of_shard(data.root, 1)
    service = start(other, HELIX_QUERY_SHARDS="0")
    service.wait_for(lambda at: "is of shard 1, not of shard 0" in at.log.read_text())
