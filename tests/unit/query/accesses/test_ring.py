"""The ring of accesses, and the stream that a forwarder reads from it."""

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_memory.transport.credentials import KEEPALIVE
from helix_query.accesses import server as access_server
from helix_query.accesses.ring import AccessRing
from helix_query.accesses.server import AccessServer
from helix_query.settings import QuerySettings
from helix_shared.rpc.access.admission import Admission
from helix_shared.rpc.server import OPTIONS


def query(**fields: Any) -> Any:
    """The part of a query that the ring reads."""
    selection = SimpleNamespace(tenant_id="acme", past=fields.pop("past", None))
    given = {"explain": False, "not_served": False, **fields}
    return SimpleNamespace(selection=selection, **given)


def reply(*names: str, packed: tuple[str, ...] = (), **fields: Any) -> recall_pb2.RecallResponse:
    """A reply with these memories."""
    memories = [
        recall_pb2.RecalledMemory(memory=recall_pb2.Memory(memory_id=name), packed=name in packed)
        for name in names
    ]
    return recall_pb2.RecallResponse(memories=memories, generation=7, **fields)


def test_packed_memories_are_recorded_and_all_where_nothing_was_packed() -> None:
    """A caller without a token budget for the context uses the list."""

    async def taken() -> list[tuple[str, ...]]:
        ring = AccessRing(10)
        ring.record_recall(query(), reply("a", "b", "c", packed=("b",)))
        ring.record_recall(query(), reply("a", "b"))
        ring.record_recall(query(), reply())
        return [one.memory_ids for one in await ring.take(10)]

    assert asyncio.run(taken()) == [("b",), ("a", "b")]


def test_looking_is_no_access() -> None:
    """Explanations, intermediate results, past moments and abstained answers are not recorded.

    Nothing is while the ring is off.
    """
    ring = AccessRing(10)
    ring.record_recall(query(explain=True), reply("a"))
    ring.record_recall(query(not_served=True), reply("a"))
    ring.record_recall(query(past=datetime(2026, 1, 1, tzinfo=UTC)), reply("a"))
    ring.record_recall(query(), reply("a", abstained=True))
    packed = recall_pb2.PackResponse(context={"memory_ids": ["a"]}, memory_ids=["a"])
    for looking in ({"explain": True}, {"past": datetime(2026, 1, 1, tzinfo=UTC)}):
        ring.record_pack(query(**looking), packed)
    assert len(ring) == 0
    # the recall that found them was an intermediate result, what is packed is not
    ring.record_pack(query(not_served=True), packed)
    assert len(ring) == 1
    off = AccessRing(0)
    off.record_recall(query(), reply("a"))
    assert not off.is_on
    assert len(off) == 0


def test_a_full_ring_drops_the_oldest_access() -> None:
    """It is counted, and the number of the next access shows the gap."""

    async def taken() -> tuple[int, list[int]]:
        ring = AccessRing(3)
        for _ in range(5):
            ring.record_recall(query(), reply("a"))
        return ring.dropped, [one.number for one in await ring.take(10)]

    assert asyncio.run(taken()) == (2, [3, 4, 5])


def test_a_stream_gets_what_waits_and_what_comes_and_ends_with_the_server() -> None:
    """Each access is streamed once; the ring knows whether somebody reads."""

    async def streamed() -> None:
        ring = AccessRing(10)
        settings = QuerySettings(access_listen="127.0.0.1:0")
        server = AccessServer(ring, settings, Admission(settings))
        port = await server.start()
        ring.record_recall(query(), reply("a"))
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub: Any = recall_pb2_grpc.AccessServiceStub(channel)  # type: ignore[no-untyped-call] # generated
            call = stub.StreamAccesses(recall_pb2.StreamAccessesRequest())
            first = await call.read()
            assert (first.ring, [list(one.memory_ids) for one in first.accesses]) == (ring.name, [["a"]])
            assert ring.readers == 1
            ring.record_recall(query(), reply("b"))
            second = await call.read()
            assert [(one.number, one.tenant_id, one.generation) for one in second.accesses] == [
                (2, "acme", 7)
            ]
            assert len(ring) == 0
            await server.stop()
            assert await call.read() is grpc.aio.EOF
        assert ring.readers == 0

    asyncio.run(asyncio.wait_for(streamed(), 20))


PING_OPTION = "grpc.http2.min_ping_interval_without_data_ms"
"""The name that gRPC's core has for the interval of received pings; a server ignores a wrong one."""


async def silent_stream(*, ping_ms: int, silent_seconds: float) -> None:
    """A stream without an access for some time, whose reader pings; then one access comes through it."""
    ring = AccessRing(10)
    settings = QuerySettings(access_listen="127.0.0.1:0")
    server = AccessServer(ring, settings, Admission(settings))
    port = await server.start()
    options = {**dict(KEEPALIVE), "grpc.keepalive_time_ms": ping_ms}
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=list(options.items())) as channel:
        stub: Any = recall_pb2_grpc.AccessServiceStub(channel)  # type: ignore[no-untyped-call] # generated
        call = stub.StreamAccesses(recall_pb2.StreamAccessesRequest())
        ring.record_recall(query(), reply("a"))
        assert await call.read()
        reading = asyncio.create_task(call.read())
        try:
            await asyncio.wait([reading], timeout=silent_seconds)
            ring.record_recall(query(), reply("b"))
            batch = await reading
            assert [list(one.memory_ids) for one in batch.accesses] == [["b"]]
        finally:
            await server.stop()


def change_options(monkeypatch: pytest.MonkeyPatch, *added: tuple[str, int]) -> None:
    """The options of the server without the interval of pings, and what is added; forgives one ping."""
    kept = tuple((name, value) for name, value in OPTIONS if name != PING_OPTION)
    monkeypatch.setattr(access_server, "OPTIONS", (*kept, ("grpc.http2.max_ping_strikes", 1), *added))


def test_a_silent_stream_stays_open_while_its_reader_pings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server takes more pings in the silence than it would forgive; gRPC sends one a second at most."""
    change_options(monkeypatch, (PING_OPTION, 50))
    asyncio.run(silent_stream(ping_ms=1000, silent_seconds=3))


def test_without_the_option_a_silent_stream_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: the same pings end the stream where the server does not expect them."""
    change_options(monkeypatch)
    with pytest.raises(grpc.aio.AioRpcError, match="Too many pings"):
        asyncio.run(silent_stream(ping_ms=1000, silent_seconds=60))


@pytest.mark.long
def test_a_stream_that_is_silent_for_two_minutes_stays_open() -> None:
    """With the intervals of client and server as they are."""
    asyncio.run(silent_stream(ping_ms=dict(KEEPALIVE)["grpc.keepalive_time_ms"], silent_seconds=125))
