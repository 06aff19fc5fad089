"""A TCP proxy that does to connections what networks do."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress
from typing import Final, Self

from helix_shared.broker.server import free_port

CHUNK: Final = 65_536


class _Pipe:
    """Both directions of one connection."""

    def __init__(self, proxy: Proxy, near: asyncio.StreamWriter, far: asyncio.StreamWriter) -> None:
        self.proxy = proxy
        self.writers = (near, far)
        self.is_dead = False
        """Whatever is sent disappears, for ever: nothing of a connection may be missing in the middle."""
        self.is_cut = False
        """It ends in the middle of what is sent next."""

    async def run(self, readers: tuple[asyncio.StreamReader, asyncio.StreamReader]) -> None:
        near, far = self.writers
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._copy(readers[0], far))
                tasks.create_task(self._copy(readers[1], near))
        except* OSError:
            self.proxy.cuts += self.is_cut
        finally:
            for writer in self.writers:
                writer.transport.abort()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(self.proxy.chunk):
            if self.proxy.is_black_hole:
                self.is_dead = True
            if self.is_dead:
                continue
            if self.proxy.delay_seconds:
                await asyncio.sleep(self.proxy.delay_seconds)
            if self.is_cut:
                writer.write(chunk[: len(chunk) // 2])
                with suppress(OSError):
                    await writer.drain()
                raise ConnectionResetError
            writer.write(chunk)
            await writer.drain()
        raise ConnectionResetError


class Proxy:
    """Between clients and a server on this machine; a context manager.

    `is_black_hole`: connections that send something disappear, silently and for ever; later ones do once it
    is over. `cut` ends all in the middle of a frame. `chunk` and `delay_seconds` bound the speed.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = free_port()
        self.is_black_hole = False
        self.delay_seconds = 0.0
        self.chunk = CHUNK
        self.cuts = 0
        self._pipes: set[_Pipe] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="proxy")

    @property
    def url(self) -> str:
        """Address for clients of NATS."""
        return f"nats://127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        """Address for clients of gRPC."""
        return f"127.0.0.1:{self.port}"

    @property
    def dead(self) -> int:
        """Connections that have disappeared and that nobody has closed."""
        return sum(pipe.is_dead for pipe in list(self._pipes))

    def cut(self) -> None:
        """End every connection in the middle of what is sent next over it."""
        for pipe in list(self._pipes):
            pipe.is_cut = True

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, limit=CHUNK)

    async def _close(self) -> None:
        self._server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target, limit=CHUNK)
        except OSError:
            writer.transport.abort()
            return
        far_writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, CHUNK)
        pipe = _Pipe(self, writer, far_writer)
        self._pipes.add(pipe)
        try:
            await pipe.run((reader, far_reader))
        finally:
            self._pipes.discard(pipe)
