"""Reads streams, stores and the disk every few seconds, and sets their metrics; it changes nothing.

What does not answer keeps its last value: the readiness of the process tells that.
"""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from typing import TYPE_CHECKING, Final

from nats.js.errors import NotFoundError

from helix_consolidation.archiving.event_archive import ARCHIVE
from helix_consolidation.metrics import (
    ARCHIVE_BYTES,
    DEAD_LETTERS,
    DISK_FREE_BYTES,
    DISK_SIZE_BYTES,
    ERASURES_PENDING,
    PUBLICATION_DELAY_SECONDS,
    STREAM_BYTES,
    STREAM_LAST,
    STREAM_MESSAGES,
)
from helix_memory.subjects import ALL_EVENTS, ALL_LETTERS, DLQ_STREAM, EVENTS_STREAM, service_of
from helix_memory.transport.connection import reason_of
from helix_shared.broker import log
from helix_shared.broker.streams import STREAMS
from helix_shared.telemetry.logs import logger
from helix_shared.telemetry.metrics import report_generation

if TYPE_CHECKING:
    from pathlib import Path

    from nats.aio.client import Client
    from nats.js import JetStreamContext

    from helix_consolidation.stores.shard import Shard
    from helix_shared.artifacts.generation.manifest import Manifest

SERVICE: Final = "consolidation"
EVERY_SECONDS: Final = 5.0

_log = logger(__name__)


class Observer:
    """Observes one writer; used from its event loop."""

    def __init__(self, client: Client, root: Path, shard: Shard) -> None:
        """The generation that `shard` opened was published before: its delay is not counted."""
        self._client = client
        self._root = root
        self._shard = shard
        self._seen = shard.manifest
        if self._seen is not None:
            report_generation(SERVICE, self._seen, memories=self._seen.counts.recallable)

    async def run(self, *, every_seconds: float = EVERY_SECONDS) -> None:
        """Observe until cancelled; a failure is logged and does not stop the writer."""
        while True:
            try:
                await self.look()
            except Exception as error:  # noqa: BLE001  see above
                _log.warning("metrics not updated", reason=reason_of(error))
            await asyncio.sleep(every_seconds)

    async def look(self) -> None:
        """Set every metric once.

        Raises:
            nats.errors.Error, HelixError, TimeoutError, OSError: NATS or the disk does not answer.
        """
        ERASURES_PENDING.set(len(self._shard.state.erasures.open))
        await asyncio.to_thread(report_disk, self._root)
        await report_streams(self._client.jetstream())
        manifest, before = self._shard.manifest, self._seen
        if manifest is not None and (before is None or manifest.generation != before.generation):
            await self._report_delay(manifest, after=0 if before is None else before.applied_sequence)
            self._seen = manifest

    async def _report_delay(self, manifest: Manifest, *, after: int) -> None:
        """Report how old the oldest new event of a generation was when that was published."""
        oldest = await log.first_after(self._client, EVENTS_STREAM, ALL_EVENTS, after)
        if oldest is not None and oldest.sequence <= manifest.applied_sequence:
            PUBLICATION_DELAY_SECONDS.observe((manifest.published_at - oldest.stored_at).total_seconds())


async def report_streams(jetstream: JetStreamContext) -> None:
    """Size and end of every stream that exists, and the dead letters of each service."""
    for config in STREAMS:
        name = str(config.name)
        filtered = {"subjects_filter": ALL_LETTERS} if name == DLQ_STREAM else {}
        try:
            state = (await jetstream.stream_info(name, **filtered)).state
        except NotFoundError:
            continue  # not provisioned yet, which `helix_stream_settings_differ` tells
        STREAM_BYTES.labels(name).set(state.bytes)
        STREAM_MESSAGES.labels(name).set(state.messages)
        STREAM_LAST.labels(name).set(state.last_seq)
        if name == DLQ_STREAM:
            report_dead_letters(state.subjects or {})


def report_dead_letters(count_of: dict[str, int]) -> None:
    """Dead letters by service, from the messages of every subject `<root>.dlq.<service>.<tenant>`."""
    found = Counter[str]()
    for subject, count in count_of.items():
        found[service_of(subject)] += count
    DEAD_LETTERS.clear()
    for service, count in found.items():
        DEAD_LETTERS.labels(service).set(count)


def report_disk(root: Path) -> None:
    """Bytes of the archive, and of the disk with the data folder."""
    disk = shutil.disk_usage(root)
    DISK_FREE_BYTES.set(disk.free)
    DISK_SIZE_BYTES.set(disk.total)
    archive = root / ARCHIVE
    ARCHIVE_BYTES.set(sum(_size(path) for path in archive.rglob("*")) if archive.is_dir() else 0)


def _size(path: Path) -> int:
    """Size of a file; 0 for a folder, and for a file that went away meanwhile."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except FileNotFoundError:
        return 0
