"""Reads accesses from the query service and publishes their counts; both sides may be down for a while.

While NATS does not answer, the forwarder reads until it holds `held_memories`. Then the ring of the query
service drops its oldest accesses. No recall waits for any of this.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from typing import TYPE_CHECKING, Final

import grpc

from helix_consolidation.forwarder.counts import AccessCounts
from helix_memory import subjects
from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_shared.broker.cancelling import cancel_all
from helix_shared.errors import HelixError, TemporaryError
from helix_shared.telemetry.logs import logger
from helix_shared.telemetry.metrics import ACCESSES, AUDIT_RECORDS

if TYPE_CHECKING:
    from prometheus_client import Counter

    from helix_consolidation.forwarder.settings import ForwarderSettings
    from helix_memory.transport.batch import Outgoing
    from helix_memory.transport.publisher import Publishes

RETRY_SECONDS: Final = 1.0
_AUDITS: Final = subjects.calls_subject("*")[:-1]

_log = logger(__name__)


async def forward(publisher: Publishes, settings: ForwarderSettings, stop: asyncio.Event) -> None:
    """Read and publish until `stop`; then publish what was read.

    Raises: what ended the reading; a forwarder that reads nothing must not seem to work.
    """
    forwarder = Forwarder(publisher, settings)
    reading = asyncio.create_task(forwarder.read())
    try:
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), settings.publish_interval_seconds)
            await forwarder.publish()
            if reading.done():
                reading.result()
    finally:
        await cancel_all([reading])
    await forwarder.publish()


class Forwarder:
    """Accesses that were read and are not published yet."""

    def __init__(self, publisher: Publishes, settings: ForwarderSettings) -> None:
        self._publisher = publisher
        self._settings = settings
        self._counts = AccessCounts()
        self._has_room = asyncio.Event()
        self._outgoing: deque[Outgoing] = deque()
        """Encoded, in order; they keep their ids until the stream has them."""
        AUDIT_RECORDS.labels("lost")  # Prometheus sees no increase in a series that begins with 1

    async def read(self) -> None:
        """Count what the query service streams; connect again whenever the stream ends.

        A file of a credential that cannot be used now, such as one that is being replaced, is read again.
        """
        reported = ""
        credentials = self._settings.call_credentials
        while True:
            reason = ""
            try:
                async with credentials.aio_channel(self._settings.access_address) as channel:
                    stub = recall_pb2_grpc.AccessServiceStub(channel)
                    request = recall_pb2.StreamAccessesRequest()
                    async for batch in stub.StreamAccesses(request, metadata=credentials.metadata()):
                        reported = ""
                        await self.add(batch)
            except grpc.aio.AioRpcError as error:
                reason = error.code().name
            except HelixError as error:
                reason = str(error)
            if reason and reason != reported:
                _log.warning("accesses not read", address=self._settings.access_address, reason=reason)
                reported = reason
            await asyncio.sleep(RETRY_SECONDS)

    async def publish(self) -> None:
        """Publish what is counted; if NATS does not answer, the same messages come next time.

        What was not answered before goes first.
        """
        if await self._send():
            self._cut()
            await self._send()

    async def _send(self) -> bool:
        """Publish the messages that wait; False: NATS does not answer, and the rest waits on."""
        while self._outgoing:
            message = self._outgoing[0]
            try:
                await self._publisher.publish(message.subject, message.body, message_id=message.message_id)
                _counter(message).labels("published").inc()
            except TemporaryError as error:
                _log.warning("accesses not published yet", reason=str(error))
                return False
            except HelixError as error:
                # the stream refuses it for good; nothing waits for it, so the log and the metric have it
                _log.warning("message lost", subject=message.subject, reason=str(error))
                _counter(message).labels("lost").inc()
            self._outgoing.popleft()
        return True

    async def add(self, batch: recall_pb2.AccessBatch) -> None:
        """Count a batch; waits while too much is unpublished."""
        if not self._counts.continues(batch):
            self._cut()
        self._counts.add(batch)
        if self._counts.memories >= self._settings.held_memories:
            self._has_room.clear()
            await self._has_room.wait()

    def _cut(self) -> None:
        """Turn what is counted into messages."""
        self._outgoing.extend(self._counts.messages())
        self._counts = AccessCounts()
        self._has_room.set()


def _counter(message: Outgoing) -> Counter:
    """The metric of what a message holds."""
    return AUDIT_RECORDS if message.subject.startswith(_AUDITS) else ACCESSES
