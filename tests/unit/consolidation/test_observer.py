import asyncio
import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from nats.js.errors import NotFoundError
from prometheus_client import REGISTRY

from helix_consolidation.observing.observer import Observer, report_dead_letters, report_disk, report_streams
from helix_memory.subjects import AUDIT_STREAM


def value(name: str, **labels: str) -> float | None:
    """A metric of this process."""
    return REGISTRY.get_sample_value(name, labels)


def test_dead_letters_are_counted_by_service_whatever_the_tenant() -> None:
    """A service without letters has no value any more."""
    report_dead_letters(
        {"helix.v1.dlq.ingest.acme": 2, "helix.v1.dlq.ingest.globex": 3, "helix.v1.dlq.kg.acme": 1}
    )
    assert value("helix_dead_letters", service="ingest") == 5
    assert value("helix_dead_letters", service="kg") == 1
    report_dead_letters({"helix.v1.dlq.kg.acme": 1})
    assert value("helix_dead_letters", service="ingest") is None


def test_the_archive_and_its_disk_are_measured(tmp_path: Path) -> None:
    """Without an archive there are 0 bytes."""
    report_disk(tmp_path)
    assert value("helix_archive_bytes") == 0
    (tmp_path / "archive" / "closed").mkdir(parents=True)
    (tmp_path / "archive" / "one").write_bytes(bytes(10))
    (tmp_path / "archive" / "closed" / "two").write_bytes(bytes(5))
    report_disk(tmp_path)
    assert value("helix_archive_bytes") == 15
    assert 0 < (value("helix_disk_free_bytes") or 0) <= (value("helix_disk_size_bytes") or 0)


async def test_a_stream_that_is_not_there_does_not_hide_the_others() -> None:
    """As after an upgrade before `helix provision`."""

    class Streams:
        async def stream_info(self, name: str, **_: str) -> Any:
            if name == AUDIT_STREAM:
                raise NotFoundError
            state = SimpleNamespace(bytes=5, messages=2, last_seq=7, subjects={"helix.v1.dlq.kg.acme": 2})
            return SimpleNamespace(state=state)

    streams: Any = Streams()
    await report_streams(streams)
    assert value("helix_stream_last_sequence", stream="HELIX_EVENTS") == 7
    assert value("helix_dead_letters", service="kg") == 2


async def test_what_cannot_be_observed_does_not_end_the_writer(tmp_path: Path) -> None:
    """The observer looks again after an error of any kind."""
    looks = asyncio.Semaphore(0)

    class Shard:
        manifest = None

        @property
        def state(self) -> Any:
            looks.release()
            raise KeyError("erasures")

    client: Any = None
    shard: Any = Shard()
    running = asyncio.create_task(Observer(client, tmp_path, shard).run(every_seconds=0.001))
    for _ in range(3):
        await looks.acquire()
    assert not running.done()
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
