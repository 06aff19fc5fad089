"""Closing a client ends the calls under way, and may be done twice."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from helix_memory.client import AsyncHelix, Helix, PermanentError
from helix_memory.client.event_writer import EventWriter
from helix_memory.transport import connection, dead_letters


class SilentNats:
    """Speaks NATS as far as a client connects and publishes; nothing is ever acknowledged."""

    INFO = b'INFO {"server_id":"x","version":"2.12.0","proto":1,"headers":true,"max_payload":1048576}\r\n'

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self.published = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        with peer, peer.makefile("rb") as lines:
            peer.sendall(self.INFO)
            for line in lines:
                if line.startswith(b"PING"):
                    peer.sendall(b"PONG\r\n")
                elif line.startswith((b"PUB", b"HPUB")):
                    self.published.set()

    def close(self) -> None:
        """Accept nobody any more."""
        self._socket.close()


@pytest.fixture
def silent() -> Iterator[SilentNats]:
    """A server that runs."""
    server = SilentNats()
    yield server
    server.close()


def test_a_write_under_way_ends_with_the_client(silent: SilentNats) -> None:
    """Long before its deadline; its thread does not stay."""
    helix, raised = Helix(nats_port=silent.port, query_port=1, deadline_seconds=60), list[BaseException]()

    def write() -> None:
        try:
            helix.remember("x")
        except PermanentError as error:
            raised.append(error)

    writing = threading.Thread(target=write, daemon=True)
    writing.start()
    assert silent.published.wait(10)
    started = time.monotonic()
    helix.close()
    writing.join(5)
    assert not writing.is_alive()
    assert time.monotonic() - started < 5
    assert [str(error) for error in raised] == ["the client is closed; make a new one"]


async def test_an_asyncio_client_closes_while_every_thread_writes(silent: SilentNats) -> None:
    """More writes than the pool has threads: closing waits for none of them."""
    helix = AsyncHelix(nats_port=silent.port, query_port=1, deadline_seconds=60)
    writes = [asyncio.create_task(helix.remember(f"{n}")) for n in range(40)]
    assert await asyncio.to_thread(silent.published.wait, 10)
    async with asyncio.timeout(10):
        await helix.close()
        ended = await asyncio.gather(*writes, return_exceptions=True)
    assert {type(one) for one in ended} == {PermanentError}


def test_closing_twice_is_closing_once(silent: SilentNats) -> None:
    """What is called after it says that the client is closed."""
    with Helix(nats_port=silent.port, query_port=1, deadline_seconds=0.3) as helix:
        with pytest.raises(Exception, match="no answer from NATS"):
            helix.remember("x")
        helix.close()
    helix.close()
    with pytest.raises(PermanentError, match="the client is closed"):
        helix.remember("x")
    with pytest.raises(PermanentError, match="the client is closed"):
        helix.recall("x")


async def test_closing_an_asyncio_client_twice_is_closing_it_once() -> None:
    """Also where it never connected."""
    async with AsyncHelix(nats_port=1, query_port=1) as helix:
        await helix.close()
    with pytest.raises(PermanentError, match="the client is closed"):
        await helix.recall("x")


def test_the_reader_is_closed_though_the_writer_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection stays."""

    def fail(_: EventWriter) -> None:
        raise OSError("broken")

    helix = Helix(nats_port=1, query_port=1)
    with monkeypatch.context() as patched:
        patched.setattr(EventWriter, "close", fail)
        with pytest.raises(OSError, match="broken"):
            helix.close()
    with pytest.raises(PermanentError, match="the client is closed"):
        helix.recall("x")


def test_a_connection_that_was_closed_for_good_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """NATS closes one whose password was changed; each later write failed until the process ended."""
    opened: list[SimpleNamespace] = []

    async def connect(*_: Any, **__: Any) -> SimpleNamespace:
        async def close() -> None: ...

        opened.append(SimpleNamespace(is_closed=False, jetstream=lambda: None, close=close))
        return opened[-1]

    async def last(_: Any) -> int:
        return len(opened)

    monkeypatch.setattr(connection, "connect", connect)
    monkeypatch.setattr(dead_letters, "last_sequence", last)
    writer = EventWriter("nats://nowhere")
    assert [writer.newest_letter(seconds=60.0) for _ in range(2)] == [1, 1]
    opened[0].is_closed = True
    assert writer.newest_letter(seconds=60.0) == 2
    writer.close()
