"""The forwarder between a ring of accesses and a publisher."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helix_consolidation.forwarder import forward as forward_module
from helix_consolidation.forwarder.counts import AccessCounts
from helix_consolidation.forwarder.forward import Forwarder
from helix_consolidation.forwarder.settings import ForwarderSettings
from helix_memory import limits
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.publisher import PubAck
from helix_shared.accesses import decode_accesses
from helix_shared.audit.record import decode_records
from helix_shared.errors import PermanentError, TemporaryError

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def memory(number: int) -> str:
    """A memory id."""
    return f"{number:032x}"


def batch(*accesses: tuple[str, list[str]], ring: str = "r1", first: int = 1) -> recall_pb2.AccessBatch:
    """A batch of (tenant, memories)."""
    return recall_pb2.AccessBatch(
        ring=ring,
        accesses=[
            recall_pb2.Access(number=first + n, tenant_id=tenant, at=NOON, memory_ids=ids)
            for n, (tenant, ids) in enumerate(accesses)
        ],
    )


class RecordingPublisher:
    """Keeps what is published; raises the errors it is given first."""

    def __init__(self, *errors: Exception) -> None:
        self.published: list[tuple[str, bytes, str]] = []
        self._errors = list(errors)

    async def publish(
        self, subject: str, body: bytes, *, message_id: str, headers: Mapping[str, str] | None = None
    ) -> PubAck:
        """Record the message, or raise."""
        del headers
        if self._errors:
            raise self._errors.pop(0)
        self.published.append((subject, body, message_id))
        return PubAck(len(self.published), duplicate=False)


def forwarder(publisher: Any) -> Forwarder:
    """A forwarder that is fed by hand."""
    return Forwarder(publisher, ForwarderSettings())


def test_accesses_are_counted_together_by_tenant_and_memory() -> None:
    """One message a tenant; its id says which accesses of which ring it counts."""
    counts = AccessCounts()
    counts.add(
        batch(("acme", [memory(1), memory(2)]), ("acme", [memory(1)]), ("other", [memory(1)]), first=4)
    )
    messages = list(counts.messages())
    assert [message.subject for message in messages] == ["helix.v1.access.acme", "helix.v1.access.other"]
    assert [message.message_id for message in messages] == ["access:r1:4-6:acme:0", "access:r1:4-6:other:0"]
    counted = {one.memory_id: one.accesses for one in decode_accesses(messages[0].body)}
    assert counted == {memory(1): 2, memory(2): 1}


def test_a_message_holds_no_more_memories_than_its_limit() -> None:
    """The rest goes into further messages with ids of their own."""
    counts = AccessCounts()
    counts.add(batch(("acme", [memory(n) for n in range(limits.ACCESSED_MEMORIES + 1)])))
    messages = list(counts.messages())
    assert [len(decode_accesses(one.body)) for one in messages] == [limits.ACCESSED_MEMORIES, 1]
    assert len({one.message_id for one in messages}) == 2


def test_an_unanswered_message_is_published_again_with_its_id() -> None:
    """The stream may have stored it although the answer was lost."""

    async def published() -> list[tuple[str, bytes, str]]:
        publisher = RecordingPublisher(TemporaryError("NATS is away"))
        forwarding = forwarder(publisher)
        await forwarding.add(batch(("acme", [memory(1)])))
        await forwarding.publish()
        assert publisher.published == []
        await forwarding.add(batch(("acme", [memory(2)]), first=2))
        await forwarding.publish()
        await forwarding.publish()
        return publisher.published

    assert [name for _, _, name in asyncio.run(published())] == [
        "access:r1:1-1:acme:0",
        "access:r1:2-2:acme:0",
    ]


def test_a_refused_message_is_lost_and_the_next_one_is_published() -> None:
    """Accesses are lossy: one message never blocks the others."""

    async def published() -> list[tuple[str, bytes, str]]:
        publisher = RecordingPublisher(PermanentError("refused"))
        forwarding = forwarder(publisher)
        await forwarding.add(batch(("acme", [memory(1)]), ("other", [memory(2)])))
        await forwarding.publish()
        return publisher.published

    assert [subject for subject, _, _ in asyncio.run(published())] == ["helix.v1.access.other"]


def test_numbers_of_another_ring_are_not_mixed() -> None:
    """A query service that starts again counts from 1."""

    async def published() -> list[tuple[str, bytes, str]]:
        publisher = RecordingPublisher()
        forwarding = forwarder(publisher)
        await forwarding.add(batch(("acme", [memory(1)])))
        await forwarding.add(batch(("acme", [memory(1)]), ring="r2"))
        await forwarding.publish()
        await forwarding.publish()
        return publisher.published

    names = [name for _, _, name in asyncio.run(published())]
    assert names == ["access:r1:1-1:acme:0", "access:r2:1-1:acme:0"]


def test_audit_records_go_to_the_stream_of_their_tenant_and_are_published_again_with_their_id() -> None:
    """Those without a proven tenant go to the subject of none."""

    async def published() -> list[tuple[str, bytes, str]]:
        publisher = RecordingPublisher(TemporaryError("NATS is away"))
        forwarding = forwarder(publisher)
        audits = [
            recall_pb2.AuditRecord(number=4, at=NOON, call="Recall", outcome="OK", tenant_id="acme", count=2),
            recall_pb2.AuditRecord(number=5, at=NOON, call="Recall", outcome="UNAUTHENTICATED"),
        ]
        await forwarding.add(recall_pb2.AccessBatch(ring="r1", audits=audits))
        await forwarding.publish()
        assert publisher.published == []
        await forwarding.publish()
        return publisher.published

    nobody, acme = asyncio.run(published())
    assert nobody[::2] == ("helix.v1.calls.-", "audit:r1:5-5:-")
    assert acme[::2] == ("helix.v1.calls.acme", "audit:r1:4-4:acme")
    [record] = decode_records(acme[1])
    assert (record.at, record.outcome, record.count) == ("2026-05-01T12:00:00.000+00:00", "OK", 2)


async def test_a_credential_file_that_is_missing_for_a_while_ends_no_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is replaced at a rotation."""
    monkeypatch.setattr(forward_module, "RETRY_SECONDS", 0.0)
    tried = asyncio.Event()
    monkeypatch.setattr(forward_module, "_log", SimpleNamespace(warning=lambda *_, **__: tried.set()))
    settings = ForwarderSettings(token_file=tmp_path / "missing")
    reading = asyncio.create_task(Forwarder(RecordingPublisher(), settings).read())
    async with asyncio.timeout(60):
        await tried.wait()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not reading.done()
    reading.cancel()


