"""GetStatus reads the folder of the adapters on a thread of its own."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from helix_memory.recall.v1 import recall_pb2
from helix_query.api import service, status_call
from helix_query.generations.shards.only import OnlyShard
from helix_query.settings import QuerySettings
from helix_shared.rpc.access.admission import Admission


class Current:
    """One snapshot, whose folder notes the thread that counts its adapters."""

    cross_encoders: dict[str, Any] = {}  # noqa: RUF012  never changed

    def __init__(self) -> None:
        self.counted_on: threading.Thread | None = None
        self.leases = 0

    @contextmanager
    def lease(self) -> Iterator[Any]:
        """The snapshot."""
        self.leases += 1
        generation = SimpleNamespace(manifest=None, place=SimpleNamespace(shard=0))
        yield SimpleNamespace(
            learned_adapters=self, encoder=None, generation=generation, require_tenant=lambda _: None
        )
        self.leases -= 1

    def counts(self, _: Any) -> tuple[int, int]:
        """Two that fit and one that does not; the snapshot is leased meanwhile."""
        assert self.leases == 1
        self.counted_on = threading.current_thread()
        return 2, 1


async def test_the_event_loop_reads_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counts are in the reply all the same."""
    monkeypatch.setattr(status_call, "status_response", lambda *_, **__: recall_pb2.GetStatusResponse())
    current = Current()
    handlers: Any = service.RecallHandlers.__new__(service.RecallHandlers)
    handlers._started, handlers._profiles, handlers._shards = 0.0, {}, OnlyShard(current)
    handlers._settings = QuerySettings(instance="")
    handlers._admission = Admission(handlers._settings)
    handlers._accesses = SimpleNamespace(describe=lambda _: None)
    reply = await handlers.get_status(recall_pb2.GetStatusRequest(), None)
    assert (reply.learned_adapters.fitting, reply.learned_adapters.refused) == (2, 1)
    assert current.counted_on not in {None, threading.current_thread()}
