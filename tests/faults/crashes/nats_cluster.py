"""Three NATS servers as a cluster, and who leads a stream there."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.clients.broker import connected
from helix_memory import subjects
from helix_memory.transport.polling import poll
from helix_shared.broker.server import NatsServer, free_port
from helix_shared.errors import TemporaryError

PATIENCE_SECONDS: Final = 120
WRITE_ERROR: Final = b"critical write error"
"""What a server logs that refuses to write a stream from then on."""


@contextmanager
def cluster(folder: Path, *, replicas: int, shards: int = 1) -> Iterator[list[NatsServer]]:
    """Three servers that `helix provision --replicas --shards` has prepared."""
    ports = [free_port() for _ in range(3)]
    routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in ports)
    servers = [
        NatsServer(
            folder / f"n{number}",
            name=f"n{number}",
            access=lambda port=port: (
                f'cluster {{ name: "test", listen: "127.0.0.1:{port}", routes: [{routes}] }}'
            ),
        )
        for number, port in enumerate(ports)
    ]
    with ExitStack() as opened:
        for server in servers:
            opened.enter_context(server)
        arguments = ["provision", "--replicas", str(replicas), "--home", str(folder / "home")]
        arguments += [*(["--shards", str(shards)] if shards > 1 else []), "--nats"]
        for _ in poll(PATIENCE_SECONDS, every_seconds=0.5):
            # without a leader of the cluster nothing can be made yet
            result = CliRunner().invoke(app, [*arguments, servers[0].url])
            if result.exit_code == 0:
                break
        assert result.exit_code == 0, result.output
        yield servers


def running(servers: Sequence[NatsServer]) -> list[NatsServer]:
    """Those whose process runs."""
    return [one for one in servers if one.process is not None and one.process.poll() is None]


async def leader(url: str, stream: str, *, whole: bool) -> str:
    """Name of the server that leads a stream; with `whole`, once all its replicas are current."""
    async with connected(url) as jetstream:
        found = (await jetstream.stream_info(stream)).cluster
    if found is None or not found.leader:
        raise TemporaryError("no leader")
    if whole and not all(one.current and not one.offline for one in found.replicas or []):
        raise TemporaryError("a replica is behind")
    return found.leader


def until_leader(
    servers: Sequence[NatsServer], *, stream: str = subjects.EVENTS_STREAM, whole: bool = True
) -> NatsServer:
    """Wait for the leader of a stream."""
    alive = running(servers)
    reason: Exception | None = None
    for _ in poll(PATIENCE_SECONDS, every_seconds=0.1):
        for server in alive:
            try:
                name = asyncio.run(leader(server.url, stream, whole=whole))
                return next(one for one in servers if one.name == name)
            except Exception as error:  # noqa: BLE001  a server that has just lost its leader says many things
                reason = error
    raise AssertionError(reason)


def refusing(servers: Sequence[NatsServer]) -> int:
    """How many could not write a stream, at any time."""
    return sum(WRITE_ERROR in server.log.read_bytes() for server in servers)


def lose_disk(server: NatsServer) -> None:
    """Kill a server and start it again without its store."""
    server.kill()
    shutil.rmtree(server.folder / "store")
    server.start()