async def test_a_forwarder_whose_reading_failed_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process is started again; it went on without reading."""

    async def fail(_: Forwarder) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(Forwarder, "read", fail)
    settings = ForwarderSettings(publish_interval_seconds=0.1)
    async with asyncio.timeout(60):
        with pytest.raises(ValueError, match="broken"):
            await forward_module.forward(RecordingPublisher(), settings, asyncio.Event())


async def test_what_was_read_while_nats_was_away_is_published_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not only what waits since before: audit records of the last seconds were lost with the process."""
    was_read, stop = asyncio.Event(), asyncio.Event()

    class Away(RecordingPublisher):
        async def publish(self, *args: Any, **named: Any) -> PubAck:
            was_read.set()
            return await super().publish(*args, **named)

    async def read(forwarding: Forwarder) -> None:
        await forwarding.add(batch(("acme", [memory(1)])))
        await was_read.wait()
        await forwarding.add(batch(("acme", [memory(2)]), first=2))
        stop.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(Forwarder, "read", read)
    publisher = Away(TemporaryError("NATS is away"), TemporaryError("NATS is away"))
    settings = ForwarderSettings(publish_interval_seconds=0.1)
    async with asyncio.timeout(60):
        await forward_module.forward(publisher, settings, stop)
    assert [name for _, _, name in publisher.published] == ["access:r1:1-1:acme:0", "access:r1:2-2:acme:0"]
